// SPDX-License-Identifier: Apache-2.0
// When the lines of the log (support/log.h) are written: by the collector before it sleeps, and at the process's end.
#pragma once

namespace tensorscope::collector {

// Context: collector.
void write_waiting_log();

// Has the collector write what waits, and waits for it. Context: as write_dump_and_wait().
void finish_log();
// The same, a second at most, for a thread that ends the program by _exit(), also in a signal handler: takes no lock.
void finish_log_before_exit();

}  // namespace tensorscope::collector
