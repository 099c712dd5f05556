// Stand-ins for rooms that are not built yet; each goes when its room comes.
#include "python/bridge.h"
#include "snapshot/collector.h"
#include "tensorscope/tensorscope.h"

#define PENDING __attribute__((weak))

namespace tensorscope::snapshot {
PENDING bool start_collector() { return true; }
PENDING void request_from_signal() {}
PENDING int request_and_wait(Reason, const char*, char*, size_t) { return 0; }
PENDING void before_fork() {}
PENDING void after_fork_in_parent() {}
PENDING void after_fork_in_child() {}
}  // namespace tensorscope::snapshot

namespace tensorscope::python {
PENDING void register_builtin_module() {}
PENDING bool claim_exit_dump() { return false; }
PENDING void after_fork_in_child() {}
}  // namespace tensorscope::python

extern "C" __attribute__((visibility("default"))) int tensorscope_dump(char*, size_t) { return TENSORSCOPE_ABSENT; }
extern "C" __attribute__((visibility("default"))) int tensorscope_active(void) { return 0; }
