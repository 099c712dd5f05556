// SPDX-License-Identifier: Apache-2.0
// attach: loads the profiler into a process that runs already.
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cli/invocation.h"
#include "cli/verb.h"
#include "process/preload_library.h"
#include "process/remote_library.h"
#include "process/target_process.h"

namespace tensorscope::cli {

namespace {

struct AttachOptions {
  pid_t pid = 0;
  std::string directory, signal, exit;
  std::vector<std::string> set;
  bool record = false;
};

int attach(const AttachOptions& options, Invocation& invocation) {
  process::AttachRequest request;
  request.pid = options.pid;
  request.library = process::find_preload_library();
  if (!options.directory.empty()) {
    char path[PATH_MAX];
    if (realpath(options.directory.c_str(), path) == nullptr) {
      invocation.say(fmt::format("no such directory: {}.", options.directory));
      return kBadInput;
    }
    request.settings.push_back(std::string("TENSORSCOPE_DIR=") + path);
  }
  if (!options.signal.empty()) request.settings.push_back("TENSORSCOPE_SIGNAL=" + options.signal);
  if (!options.exit.empty()) request.settings.push_back("TENSORSCOPE_EXIT=" + options.exit);
  if (options.record) request.settings.push_back("TENSORSCOPE_RECORD=1");
  for (const std::string& setting : options.set) {
    if (!setting.starts_with("TENSORSCOPE_") || setting.find('=') == std::string::npos) {
      invocation.say(fmt::format("--set takes TENSORSCOPE_NAME=VALUE, not '{}'.", setting));
      return kBadInput;
    }
    request.settings.push_back(setting);
  }
  process::attach_library(request);
  if (!request.settings.empty() && !process::wait_for_settings_of_attach(options.pid)) {
    invocation.say(
        "the collector thread there has not begun yet: until it has, a dump is looked for in other folders.");
  }
  invocation.out += fmt::format(
      "tensorscope records process {} from now on. A dump: tensorscope snapshot {}\n"
      "Tensors that Python refers to and that were made before are in it, without stacks; others of that time are "
      "not.\n",
      process::process_phrase(options.pid), options.pid);
  return kOk;
}

}  // namespace

void add_attach(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "attach", "attach to a running process and start recording", attach);
  verb->add_option("PID", options->pid, "process id")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_option("--dir", options->directory, "directory for dumps. Default: the process's own")->type_name("DIR");
  verb->add_option("--signal", options->signal,
                   "signal that triggers a dump: a name, a number or off. Default: SIGUSR1")
      ->type_name("SIGNAL");
  verb->add_option("--exit", options->exit, "dump at exit: auto (not in forked children), always, never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
  verb->add_flag("--record", options->record, "record every allocation, release and tensor from now on");
  verb->add_option("--set", options->set, "any option of the profiler: TENSORSCOPE_NAME=VALUE (may be repeated)")
      ->type_name("SETTING");
  verb->footer(
      "Examples:\n"
      "  tensorscope attach 4242\n"
      "  tensorscope attach 4242 --dir /tmp/dumps --record\n"
      "\n"
      "CPython 3.14 or newer loads the library itself; any other process stops for some milliseconds. Nothing else in\n"
      "it changes. If it cannot be done safely, the process is left as it was, with the reason. It cannot be undone:\n"
      "the profiler stays until the process ends. Processes that it starts (exec) are not recorded. Needs the\n"
      "permission to trace the process (ptrace), as debuggers do.");
}

}  // namespace tensorscope::cli
