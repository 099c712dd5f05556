// SPDX-License-Identifier: Apache-2.0
#include "symbols/stack_merge.h"

#include <algorithm>

#include "symbols/user_code.h"

namespace tensorscope::analyzer {

namespace {

// The part of a native stack that stands for one native call of the interpreter.
struct Evaluation {
  size_t begin, end;  // indexes of native frames
};

std::vector<Evaluation> evaluations_by_name(const std::vector<Frame>& native) {
  std::vector<Evaluation> out;
  for (size_t i = 0; i < native.size(); i++) {
    if (is_eval_frame(native[i].function)) out.push_back({i, i + 1});
  }
  return out;
}

// Where no evaluation has a name (no symbols, or an interpreter made of tail calls, as CPython 3.14 can be, whose
// functions are local): every run of frames inside the interpreter, each of which stands for one evaluation or more.
std::vector<Evaluation> visits_to_interpreter(const std::vector<Frame>& native) {
  std::vector<Evaluation> out;
  for (size_t i = 0; i < native.size(); i++) {
    if (!is_interpreter(native[i].object)) continue;
    if (!out.empty() && out.back().end == i) {
      out.back().end++;
    } else {
      out.push_back({i, i + 1});
    }
  }
  return out;
}

bool is_internal(const Frame& frame) {
  if (is_interpreter(frame.object)) return true;
  // An interpreter inside the program's own executable.
  return frame.function.starts_with("_Py") || frame.function.starts_with("PyObject_") ||
         frame.function.starts_with("PyEval_");
}

// Without symbols, libc at the outer end can only be the start of the process or of a thread.
bool is_start(const Frame& frame) {
  return is_process_start(frame.function) || (frame.function.empty() && frame.object.starts_with("libc.so"));
}

// The profiler's hooks: on every stack, and never the answer.
bool is_own(const Frame& frame) { return frame.object.starts_with("libtensorscope"); }

class Merger {
 public:
  Merger(const std::vector<Frame>& native, const std::vector<PythonStackFrame>& python, bool full)
      : native_(native), python_(python), full_(full) {
    outer_end_ = native_.size();
    while (outer_end_ > 0 && is_start(native_[outer_end_ - 1])) outer_end_--;
  }

  std::vector<Frame> run() {
    if (python_.empty()) {
      add_native(0, native_.size(), /*internals=*/true);
      return std::move(out_);
    }
    std::vector<Evaluation> evals = evaluations_by_name(native_);
    const bool by_name = !evals.empty();
    if (!by_name) evals = visits_to_interpreter(native_);
    const size_t runs = size_t(std::count_if(python_.begin(), python_.end(), [](const auto& p) { return p.entry; })) +
                        (python_.back().entry ? 0 : 1);
    if (evals.empty() || evals.size() > runs) return in_one_piece(evals);
    // Several visits with more runs than visits: which of them belong together cannot be determined.
    if (!by_name && evals.size() > 1 && evals.size() < runs) return in_one_piece(evals);
    // Fewer evaluations than runs: the native stack was cut off at its outer end, and the rest is Python's.
    size_t at = 0, done = 0;
    for (const Evaluation& eval : evals) {
      add_native(at, eval.begin, full_);
      if (full_) add_native(eval.begin, eval.end, true);
      done = add_python_run(done);
      at = eval.end;
    }
    while (done < python_.size()) done = add_python_run(done);
    add_native(at, native_.size(), full_);
    return std::move(out_);
  }

 private:
  std::vector<Frame> in_one_piece(const std::vector<Evaluation>& evals) {
    size_t inner = evals.empty() ? native_.size() : evals.front().begin;
    add_native(0, inner, full_);
    for (const PythonStackFrame& python : python_) out_.push_back(python.frame);
    if (full_) add_native(inner, native_.size(), true);
    return std::move(out_);
  }

  size_t add_python_run(size_t at) {
    while (at < python_.size()) {
      out_.push_back(python_[at].frame);
      if (python_[at++].entry) break;
    }
    return at;
  }

  void add_native(size_t begin, size_t end, bool internals) {
    if (!full_) end = std::min(end, outer_end_);
    for (size_t i = begin; i < end; i++) {
      if ((internals || !is_internal(native_[i])) && (full_ || !is_own(native_[i]))) out_.push_back(native_[i]);
    }
  }

  const std::vector<Frame>& native_;
  const std::vector<PythonStackFrame>& python_;
  const bool full_;
  size_t outer_end_;  // native frames from here on are the process's beginning
  std::vector<Frame> out_;
};

}  // namespace

std::vector<Frame> merge_stacks(const std::vector<Frame>& native, const std::vector<PythonStackFrame>& python,
                                bool full) {
  return Merger(native, python, full).run();
}

}  // namespace tensorscope::analyzer
