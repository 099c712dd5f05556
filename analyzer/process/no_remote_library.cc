// SPDX-License-Identifier: Apache-2.0
#include "process/remote_library.h"
#include "support/error.h"

namespace tensorscope::process {

void attach_library(const AttachRequest&) {
  throw analyzer::ProcessError("attach works on x86-64 only; start the program with tensorscope run.");
}

}  // namespace tensorscope::process
