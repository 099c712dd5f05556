// SPDX-License-Identifier: Apache-2.0
// Two runs value by value: where they part first, what fed that, and how the difference grows. Values are the same
// where name, operation, place, mode, step, pass within the step and index are: not by position in the file. Numbers
// and codes only: the words are in text/values/comparison.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "values/compare_values.h"

namespace tensorscope::values {

struct Rename {
  std::string from, to;  // names that begin with `from` begin with `to` instead, on either side
};

// A value of both runs, as much of it as the tables need.
struct Pair {
  uint64_t a = 0, b = 0;  // serials
  uint64_t call = 0;      // of run A: Call::id
  uint64_t time_ns = 0;   // of run A
  uint32_t name = 0;      // index into RunComparison::names
  uint32_t step = 0, pass = 0;
  format::StepMode mode = format::StepMode::unknown;
  format::ValuePlace place = format::ValuePlace::other;
  Verdict verdict = Verdict::equal;
  Basis basis = Basis::elements;
  double absolute = 0, relative = 0, excess = 0;
  int at_least = 0;  // the dtype of ChosenTolerance
};

struct OneSided {
  std::string name;
  uint64_t values = 0;
};
struct OneSidedStep {
  format::StepMode mode = format::StepMode::unknown;
  uint32_t first = 0, last = 0;  // in evaluation passes
  uint64_t values = 0;
};
// What one run alone has.
struct UnmatchedNames {
  std::vector<OneSided> names;      // names that the other run never had, in the order of their first values
  std::vector<OneSidedStep> steps;  // steps that the other run does not have
  uint64_t values = 0;              // of names and steps that both have
  std::string first_value;          // the first of these
  std::vector<OneSided> modules;    // modules that only this run called; `values`: calls
};

struct StepDifference {
  format::StepMode mode = format::StepMode::unknown;
  uint32_t step = 0, pass = 0;
  uint64_t compared = 0, different = 0;
  double relative = 0;  // the largest
  uint32_t name = 0;    // of that
};

struct ChangedClass {
  std::string module, a, b;
};
struct ChangedDtype {
  int a = -1, b = -1;
  uint64_t names = 0;
};

struct FirstDifference {
  size_t pair = 0;  // index into RunComparison::pairs
  Value a, b;
  Comparison comparison;
  std::optional<Call> call;    // of run A, where calls were recorded
  std::vector<size_t> inputs;  // of that module call: pairs
  std::vector<size_t> before;  // the last equal ones before it, the latest first; where no inputs were recorded
};

// A call that raised in one run alone.
struct RaisedAlone {
  Call call;
  bool in_a = false;
  uint64_t time_ns = 0;  // of run A
};

struct RunComparison {
  std::vector<std::string> names;  // as renamed, with the operation behind a space
  std::vector<Pair> pairs;         // in the order of time of run A
  uint64_t compared = 0, different = 0, not_comparable = 0, names_compared = 0;
  uint64_t by_elements = 0, by_hash = 0, by_statistics = 0;  // the other pairs are scalars and texts
  uint64_t calls_compared = 0;
  std::optional<FirstDifference> first;
  std::optional<RaisedAlone> raised;  // the first
  std::vector<StepDifference> steps;  // in the order of time of run A
  UnmatchedNames only_a, only_b;
  std::vector<ChangedClass> classes;
  std::vector<ChangedDtype> dtypes;
  std::vector<std::pair<int, Tolerance>> tolerances;  // that were used, by dtype
  std::optional<Rename> hint;                         // with which names would agree that do not

  bool equal() const { return !first && !raised; }
  bool nothing() const { return compared == 0 && calls_compared == 0; }
};

RunComparison compare_runs(const ValuesFile& a, const ValuesFile& b, const std::vector<Rename>& renames,
                           const ChosenTolerance& chosen);

}  // namespace tensorscope::values
