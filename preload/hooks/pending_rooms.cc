// Stand-ins for rooms that are not built yet; each goes when its room comes.
#include "live/recorder.h"
#include "python/bridge.h"
#include "snapshot/collector.h"

#define PENDING __attribute__((weak))

namespace tensorscope::live {
PENDING void tensor_constructed(const void*) {}
PENDING void tensor_released(const void*) {}
PENDING void tensor_destroyed(const void*) {}
PENDING void cpu_allocated(const void*, size_t) {}
PENDING void cpu_freed(const void*) {}
PENDING void memory_reported(const void*, int64_t, uint64_t, uint64_t, Device) {}
PENDING void gradient_edge_set(const void*, const void*) {}
PENDING void node_destroyed(const void*) {}
PENDING void set_current_node_function(CurrentNode) {}
PENDING bool start() { return true; }
PENDING void after_fork_in_child() {}
PENDING void before_fork() {}
PENDING void after_fork_in_parent() {}
}  // namespace tensorscope::live

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
