// SPDX-License-Identifier: Apache-2.0
// Dumps that are compared: opened, in order of time where they are of one run, with one selection each.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/opened_dump.h"

namespace tensorscope::analyzer {

// False: the dump has tensors and the name of none.
bool has_names(const Dump& dump);

// A dump that lacks what the others' growth is measured by.
struct ExcludedDump {
  enum class Reason { no_names, functions_had_returned, moment };
  std::string path;
  Reason why;
  std::string detail;  // of no_names: why there are none; "" where the dump does not say
};

class ComparedDumps {
 public:
  // Throws BadInput, BadFilter.
  ComparedDumps(const std::vector<std::string>& paths, const Filter& filter, const SymbolOptions& symbols);
  ComparedDumps(std::vector<Dump> read, const Filter& filter, const SymbolOptions& symbols);

  size_t size() const { return dumps_.size(); }
  OpenedDump& operator[](size_t index) { return *dumps_[index]; }
  const OpenedDump& operator[](size_t index) const { return *dumps_[index]; }
  OpenedDump& first() { return *dumps_.front(); }
  OpenedDump& last() { return *dumps_.back(); }
  bool same_run() const;
  // One run's dumps were given in another order than that of time.
  bool reordered() const { return reordered_; }
  // From now on another selection of each dump, whose words nobody wrote. Throws BadFilter.
  void select(const Filter& filter);
  std::vector<View> views();
  // The same with everything selected. Valid until the next call.
  std::vector<View> unfiltered_views();
  // Where the selections of all dumps are empty: which filter matches nothing, and what there is; else "".
  std::optional<NoMatch> why_nothing(const Filter& filter);
  // Growth of what somebody holds needs dumps that know holders: others are left out while two remain. A dump at exit
  // is left out wherever the functions had returned whose variables held tensors, and a moment of a recording, which
  // knows no holders, beside two dumps.
  std::vector<ExcludedDump> leave_out_incomparable();
  // What of the stacks that were asked for so far could not be read.
  UnreadFiles unread() const;
  // Bytes of the selection in the last dump.
  uint64_t live_bytes() const { return selections_.back().bytes(); }

 private:
  std::vector<std::unique_ptr<OpenedDump>> dumps_;
  std::deque<Selection> selections_, everything_;
  bool reordered_ = false;
};

}  // namespace tensorscope::analyzer
