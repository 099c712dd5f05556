// Stand-ins for rooms that are not built yet; each goes when its room comes.
#include "python/bridge.h"

#define PENDING __attribute__((weak))

namespace tensorscope::python {
PENDING bool attach() { return false; }
PENDING Names collect_names(unsigned) { return {}; }
PENDING void register_builtin_module() {}
PENDING bool claim_exit_dump() { return false; }
PENDING void after_fork_in_child() {}
}  // namespace tensorscope::python
