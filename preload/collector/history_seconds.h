// SPDX-License-Identifier: Apache-2.0
// The history's moments at which no step ends (live/history.h), and the process's resident memory for all of them.
//
// Context: collector, once a second.
#pragma once

namespace tensorscope::collector {

void look_for_history();

}  // namespace tensorscope::collector
