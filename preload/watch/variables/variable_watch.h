// SPDX-License-Identifier: Apache-2.0
// Variables of functions and what functions return, as watches name them (docs/watch-code.md). From CPython 3.12 on
// sys.monitoring calls us when a line of a watched code object begins (code_monitoring.cc); before, a frame
// evaluation function (PEP 523) has such frames traced, and no others (code_tracing.cc).
//
// Context: with the GIL, which is the lock, unless a function names another context.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/naming/frame_locals.h"
#include "python/interpreter.h"
#include "watch/variables/code_plan.h"

namespace tensorscope::watch {

using CodeFrame = python::heap_inspector::Frame;

// Whether any watch is of source code. Any context.
bool watches_code();

// After register_hooks() (torch_events/module_calls.h), once.
void register_variable_watch(const python::Gil& gil);

// Context: the thread that ends the program.
std::vector<std::string> nearest_code(const rules::WatchSpec& watch);

// ---- what both ways of seeing lines tell ----------------------------------------------------------------------------

// Decides about a code object that is not known yet. `known` and `remember` are the caller's memory of such; the GIL
// may change hands in between. False: not now, since it is code of ours that decides.
struct CodeMemory {
  bool (*known)(const python::Gil& gil, python::Object* code, CodePlan*& plan);
  void (*remember)(const python::Gil& gil, python::Object* code, CodePlan* plan);
};
bool decide_code(const python::Gil& gil, python::Object* code, const CodeMemory& memory, CodePlan*& plan);

// A call begins. False: nothing of it is wanted, since the module is another one.
bool on_frame_enter(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame);
// It had begun before anybody looked.
bool any_frame_of(const CodePlan& plan);
bool code_has_begun(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame);
// The same of a generator or coroutine, each time it goes on.
bool on_frame_resume(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame);
// The frame is the running one.
void code_line(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame);
void code_yields(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame, python::Object* result);
void code_returns(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame, python::Object* result);
// An exception leaves it; none is set meanwhile.
void code_raises(const python::Gil& gil, CodePlan& plan, const CodeFrame& frame);

// False: this interpreter cannot. `running`: code objects of frames that run already.
bool start_monitoring(const python::Gil& gil, const std::vector<CodeFrame>& running);
bool start_tracing(const python::Gil& gil, const std::vector<CodeFrame>& running);
constexpr int kMonitoringSeries = 312;

}  // namespace tensorscope::watch
