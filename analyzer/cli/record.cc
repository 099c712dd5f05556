// SPDX-License-Identifier: Apache-2.0
// stop, start: whether a running process records stacks, or values.
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <thread>

#include "cli/dump_options.h"
#include "cli/invocation.h"
#include "cli/verb.h"
#include "process/target_process.h"
#include "support/error.h"
#include "tensorscope/rules/request_name.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::ProcessError;

struct RecordOptions {
  pid_t pid = 0;
  bool values = false, all = false;
  std::optional<uint64_t> timeout_ns = 10'000'000'000;
};

// Waits until the process has taken the request. Throws ProcessError.
void await_answer(const process::TargetProcess& target, uint64_t timeout_ns) {
  const auto begin = std::chrono::steady_clock::now();
  while (!target.file_taken()) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (!target.alive() || uint64_t(std::chrono::nanoseconds(waited).count()) > timeout_ns) {
      target.withdraw();
      throw ProcessError(target.alive() ? fmt::format("process {} did not answer within {} (--timeout waits longer).",
                                                      target.pid(), text::duration(timeout_ns))
                                        : fmt::format("process {} has ended.", target.pid()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

int request(const RecordOptions& options, const char* what) {
  const process::TargetProcess target = process::TargetProcess::open(options.pid, process::RequestMethod::file);
  const uint64_t asked_ns = target.expect_answer();
  std::optional<std::string> refusal;
  try {
    target.ask_by_file(what);
    await_answer(target, *options.timeout_ns);
    refusal = target.refusal(asked_ns);  // written before the request was taken
  } catch (...) {
    target.forget_answer();
    throw;
  }
  target.forget_answer();
  if (refusal) throw ProcessError(*refusal);
  return kOk;
}

int stop(const RecordOptions& options, Invocation&) {
  if (options.all) return request(options, rules::kRequestStopAll);
  return request(options, options.values ? rules::kRequestStopValues : rules::kRequestStop);
}
int start(const RecordOptions& options, Invocation&) {
  return request(options, options.values ? rules::kRequestStartValues : rules::kRequestStart);
}

Verb<RecordOptions> add(CLI::App& app, Invocation& invocation, const char* name, const char* about,
                        int (*run)(const RecordOptions&, Invocation&)) {
  auto [verb, options] = add_verb(app, invocation, name, about, run);
  verb->add_option("PID", options->pid, "process id of a program started under tensorscope")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_flag("--values", options->values, "values and module calls (run --watch, --calls) instead of stacks");
  add_time(*verb, "--timeout", options->timeout_ns, "maximum wait for the answer. Default: 10s");
  verb->footer(
      "Examples:\n"
      "  tensorscope stop 4242\n"
      "  tensorscope start 4242\n"
      "  tensorscope stop 4242 --values\n"
      "  tensorscope stop 4242 --all\n"
      "\n"
      "While stopped, tensors and memory are still tracked; dumps stay complete, but new allocations have no stack.\n"
      "From inside the program: libtensorscope.stop(), libtensorscope.start(); stop_values(), start_values().");
  return {verb, options};
}

struct SwitchOptions {
  RecordOptions target;
  std::string state;
};

int record(const SwitchOptions& options, Invocation&) {
  return request(options.target, options.state == "on" ? rules::kRequestRecord : rules::kRequestNoRecord);
}

void add_switch(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "record", "start or stop recording allocations in a running process", record);
  verb->add_option("PID", options->target.pid, "process id of a program started under tensorscope")
      ->required()
      ->check(CLI::Range(1, 1 << 22).description(""))
      ->type_name("");
  verb->add_option("STATE", options->state, "on or off")
      ->required()
      ->check(CLI::IsMember({"on", "off"}))
      ->type_name("");
  add_time(*verb, "--timeout", options->target.timeout_ns, "maximum wait for the answer. Default: 10s");
  verb->footer(
      "Examples:\n"
      "  tensorscope record 4242 on\n"
      "  tensorscope record 4242 off\n"
      "  tensorscope timeline train.4242.recording\n"
      "\n"
      "From the start of a program: tensorscope run --record -- python train.py");
}

}  // namespace

void add_record(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add(app, invocation, "stop",
          "stop recording stacks (--values: values and calls; --all: everything) in a running process", stop);
  verb->add_flag("--all", options->all, "stacks, values, calls, the recording and all dumps, until tensorscope start")
      ->excludes("--values");
  add_switch(app, invocation);
  auto [resume, resumed] = add(app, invocation, "start",
                               "resume recording stacks (--values: values and calls; --all: everything that stop --all "
                               "stopped) in a running process",
                               start);
  resume->add_flag("--all", resumed->all, "everything that stop --all stopped; so does start without an option")
      ->excludes("--values");
}

}  // namespace tensorscope::cli
