#include "python/bridge.h"

#include <atomic>
#include <utility>

#include "python/agent/module_names.h"
#include "python/builtin_module.h"
#include "python/exit_dump.h"
#include "python/gil_thread.h"
#include "python/interpreter.h"
#include "stacks/python_stack.h"

namespace tensorscope::python {

namespace {

enum class Attached : uint8_t { no, waiting, yes };
std::atomic<Attached> g_attached{Attached::no};

class AttachJob : public GilJob {
 public:
  void run(const Gil& gil) override {
    register_exit_dump(gil);
    add_builtin_module_late(gil);
    stacks::check_python_with_gil();
    agent::check_locals(gil);
    g_attached.store(Attached::yes, std::memory_order_release);
  }
};

class NamesJob : public GilJob {
 public:
  explicit NamesJob(Deadline deadline) : deadline_(deadline) {}
  void run(const Gil& gil) override { agent::collect_module_names(gil, deadline_, names); }
  Names names;

 private:
  Deadline deadline_;
};

const char* explain(GilOutcome outcome) {
  switch (outcome) {
    case GilOutcome::done:
      return "";
    case GilOutcome::no_gil:
      return "the GIL was not free within the time limit (TENSORSCOPE_NAMES_TIMEOUT_MS)";
    case GilOutcome::stuck:
      return "reading the program's modules did not end within the time limit";
    case GilOutcome::no_memory:
      return "there was not enough memory";
    case GilOutcome::no_thread:
      return "no thread could be made to wait for the GIL";
  }
  return "";
}

}  // namespace

bool attach() {
  if (g_attached.load(std::memory_order_acquire) == Attached::no && find_interpreter() && interpreter_alive()) {
    g_attached.store(Attached::waiting, std::memory_order_release);
    stacks::start_python();  // where the interpreter came after torch
    if (!post_with_gil(new AttachJob)) g_attached.store(Attached::no, std::memory_order_release);
  }
  return g_attached.load(std::memory_order_acquire) == Attached::yes;
}

Names collect_names(unsigned timeout_ms) {
  Names names;
  attach();
  if (!known_interpreter()) {
    const char* trouble = interpreter_trouble();
    names.complete = trouble == nullptr;
    names.detail = trouble ? trouble : "";
    return names;
  }
  if (!interpreter_alive()) {
    names.detail = "the interpreter had already ended";
    return names;
  }
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  auto* job = new NamesJob(deadline);
  const GilOutcome outcome = run_with_gil(job, deadline);
  if (outcome == GilOutcome::stuck) {
    names.detail = explain(outcome);
    return names;
  }
  if (outcome == GilOutcome::done) {
    names = std::move(job->names);
  } else {
    names.detail = explain(outcome);
  }
  delete job;
  return names;
}

void after_fork_in_child() {
  reset_gil_thread_after_fork();
  reset_exit_dump_after_fork();
  if (g_attached.load(std::memory_order_acquire) == Attached::waiting) {
    g_attached.store(Attached::no, std::memory_order_release);
  }
}

}  // namespace tensorscope::python
