// One line on standard error, "tensorscope: ...", in one write(2); nothing where descriptor 2 is closed or is not the
// program's standard error any more. Never standard output. Safe in any context but signal handlers; no malloc.
#pragma once

namespace tensorscope {

__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

}  // namespace tensorscope
