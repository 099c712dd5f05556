// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dump/failure.h"

namespace tensorscope::collector {

// Context: hook, under its HookScope. As write_failure() (collector.h), for a limit that is near (reason low_memory):
// waits as long as this at most, since the program could go on. One at a time: nothing happens while another thread
// waits.
void write_near_limit(const dump::Failure& near, unsigned milliseconds);

}  // namespace tensorscope::collector
