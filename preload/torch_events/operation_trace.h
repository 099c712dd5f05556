// SPDX-License-Identifier: Apache-2.0
// Every operation that torch's dispatcher runs, in every thread, with its arguments and results: the callback that
// torch offers to profilers (at::addGlobalCallback, ATen/record_function.h), without an operation, Python or a dispatch
// mode. It makes each operation slower, so it is registered only while a listener needs it.
//
// What the callback gets are objects whose fields move between versions. Where arguments and results lie in a
// at::RecordFunction is found in each process by the first operations: arguments and results that hold live tensors,
// in the number that torch says. Until several have agreed, an operation is followed where exactly one place can be
// its arguments' and its results'; those where it is not are counted.
//
// Context: the callbacks run on the thread of the operation, with or without the GIL, no lock of the profiler held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/function_ref.h"
#include "support/status.h"

namespace tensorscope::torch_events {

// c10::IValue (ATen/core/ivalue.h): a word and a tag. The first tags are the same from 1.13 to 2.14.
struct Value {
  uint64_t payload;
  uint32_t tag;
  uint32_t unused;
};
static_assert(sizeof(Value) == 16);
inline constexpr uint32_t kTensorTag = 1, kDoubleTag = 3, kIntTag = 5;

struct Values {
  const Value* first = nullptr;
  size_t count = 0;
};

// Where things lie in a RecordFunction and in a list. 0: not known.
struct TraceLayout {
  int inputs = 0;   // c10::ArrayRef<const IValue>: pointer and number
  int outputs = 0;  // std::vector<IValue>
  bool known() const { return inputs != 0 && outputs != 0; }
};

// What the finder reads of the process; a test has its own.
struct TraceWorld {
  // Copies words at an address that may be anything. False: not readable.
  bool (*read)(uint64_t address, void* out, size_t size);
  bool (*live_tensor)(uint64_t impl);
};

// Each operation rules out offsets at which nothing like its arguments or results lies.
class TraceLayoutFinder {
 public:
  constexpr explicit TraceLayoutFinder(const TraceWorld& world) : world_(world) {}

  // Where this operation's are: the only offset that agrees with it and with all before. 0: there is none, or several.
  int add_inputs(const void* record_function, size_t count);
  int add_outputs(const void* record_function, size_t count);

  TraceLayout result() const;
  // Further operations would not help.
  bool gave_up() const;

 private:
  static constexpr int kFirst = 8, kLast = 1024, kOffsets = (kLast - kFirst) / 8;
  static constexpr int kEnough = 4;  // operations that agree

  struct Votes {
    int operations = 0;
    int of[kOffsets] = {};
    int winner() const;
  };
  enum class Contents : uint8_t { no_values, no_tensors, tensors };
  Contents values_at(uint64_t address, size_t count) const;
  template <typename Look>
  static int add(Votes& votes, Look look);

  const TraceWorld& world_;
  Votes inputs_, outputs_;
};

struct Operation {
  const void* record = nullptr;  // the RecordFunction
  bool results_known = true;     // at its end: false where their place has not been found yet
  const char* name() const;      // "aten::add_"; lives as long as the operation is registered
  bool writes_out() const;       // an overload that writes into arguments named out
};

// "out", "Tensor_out", "out_mode"; not "dtype_layout". native_functions.yaml, torch 2.13.
bool is_out_overload(std::string_view overload);

// Not the engine's "autograd::engine::evaluate_function: MulBackward0", nor a range that somebody named.
bool is_operation(const char* name);

// Called at the begin and at the end of each operation, under a HookScope. One that ends by an exception has no
// results. Where one of the two returns true, `outside` is called after it, under no guard.
struct OperationListener {
  bool (*begin)(const Operation& operation, const Values& inputs);
  bool (*end)(const Operation& operation, const Values& outputs);
  void (*outside)();
};

// Adds one of at most two. Context: activation.
Status trace_operations(const OperationListener& listener);

// Called at the begin and at the end of each autograd node, on the thread that runs it, under no guard: with the same
// RecordFunction both times. An exception may leave the end out.
struct BackwardListener {
  void (*begin)(const void* record) = nullptr;
  void (*end)(const void* record) = nullptr;
};
// Operations that began, or whose results came, before their place was known.
uint64_t operations_not_followed();

// One listener.
Status trace_backward(const BackwardListener& listener);

// True if somebody else in the process (an execution trace, a profiler of all threads, the program) follows the
// operations of every thread, too. Context: with the GIL; while it looks, for a microsecond, operations of other
// threads are not followed.
bool program_follows_operations();

// The operations of this thread are none of the program's: where things lie is learnt from them, no listener is called.
class OperationsOnlyTeach {
 public:
  OperationsOnlyTeach();
  ~OperationsOnlyTeach();
  OperationsOnlyTeach(const OperationsOnlyTeach&) = delete;
  OperationsOnlyTeach& operator=(const OperationsOnlyTeach&) = delete;
};

// Calls visit(impl) for the tensors of one argument or result: itself or the elements of a list.
void each_tensor(const Value& value, FunctionRef<void(const void* impl)> visit);

}  // namespace tensorscope::torch_events
