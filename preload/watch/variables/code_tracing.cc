// SPDX-License-Identifier: Apache-2.0
// Lines before sys.monitoring, in CPython 3.9 to 3.11: a frame evaluation function (PEP 523) is called for each Python
// function and lets it run. While a function runs of which lines are wanted, the thread's C trace function is ours; it
// is put aside while functions run that this one calls. Where somebody else traces the thread, it stays his: lines are
// not seen, and what is returned and the values at the end still are.
//
// The words of the thread state are written directly: PyEval_SetTrace() calls the program's audit hooks, and costs
// more than the function.
#include <utility>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/method.h"
#include "python/objects.h"
#include "support/state.h"
#include "values_file/value_store.h"
#include "watch/callbacks.h"
#include "watch/variables/variable_watch.h"

namespace tensorscope::watch {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using values_file::count_loss;

using TraceFunction = int (*)(Object* self, Object* frame, int what, Object* argument);
using EvaluateFrame = Object* (*)(python::ThreadState* thread, void* frame, int throws);

constexpr int kTraceLine = 2, kTraceReturn = 3;  // PyTrace_* (Include/cpython/pystate.h)

// PyThreadState (Include/cpython/pystate.h): 3.10 and 3.11 have a C frame, whose first field says whether the
// interpreter looks at the trace function at all: an int, a byte.
struct ThreadWords {
  ptrdiff_t tracing, cframe, profile, trace;
};
constexpr ThreadWords k310 = {44, 48, 56, 64};
constexpr ThreadWords k311 = {44, 56, 64, 72};

ThreadWords g_thread_words;
bool g_traces = false;  // this series' layout is known
EvaluateFrame g_next = nullptr;
ptrdiff_t g_extra = -1;
char g_nothing;  // an address that stands for: nothing is watched in it

// Frames that ran already when this began, which no call of evaluate_frame() surrounds.
constexpr size_t kMaxEarly = 64;
const char* g_early[kMaxEarly];
size_t g_early_count = 0;

template <typename T>
T& thread_word(python::ThreadState* thread, ptrdiff_t offset) {
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(thread) + offset);
}

int trace_frame(Object*, Object* frame_object, int what, Object* argument);

bool is_traced_by_us(python::ThreadState* thread) {
  return thread_word<TraceFunction>(thread, g_thread_words.trace) == trace_frame;
}
bool is_traced_by_none(python::ThreadState* thread) {
  return thread_word<TraceFunction>(thread, g_thread_words.trace) == nullptr &&
         thread_word<int>(thread, g_thread_words.tracing) == 0;
}

void set_trace_function(python::ThreadState* thread, TraceFunction function, int series) {
  thread_word<TraceFunction>(thread, g_thread_words.trace) = function;
  const bool wanted = function || thread_word<TraceFunction>(thread, g_thread_words.profile);
  char* cframe = thread_word<char*>(thread, g_thread_words.cframe);
  if (series == 310) {
    *reinterpret_cast<int*>(cframe) = wanted ? 255 : 0;
  } else {
    *reinterpret_cast<unsigned char*>(cframe) = wanted ? 255 : 0;
  }
}

bool known_by_extra(const Gil& gil, Object* code, CodePlan*& plan) {
  void* known = nullptr;
  if (gil->_PyCode_GetExtra(code, g_extra, &known) != 0) {
    gil->PyErr_Clear();
    return true;
  }
  plan = known == &g_nothing ? nullptr : static_cast<CodePlan*>(known);
  return known != nullptr;
}

void remember_by_extra(const Gil& gil, Object* code, CodePlan* plan) {
  if (gil->_PyCode_SetExtra(code, g_extra, plan ? static_cast<void*>(plan) : &g_nothing) != 0) gil->PyErr_Clear();
}

// Null: nothing is watched in it, or nobody knows yet.
CodePlan* known_plan(const Gil& gil, Object* code, bool may_decide) {
  CodePlan* plan = nullptr;
  if (!known_by_extra(gil, code, plan) && may_decide) {
    decide_code(gil, code, {known_by_extra, remember_by_extra}, plan);
  }
  return plan;
}

// The exception that is on its way.
class ErrorKept {
 public:
  ErrorKept(const Gil& gil, bool there) : gil_(gil), there_(there) {
    if (there_) gil->PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~ErrorKept() {
    if (there_) gil_->PyErr_Restore(type_, value_, traceback_);
  }
  ErrorKept(const ErrorKept&) = delete;
  ErrorKept& operator=(const ErrorKept&) = delete;

 private:
  const Gil& gil_;
  bool there_;
  Object *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

bool is_early(const char* frame) {
  for (size_t i = 0; i < g_early_count; ++i) {
    if (g_early[i] == frame) return true;
  }
  return false;
}

void forget_early(const char* frame) {
  for (size_t i = g_early_count; i-- > 0;) {
    if (g_early[i] == frame) g_early[i] = g_early[--g_early_count];
  }
}

void take_of_frame(const Gil& gil, Object* frame_object, int what, Object* argument) {
  CodeFrame frame;
  if (!python::heap_inspector::frame_of_object(gil, frame_object, frame)) return;
  CodePlan* plan = known_plan(gil, frame.code, false);
  if (plan && what == kTraceLine) code_line(gil, *plan, frame);
  if (what != kTraceReturn) return;
  if (plan && argument && (!plan->frame_is_passed_on || plan->returns_at(python::heap_inspector::offset_in(frame)))) {
    code_returns(gil, *plan, frame, argument);
  } else if (plan && argument) {
    code_yields(gil, *plan, frame, argument);
  } else if (plan) {
    code_raises(gil, *plan, frame);
  }
  if (is_early(frame.address)) {
    forget_early(frame.address);
    if (g_early_count == 0)
      thread_word<TraceFunction>(gil->PyGILState_GetThisThreadState(), g_thread_words.trace) = nullptr;
  }
}

// 0 always: another answer would raise.
int trace_frame(Object*, Object* frame_object, int what, Object* argument) {
  const Gil gil = Gil::held(*python::known_interpreter());
  if (what != kTraceLine && what != kTraceReturn) return 0;
  {
    const InsideScope inside;
    take_of_frame(gil, frame_object, what, argument);
  }
  call_back(gil);
  return 0;
}

// No object that needs an end is alive while the function runs.
Object* evaluate_frame(python::ThreadState* thread, void* address, int throws) {
  if (in_callback()) return g_next(thread, address, throws);
  const Gil gil = Gil::held(*python::known_interpreter());
  const bool outer = g_traces && is_traced_by_us(thread);
  if (outer) set_trace_function(thread, nullptr, gil->series);
  CodePlan* plan = nullptr;
  CodeFrame frame;
  bool wanted = false;
  if (t_inside == 0) {
    const InsideScope inside;
    frame = python::heap_inspector::frame_at(address);
    plan = frame.code ? known_plan(gil, frame.code, throws == 0) : nullptr;
    if (plan) {
      const ErrorKept kept(gil, throws != 0);
      wanted = plan->frame_is_passed_on ? on_frame_resume(gil, *plan, frame) : on_frame_enter(gil, *plan, frame);
    }
  }
  const bool lines = wanted && (plan->wants_lines || plan->frame_is_passed_on);
  const bool traced = lines && g_traces && is_traced_by_none(thread);
  if (traced) set_trace_function(thread, trace_frame, gil->series);
  Object* result = g_next(thread, address, throws);
  const bool told = traced && is_traced_by_us(thread);
  if (told) set_trace_function(thread, nullptr, gil->series);
  if (wanted && !told) {
    const InsideScope inside;
    if (lines) count_loss("variables", "each value: a debugger, coverage or another tracer was at work");
    if (plan->frame_is_passed_on) {
      // What it gave is not told from what it is.
    } else if (result) {
      code_returns(gil, *plan, frame, result);
    } else {
      const ErrorKept kept(gil, true);
      code_raises(gil, *plan, frame);
    }
  }
  if (wanted) call_back(gil);
  const bool early = !outer && g_early_count != 0 && is_early(python::heap_inspector::innermost_frame(gil).address);
  if ((outer || early) && g_traces && is_traced_by_none(thread)) set_trace_function(thread, trace_frame, gil->series);
  return result;
}

}  // namespace

bool start_tracing(const Gil& gil, const std::vector<CodeFrame>& running) {
  if (gil->series < 309 || !gil->_PyInterpreterState_GetEvalFrameFunc || !gil->_PyInterpreterState_SetEvalFrameFunc ||
      !gil->_PyEval_RequestCodeExtraIndex || !gil->_PyCode_GetExtra || !gil->_PyCode_SetExtra) {
    return false;
  }
  g_extra = gil->_PyEval_RequestCodeExtraIndex(nullptr);
  if (g_extra < 0) return false;
  python::Interpreter* interpreter = gil->PyInterpreterState_Main();
  g_next = reinterpret_cast<EvaluateFrame>(gil->_PyInterpreterState_GetEvalFrameFunc(interpreter));
  if (!g_next) return false;
  g_traces = gil->series >= 310;
  g_thread_words = gil->series == 310 ? k310 : k311;
  if (!g_traces) count_loss("variables", "each value: with CPython 3.9 only the last one is seen");
  for (const CodeFrame& frame : running) {
    if (!frame.code || !python::is_exactly(frame.code, gil->PyCode_Type)) continue;
    CodePlan* plan = known_plan(gil, frame.code, true);
    if (!plan || !code_has_begun(gil, *plan, frame)) continue;
    if (g_early_count < kMaxEarly) g_early[g_early_count++] = frame.address;
  }
  if (g_traces && g_early_count != 0) {
    python::ThreadState* main =
        gil->PyInterpreterState_ThreadHead(interpreter);  // the newest; the main thread's is the oldest
    while (python::ThreadState* next = gil->PyThreadState_Next(main)) main = next;
    if (is_traced_by_none(main)) set_trace_function(main, trace_frame, gil->series);
  }
  gil->_PyInterpreterState_SetEvalFrameFunc(interpreter, reinterpret_cast<void*>(evaluate_frame));
  return true;
}

}  // namespace tensorscope::watch
