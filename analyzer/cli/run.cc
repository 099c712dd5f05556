// SPDX-License-Identifier: Apache-2.0
// run: starts a program under the profiler. It replaces itself with the program, so that the program has its process
// id, gets its signals and gives its exit status.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <regex>
#include <vector>

#include "cli/invocation.h"
#include "cli/watch_file.h"
#include "process/elf_program.h"
#include "process/preload_library.h"
#include "tensorscope/rules/watch_argument.h"

namespace tensorscope::cli {

namespace {

constexpr int kNotExecutable = 126;  // as a shell answers
constexpr int kNotFound = 127;
constexpr const char* kInterpreter = "TENSORSCOPE_INTERPRETER";  // set by `python -m tensorscope`

struct RunOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // TENSORSCOPE_* to set
  std::string directory;
  std::vector<std::string> watch;
  std::string find_nan;
  bool stop_at_nan = false;
};

void set_preload(const std::string& library, const std::string& needed_first) {
  const char* given = getenv("LD_PRELOAD");
  const std::string old = given != nullptr ? given : "";
  std::string value = library;
  if (process::is_address_sanitizer(old)) {
    value = old.find(library) == std::string::npos ? old + ":" + library : old;
  } else {
    if (!old.empty() && old.find(library) == std::string::npos) value += ":" + old;
    if (!needed_first.empty()) value = needed_first + ":" + value;
  }
  setenv("LD_PRELOAD", value.c_str(), 1);
}

// A leading -m is Python's: `python -m tensorscope run -m MODULE` runs the module with that Python.
std::vector<std::string> with_python(const std::vector<std::string>& command, const std::string& environment) {
  if (command[0] != "-m") return command;
  const char* given = getenv(kInterpreter);
  std::string python = given != nullptr ? given : "";
  for (const char* name : {"python", "python3"}) {
    if (python.empty()) python = process::find_program(name, environment);
  }
  std::vector<std::string> whole = {python.empty() ? "python3" : python};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

// False where nothing would be recorded at all.
bool check_outlook(const process::PreloadOutlook& outlook, const std::string& program, Invocation& invocation) {
  const std::string file = outlook.file == program ? fmt::format("'{}'", program)
                                                   : fmt::format("'{}', which '{}' is run by,", outlook.file, program);
  switch (outlook.effect) {
    case process::PreloadEffect::loaded:
      break;
    case process::PreloadEffect::programs_it_starts:
      invocation.say(fmt::format("{} {} and ignores LD_PRELOAD: only programs that it starts are recorded.", file,
                                 outlook.reason));
      break;
    case process::PreloadEffect::removed:
      invocation.say(
          fmt::format("{} {}: the system ignores LD_PRELOAD, nothing would be recorded. Start tensorscope with "
                      "the rights that the program needs: sudo tensorscope run -- ...",
                      file, outlook.reason));
      return false;
  }
  return true;
}

int run(const RunOptions& options, const std::vector<std::string>& given, Invocation& invocation) {
  if (given.empty() || (given.size() == 1 && given[0] == "-m")) {
    invocation.say("run needs a program: tensorscope run -- python train.py");
    return kBadInput;
  }
  const std::string library = process::find_preload_library();
  // Said in full, so that `tensorscope snapshot` knows where to look, whatever the program does to its directory.
  std::string directory = options.directory;
  if (directory.empty() && getenv("TENSORSCOPE_DIR") != nullptr) directory = getenv("TENSORSCOPE_DIR");
  char here[PATH_MAX];
  if (getcwd(here, sizeof here) != nullptr) {
    if (directory.empty()) directory = here;
    if (directory[0] != '/') directory = std::string(here) + "/" + directory;
  }
  // Its parent has to be there: a word that is misspelt makes no tree of folders.
  mkdir(directory.c_str(), 0777);
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    invocation.say(
        fmt::format("cannot write dumps to {}: {}; choose another directory: tensorscope run --dir DIR -- ...",
                    directory, strerror(errno)));
    return kBadInput;
  }
  setenv("TENSORSCOPE_DIR", directory.c_str(), 1);
  if (!options.watch.empty()) {
    rules::WatchSettings settings;
    std::string joined;
    for (const std::string& text : options.watch) {
      if (text.ends_with(".toml")) {
        if (options.watch.size() > 1) {
          invocation.say("give one watch file, or paths: " + text);
          return kBadInput;
        }
        read_watch_file_at(text, settings);
      } else {
        rules::read_watch_path(text, "--watch", settings);
      }
      joined += (joined.empty() ? "" : ",") + text;
    }
    for (const rules::WatchError& error : settings.errors) invocation.say(error.origin + ": " + error.what);
    if (!settings.errors.empty()) return kBadInput;
    setenv("TENSORSCOPE_WATCH", joined.c_str(), 1);
  }
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.stop_at_nan || !options.find_nan.empty()) {
    setenv("TENSORSCOPE_FIND_NAN", options.stop_at_nan ? "stop" : options.find_nan.c_str(), 1);
  }

  const std::string environment = process::own_environment();
  std::vector<std::string> command = with_python(given, environment);
  unsetenv(kInterpreter);
  const std::string program = process::find_program(command[0], environment);
  // Python finds its environment by the name that it is started with.
  if (!environment.empty() && program.starts_with(environment + "/")) command[0] = program;
  const process::PreloadOutlook outlook =
      program.empty() ? process::PreloadOutlook() : process::preload_outlook(command, program);
  if (!check_outlook(outlook, program, invocation)) return kBadInput;
  if (write(STDERR_FILENO, invocation.err.data(), invocation.err.size()) >= 0) invocation.err.clear();
  set_preload(library, outlook.needed_first);

  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int error = errno;
  if (error == ENOENT) {
    invocation.say(fmt::format("program '{}' not found.", command[0]));
    return kNotFound;
  }
  invocation.say(fmt::format("cannot start '{}': {}.", command[0], strerror(error)));
  return kNotExecutable;
}

// As the preload reads TENSORSCOPE_RECORD_LAST (preload/support/option_values.cc). Empty: it is one.
std::string is_no_part(const std::string& text) {
  static const std::regex kPart("[1-9][0-9]{0,8}(s|min|h|d|[KMG](iB)?)");
  return std::regex_match(text, kPart) ? "" : fmt::format("'{}' is no time or size: write 10min, 2h or 2GiB.", text);
}

// As it reads TENSORSCOPE_NATIVE.
std::string is_no_size(const std::string& text) {
  static const std::regex kSize("[1-9][0-9]{0,8}[KMG](iB)?");
  return std::regex_match(text, kSize) ? "" : fmt::format("'{}' is no size: write 64K or 1MiB.", text);
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "start a program under the profiler");
  verb->fallthrough();  // to the options that all verbs share
  verb->add_option("--dir", options->directory, "directory for dumps. Default: the current directory")
      ->type_name("DIR");
  auto set = [&](const char* flag, const char* variable, const char* type, const char* help) {
    return verb
        ->add_option_function<std::string>(
            flag, [options, variable](const std::string& value) { options->environment.emplace_back(variable, value); },
            help)
        ->type_name(type);
  };
  auto clear = [&](const char* flag, const char* variable, const char* value, const char* help) {
    verb->add_flag_callback(
        flag, [options, variable, value] { options->environment.emplace_back(variable, value); }, help);
  };
  set("--name", "TENSORSCOPE_NAME", "TEMPLATE",
      "template for dump names; fields: {program} {pid} {n} (1, 2, ...) {kind} (exit, oom, ...) {rank} {host}");
  set("--signal", "TENSORSCOPE_SIGNAL", "SIGNAL",
      "signal that triggers a dump: a name, a number or off. Default: SIGUSR1");
  set("--exit", "TENSORSCOPE_EXIT", "WHEN", "dump at exit: auto (not in forked children), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  verb->add_option("--watch", options->watch,
                   "record values: a path such as model.layers.*.attn or train.py:step:loss (may be repeated), or a "
                   "watch file (.toml)")
      ->type_name("PATH");
  clear("--record", "TENSORSCOPE_RECORD", "1", "record every allocation, release and tensor over time");
  verb->add_option_function<std::string>(
          "--last",
          [options](const std::string& value) {
            options->environment.emplace_back("TENSORSCOPE_RECORD", "1");
            options->environment.emplace_back("TENSORSCOPE_RECORD_LAST", value);
          },
          "record, keeping only the most recent part, e.g. 10min or 2GiB")
      ->type_name("PART")
      ->check(CLI::Validator(is_no_part, ""));
  clear("--calls", "TENSORSCOPE_CALLS", "1", "record each call of a module: order, time, memory");
  set("--log", "TENSORSCOPE_LOG", "FILE", "log file of the profiler; - for standard error");
  set("--native-from", "TENSORSCOPE_NATIVE", "SIZE",
      "record native stacks only of blocks from this size on, as 64K, and where no Python runs (faster)")
      ->check(CLI::Validator(is_no_size, ""));
  clear("--no-native", "TENSORSCOPE_NATIVE", "0", "record no native stacks (faster still)");
  clear("--no-python", "TENSORSCOPE_PYTHON", "0", "record no Python stacks");
  clear("--no-names", "TENSORSCOPE_NAMES", "0", "do not look up names and holders (never takes the GIL)");
  clear("--confidential", "TENSORSCOPE_CONFIDENTIAL", "1",
        "leave command line, source lines and host out of all files");
  clear("--quiet", "TENSORSCOPE_QUIET", "1", "do not print a line on standard error for each dump");
  verb->add_option("--find-nan", options->find_nan,
                   "name the first operation that makes a NaN or infinity; stop: end the program there")
      ->type_name("WHEN")
      ->expected(0, 1)
      ->default_str("on")
      ->check(CLI::IsMember({"on", "off", "stop"}));
  verb->add_flag("--stop", options->stop_at_nan,
                 "end the program at its first NaN or infinity, exit status 99: the same as --find-nan=stop");
  clear("--dump", "TENSORSCOPE_FIND_NAN_DUMP", "1", "with --find-nan: write a dump when the first one is found");
  verb->footer(
      "The program and its arguments follow, also after --. -m MODULE runs a module with this environment's Python.\n"
      "\n"
      "Examples:\n"
      "  tensorscope run -- python train.py --epochs 3\n"
      "  tensorscope run --dir /tmp/dumps --no-native -- torchrun --nproc-per-node 2 train.py\n"
      "  tensorscope run -m torch.distributed.run --nproc-per-node 2 train.py\n"
      "  tensorscope run --signal SIGUSR2 -- ./server\n"
      "  tensorscope run --watch 'model.layers.*.attn' --calls -- python train.py\n"
      "  tensorscope run --find-nan=stop -- python train.py\n"
      "\n"
      "tensorscope replaces itself with the program: process id and exit status are the program's (127: program not\n"
      "found, 126: it cannot be started). libtensorscope.so is found next to tensorscope, or through TENSORSCOPE_LIB.");
  verb->callback([options, &invocation] {
    invocation.action = [options, &invocation] { return run(*options, invocation.program, invocation); };
  });
}

}  // namespace tensorscope::cli
