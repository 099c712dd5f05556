// SPDX-License-Identifier: Apache-2.0
// The features that the collector thread serves (collector/features.h): a new one is added here.
#pragma once

namespace tensorscope::hooks {

// Context: activation, before the features and the collector start.
void add_features();

}  // namespace tensorscope::hooks
