#include "process/remote_library.h"

namespace tensorscope::process {

std::string attach_library(const AttachRequest&) {
  return "attach works on x86-64 only; start the program with tensorscope run.";
}

}  // namespace tensorscope::process
