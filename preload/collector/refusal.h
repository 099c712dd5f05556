// SPDX-License-Identifier: Apache-2.0
// A dump that is not written: one line on standard error, and an answer for the `tensorscope` that waits for it.
//
// Context: collector, or the thread that stands in for it.
#pragma once

#include "collector/dump_request.h"

namespace tensorscope::collector {

// Says that there is no dump, and why. Once for a request.
__attribute__((format(printf, 2, 3))) void refuse(const DumpRequest& request, const char* format, ...);

}  // namespace tensorscope::collector
