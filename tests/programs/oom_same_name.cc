// A library of the program that throws and catches exceptions of its own, two of them of the name that torch's
// out-of-memory exception has: with a base and without one, which are two kinds of type_info.
#include <exception>
#include <stdexcept>

#ifdef WITHOUT_A_BASE

namespace c10 {
struct OutOfMemoryError {};
}  // namespace c10

extern "C" int throws_a_namesake() {
  try {
    throw c10::OutOfMemoryError();
  } catch (const c10::OutOfMemoryError&) {
    return 1;
  }
}

#else

namespace c10 {
struct OutOfMemoryError : std::exception {};
}  // namespace c10

extern "C" int throws_a_namesake_with_a_base() {
  try {
    throw c10::OutOfMemoryError();
  } catch (const std::exception&) {
    return 1;
  }
}

extern "C" int throws_often(int times) {
  int caught = 0;
  for (int i = 0; i < times; ++i) {
    try {
      throw std::runtime_error("often");
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  return caught;
}

#endif
