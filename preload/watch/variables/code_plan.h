// SPDX-License-Identifier: Apache-2.0
// What is watched of a code object, decided once when it is first seen: which of its variables, where in its bytecode
// they are assigned, and whether what it returns is wanted.
//
// Context: with the GIL, which is the lock. Reads attributes of code objects; `dis` of the standard library
// reads bytecode.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "python/interpreter.h"
#include "tensorscope/rules/watch_spec.h"

namespace tensorscope::watch {

// Instructions of one line, one after the other.
struct CodeRun {
  int begin = 0;  // offset
  uint32_t line = 0;
  uint32_t last_line = 0;        // of the statements that begin there
  int loop_end = 0;              // offset to which a for loop goes instead of storing; 0: no loop
  std::vector<uint16_t> stores;  // indexes into `variables`
};

enum class VariablePlace : uint8_t { slot, body, globals };  // body: the dict of a module's or class's body

struct CodeVariable {
  uint32_t watch = 0;
  std::string name;  // "": what is returned
  VariablePlace place = VariablePlace::slot;
  size_t slot = 0;
  bool of_module = false;  // the first argument's path decides
  std::string text;        // of the value: "train.py:step:loss"; of_module: what follows the module's path
  // A line's variable: lines of its statement, and whether the statement stores it.
  uint32_t line = 0, last_line = 0;
  bool stored_there = false;
};

struct CodePlan {
  std::string file;      // as sites name it
  std::string function;  // the method's name, or the qualified name
  uint32_t first_line = 0;
  bool yields_results = false;      // a generator, whose yielded values count as returned
  bool frame_is_passed_on = false;  // a generator or coroutine: a call returns one of these, not its result
  bool has_self = false, any_of_module = false, any_for_all = false;
  bool wants_lines = false, wants_returns = false;
  bool lines_are_on = false;  // sys.monitoring
  std::vector<CodeVariable> variables;
  std::vector<CodeRun> runs;
  std::vector<int> returns;  // offsets of instructions that return

  // -1: before the first.
  int run_at(int offset) const;
  bool returns_at(int offset) const;
};

class CodePlans {
 public:
  CodePlans(const std::vector<rules::WatchSpec>& watches, std::string_view directory)
      : watches_(watches), directory_(directory) {}

  // Null: nothing is watched in it. Calls Python code of our own where the code's file and name fit.
  CodePlan* make(const python::Gil& gil, python::Object* code);

  std::vector<std::string> nearest(const rules::WatchSpec& watch) const;

 private:
  struct Facts;
  bool fits(const python::Gil& gil, const rules::WatchSpec& watch, Facts& facts);
  void note(const python::Gil& gil, python::Object* code, const Facts& facts);
  python::Object* helper(const python::Gil& gil, const char* name);

  const std::vector<rules::WatchSpec>& watches_;
  std::string directory_;
  python::Object* helpers_ = nullptr;                    // dict of our own functions
  std::set<std::string> files_, functions_, variables_;  // seen, for messages
};

}  // namespace tensorscope::watch
