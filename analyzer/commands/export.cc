#include "commands/invocation.h"
namespace tensorscope::commands {
void add_export(CLI::App&, Invocation&) {}
}  // namespace tensorscope::commands
