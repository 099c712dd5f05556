// A process without Python, for the tests of the collector: they stand before the library's own bridge.
#include "python/bridge.h"

namespace tensorscope::python {
bool attach() { return false; }
Names collect_names(unsigned) { return {}; }
}  // namespace tensorscope::python
