// SPDX-License-Identifier: Apache-2.0
// One call of the command line: what it prints, and the verb that was chosen. Verbs write into `out` and `err`, main
// prints both: so a test runs a whole command in its own process.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "text/terminal.h"

namespace CLI {
class App;
}

namespace tensorscope::cli {

// Exit statuses.
inline constexpr int kOk = 0;
inline constexpr int kFound = 1;     // check: a limit was passed; graph: there is no path; compare: different
inline constexpr int kBadInput = 2;  // misuse, or a file that is no sound dump

struct Invocation {
  text::Terminal terminal;
  std::string out, err;
  std::ostream* stream = nullptr;    // where large output may go at once, instead of into `out`
  std::vector<std::string> program;  // after `run`: the program and its arguments
  std::function<int()> action;       // set by the verb that was given

  // One line on standard error: "tensorscope: ...".
  void say(const std::string& text);
  // The same, unless it waits to be printed already: ten moments of one damaged recording have one problem.
  void report_once(const std::string& text);
};

// One function a verb: declares it with its options and examples, and sets `action` when it is given.
void add_run(CLI::App& app, Invocation& invocation);
void add_attach(CLI::App& app, Invocation& invocation);
void add_snapshot(CLI::App& app, Invocation& invocation);
void add_record(CLI::App& app, Invocation& invocation);  // stop, start
void add_report(CLI::App& app, Invocation& invocation);
void add_list(CLI::App& app, Invocation& invocation);
void add_show(CLI::App& app, Invocation& invocation);
void add_diff(CLI::App& app, Invocation& invocation);
void add_leaks(CLI::App& app, Invocation& invocation);
void add_ranks(CLI::App& app, Invocation& invocation);
void add_oom(CLI::App& app, Invocation& invocation);
void add_check(CLI::App& app, Invocation& invocation);
void add_info(CLI::App& app, Invocation& invocation);
void add_graph(CLI::App& app, Invocation& invocation);
void add_compare(CLI::App& app, Invocation& invocation);
void add_calls(CLI::App& app, Invocation& invocation);
void add_timeline(CLI::App& app, Invocation& invocation);
void add_forecast(CLI::App& app, Invocation& invocation);
void add_top_verb(CLI::App& app, Invocation& invocation);
void add_export(CLI::App& app, Invocation& invocation);
void add_html(CLI::App& app, Invocation& invocation);
void add_query(CLI::App& app, Invocation& invocation);
void add_watch(CLI::App& app, Invocation& invocation);
void add_values(CLI::App& app, Invocation& invocation);
void add_shell_files(CLI::App& app, Invocation& invocation);  // completion, manual

// The whole command line without the program's name. Returns the exit status. `terminal`: where not null, used instead
// of looking at standard output.
int run_command_line(std::vector<std::string> arguments, const text::Terminal* terminal, Invocation& invocation);

}  // namespace tensorscope::cli
