// SPDX-License-Identifier: Apache-2.0
// Loads libtensorscope.so into a process that runs already and starts it there.
//
// A CPython that takes scripts does it itself (python_attach.h). Any other process is stopped for some milliseconds to
// see where its threads are, and then one of them, which waits or computes with no lock of libc's held, calls dlopen()
// and tensorscope_attach(). Whatever fails, the program goes on.
#pragma once

#include <string>

#include "process/attach_request.h"

namespace tensorscope::process {

// Returns once the library records there. Throws ProcessError.
void attach_library(const AttachRequest& request);

}  // namespace tensorscope::process
