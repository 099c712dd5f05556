// The dumps that diff and check compare: opened, in order of time, with one selection each.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "commands/opened_dump.h"
#include "model/difference.h"

namespace tensorscope::commands {

class ComparedDumps {
 public:
  // Says on standard error where the order of one run's dumps had to be changed. Throws model::BadInput, BadFilter.
  ComparedDumps(const std::vector<std::string>& paths, const model::Filter& filter, const model::SymbolOptions& symbols,
                Invocation& invocation);
  ComparedDumps(std::vector<model::Dump> read, const model::Filter& filter, const model::SymbolOptions& symbols,
                Invocation& invocation);

  size_t size() const { return dumps_.size(); }
  OpenedDump& operator[](size_t index) { return *dumps_[index]; }
  OpenedDump& first() { return *dumps_.front(); }
  OpenedDump& last() { return *dumps_.back(); }
  bool same_run() const;
  // From now on another selection of each dump, whose words nobody wrote. Throws BadFilter.
  void select(const model::Filter& filter);
  std::vector<model::View> views();
  // Where the selections of all dumps are empty: which filter matches nothing, and what there is; else "".
  std::string why_nothing(const model::Filter& filter);
  // Growth of what somebody holds needs dumps that know holders: others are left out while two remain, and standard
  // error says which and why.
  void leave_out_incomparable(Invocation& invocation);
  void say_what_has_no_names(Invocation& invocation) const;
  // Bytes of the selection in the last dump.
  uint64_t live_bytes() const { return selections_.back().bytes(); }

  // Problems of every file, on standard error; the exit status.
  int finish(Invocation& invocation, int status) const;

 private:
  std::vector<std::unique_ptr<OpenedDump>> dumps_;
  std::deque<model::Selection> selections_;
};

// Rows of changes: growth in bytes and count, growth of each interval, place. At most `top` (0: all).
std::string change_table(ComparedDumps& dumps, const std::vector<model::Change>& changes, model::By by, size_t top,
                         bool full_stacks, const render::Terminal& terminal);

}  // namespace tensorscope::commands
