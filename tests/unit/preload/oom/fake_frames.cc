// Stands before the library's own stacks.
#include "built_tables.h"

namespace tensorscope::stacks {
size_t python_frame_count() { return g_frames.size(); }
PythonFrame python_frame(StackId id) { return g_frames[id]; }
size_t python_code_count() { return g_codes.size(); }
PythonCode python_code(uint32_t id) { return g_codes[id]; }
const char* python_version() { return ""; }
bool python_names_are_qualified() { return true; }
bool start_python() { return false; }
bool check_python_with_gil() { return false; }
StackId capture_python() { return 0; }
void python_after_fork_in_child() {}
}  // namespace tensorscope::stacks
