// SPDX-License-Identifier: Apache-2.0
// The calls of the program's torch.nn modules (python/module_entry.h), and the steps of its optimizers. A listener is
// told of each, and each call can be a row of the values file.
//
// Context: as named.
#pragma once

#include <cstdint>
#include <string>

#include "python/interpreter.h"
#include "python/module_entry.h"

namespace tensorscope::torch_events {

// What is known of a module that is called. The listener's own kind of it may know more.
struct CalledModule {
  std::string class_name;
  uint32_t path_id = 0, class_id = 0;    // texts of the values file (value_store.h)
  uint32_t pass = 0, calls_in_pass = 0;  // of the module, in the pass in which it was called last
};

// Where something belongs: the innermost call that runs, and the program's line. 0: none.
struct CallPlace {
  uint64_t call = 0;
  uint32_t module = 0;  // CalledModule::path_id
  uint32_t site = 0;    // text of the values file
  uint32_t index = 0;   // which call of the module in this pass, from 0
};

// Is told of calls and steps, on the thread of the program that makes them.
//
// Context: with the GIL and under an InsideScope, unless named otherwise. Nothing is raised.
class CallListener {
 public:
  // Whether the calling thread runs code of the listener's, whose calls are nobody's. Context: any.
  virtual bool is_calling() const = 0;
  // The module as the listener knows it, permanently. Null: not enough memory. `caller`: whose call is running, or
  // null.
  virtual CalledModule* find(const python::Gil& gil, python::Object* module, const CalledModule* caller) = 0;
  // The first call of a pass of the program: no other call is running, nor a backward pass.
  virtual void pass_begins(const python::Gil& gil) = 0;
  // Whether call_ends() wants to know the program's line.
  virtual bool wants_line(const CalledModule& module) const = 0;
  // What is wanted of the operations within a call, valid permanently; null: nothing. `around`: the same of the call
  // within which it is made.
  virtual const void* operations_within(const void* around, const CalledModule& module) = 0;
  virtual void call_ends(const python::Gil& gil, CalledModule& module, const python::ModuleCall& call,
                         const CallPlace& place) = 0;
  // An optimizer begins its step: all gradients are there.
  virtual void step_begins(const python::Gil& gil) = 0;
  // An optimizer has changed parameters; its step is the running one still.
  virtual void step_ends(const python::Gil& gil, python::Object* optimizer) = 0;
  // The step of this number has ended: another one is running.
  virtual void step_has_ended(uint32_t number) = 0;
  // After each of these. Context: with the GIL, under no scope.
  virtual void after_event(const python::Gil& gil) = 0;

 protected:
  ~CallListener() = default;
};

struct CallSettings {
  bool record_calls = false;       // each becomes a row
  bool follow_operations = false;  // call_of_operation() is called
};

// Once, before register_hooks(). The listener lives permanently. Context: activation, or with the GIL.
void start_module_calls(const CallSettings& settings, CallListener& listener);

// From now on calls are seen, and hooks of torch.optim tell the steps. False: torch.nn has not been imported whole yet;
// ask again. Context: with the GIL.
bool register_hooks(const python::Gil& gil);

bool has_module_calls();

// Context: with the GIL, under an InsideScope.
CallPlace place_in_program();

// The innermost module call of this thread: its number, and CalledModule::path_id. 0: none. Context: with the GIL.
struct RunningModule {
  uint64_t call = 0;
  uint32_t path_id = 0;
};
RunningModule running_module();

// The same for find() outside of a call. Null: no memory. Context: with the GIL.
const CalledModule* find_called_module(const python::Gil& gil, python::Object* module);

// The module call that an operation belongs to: the innermost of this thread; in a backward pass, the one whose forward
// made the node that runs.
struct OperationCall {
  const void* operations = nullptr;  // of operations_within()
  uint64_t call = 0;
  bool backward = false;
  const void* node = nullptr;  // backward: the node that runs
};
// False: it is in none of whose operations something is wanted. Context: an operation of torch in this thread, under a
// HookScope.
bool call_of_operation(OperationCall& out);

// Calls that are still running become rows. Context: the thread that ends the program.
void end_running_calls();

}  // namespace tensorscope::torch_events
