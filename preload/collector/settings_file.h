// SPDX-License-Identifier: Apache-2.0
// The settings of a program that tensorscope was attached to, for who asks it for dumps: a program that was started
// under the profiler has them in its environment. They are in a file without a name, which the collector thread keeps
// open in its own descriptor table; others of the same user find it in /proc/PID/task/TID/fd.
#pragma once

namespace tensorscope::collector {

// `settings` as parse_options() takes them: texts with their terminating zeros, an empty one at the end. Null: none.
// Context: a thread of the program, before the collector runs. Nothing is waited for: the thread may have been stopped
// anywhere, with the GIL, and whoever got that meanwhile would find Python's objects half changed.
void keep_settings(const char* settings);

// Makes the file, where there are settings. Context: a collector that begins, in a forked child too; where
// none could, the thread that attaches.
void open_settings_file();

}  // namespace tensorscope::collector
