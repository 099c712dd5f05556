// An extension that throws torch's out-of-memory exception itself, as an allocator that is plugged into torch does, and
// catches it again: the exception's type_info is the extension's own, its base is torch's.
#include <c10/util/Exception.h>

extern "C" int throw_and_catch() {
  try {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "no more");
  } catch (const c10::Error&) {
    return 1;
  }
  return 0;
}
