// TENSORSCOPE_* environment variables: one table (options.def) from which parsing, the help text and the dump's record
// come. A wrong value is one clear line on standard error and the default.
//
// Context: parsed once at activation, so that a process without torch prints nothing; constant afterwards.
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorscope {

enum class ExitDump : uint8_t { automatic, always, never };  // automatic: not in forked or multiprocessing children

struct Options {
  bool enabled = true;              // TENSORSCOPE=0 switches everything off
  int signal = 10;                  // TENSORSCOPE_SIGNAL: name or number; 0 or "off": none. Default SIGUSR1
  ExitDump exit = ExitDump::automatic;  // TENSORSCOPE_EXIT=auto|always|never
  const char* directory = nullptr;  // TENSORSCOPE_DIR: where dumps go; default: the directory the process started in
  const char* name = nullptr;       // TENSORSCOPE_NAME: template; {program} {pid} {n} {kind} {rank} {host}
  bool native_stacks = true;        // TENSORSCOPE_NATIVE
  bool python_stacks = true;        // TENSORSCOPE_PYTHON
  bool names = true;                // TENSORSCOPE_NAMES: phase 2 of a dump
  unsigned names_timeout_ms = 5000; // TENSORSCOPE_NAMES_TIMEOUT_MS
  uint64_t max_memory = uint64_t{512} << 20;  // TENSORSCOPE_MAX_STACK_MEMORY: limit for stacks and sites; sizes take K, M, G
  bool quiet = false;               // TENSORSCOPE_QUIET: no line per dump
  const char* log = nullptr;        // TENSORSCOPE_LOG: file, "-" for standard error
  bool help = false;                // TENSORSCOPE_HELP=1 prints the table to standard error at activation
};

// Parses the environment. Safe without malloc; strings point into the environment or the arena.
void parse_options();
const Options& options();

// For the dump and the help: calls f(name, value as it took effect, help) for each row of the table.
using OptionVisitor = void (*)(const char* name, const char* value, const char* help, void* context);
void visit_options(OptionVisitor visitor, void* context);

}  // namespace tensorscope
