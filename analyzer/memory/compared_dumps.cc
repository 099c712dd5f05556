// SPDX-License-Identifier: Apache-2.0
#include "memory/compared_dumps.h"

#include <algorithm>

#include "dump/same_names.h"
#include "dump_generated.h"
#include "memory/difference.h"
#include "recording/moment.h"

namespace tensorscope::analyzer {

namespace {

std::vector<Dump> read_all(const std::vector<std::string>& paths) {
  std::vector<Dump> dumps;
  for (const std::string& path : paths) dumps.push_back(read_dump_or_moment(path));
  return dumps;
}

// A name that several holders have in one of the dumps has the same additions in all.
void tell_same_names_of_run_apart(std::vector<Dump>& dumps) {
  std::vector<References*> references;
  for (Dump& dump : dumps) {
    if (!same_run(dumps.front(), dump)) return;
    references.push_back(&dump.references);
  }
  distinguish_same_names(references);
}

}  // namespace

ComparedDumps::ComparedDumps(const std::vector<std::string>& paths, const Filter& filter, const SymbolOptions& symbols)
    : ComparedDumps(read_all(paths), filter, symbols) {}

ComparedDumps::ComparedDumps(std::vector<Dump> read, const Filter& filter, const SymbolOptions& symbols) {
  tell_same_names_of_run_apart(read);
  for (Dump& dump : read) dumps_.push_back(std::make_unique<OpenedDump>(std::move(dump), symbols));
  auto earlier = [](const std::unique_ptr<OpenedDump>& a, const std::unique_ptr<OpenedDump>& b) {
    return a->dump.process.dump_ns < b->dump.process.dump_ns;
  };
  // Between runs the order is the user's: "before" and "after" may mean anything.
  if (same_run() && !std::is_sorted(dumps_.begin(), dumps_.end(), earlier)) {
    std::stable_sort(dumps_.begin(), dumps_.end(), earlier);
    reordered_ = true;
  }
  select({});
  if (filter.empty()) return;
  check_values(filter, views());
  select(filter);
}

void ComparedDumps::select(const Filter& filter) {
  selections_.clear();
  const bool one_run = same_run();
  for (auto& opened : dumps_) {
    selections_.push_back(opened->choose(filter, one_run && !selections_.empty() ? &selections_.back() : nullptr));
  }
}

bool ComparedDumps::same_run() const {
  return std::all_of(dumps_.begin(), dumps_.end(), [&](const auto& opened) {
    return tensorscope::analyzer::same_run(dumps_.front()->dump, opened->dump);
  });
}

std::optional<NoMatch> ComparedDumps::why_nothing(const Filter& filter) {
  const bool nothing = std::all_of(selections_.begin(), selections_.end(), [](const Selection& selection) {
    return selection.tensor_count() == 0 && selection.bytes() == 0;
  });
  if (!nothing) return std::nullopt;
  return tensorscope::analyzer::why_nothing(filter, views());
}

bool has_names(const Dump& dump) { return dump.tensors.empty() || dump.references.named > 0; }

namespace {

uint64_t live_total(const Dump& dump) {
  uint64_t bytes = 0;
  for (const DeviceTotal& device : dump.totals.devices) bytes += device.live_bytes;
  return bytes;
}

size_t held_from(const Dump& dump, format::ReferenceRoot root) {
  const auto& rows = dump.references.rows;
  return size_t(std::count_if(rows.begin(), rows.end(),
                              [&](const Reference& row) { return format::ReferenceRoot(row.root) == root; }));
}

// An exit dump is written when the program's functions have returned: what only their variables held is gone, or is in
// the cycles of objects that refer to each other (a trainer and its model), or in the traceback of the error that ended
// the program.
bool functions_had_returned(const Dump& before, const Dump& at_exit) {
  using format::ReferenceRoot;
  if (format::Trigger(at_exit.process.trigger) != format::Trigger::exit) return false;
  if (held_from(before, ReferenceRoot::local) == 0 || held_from(at_exit, ReferenceRoot::local) != 0) return false;
  return live_total(at_exit) < live_total(before) ||
         held_from(at_exit, ReferenceRoot::cycle) > held_from(before, ReferenceRoot::cycle) ||
         held_from(at_exit, ReferenceRoot::traceback) > held_from(before, ReferenceRoot::traceback);
}

}  // namespace

std::vector<ExcludedDump> ComparedDumps::leave_out_incomparable() {
  std::vector<ExcludedDump> left_out;
  const auto named =
      std::count_if(dumps_.begin(), dumps_.end(), [](const auto& each) { return has_names(each->dump); });
  const auto own = std::count_if(dumps_.begin(), dumps_.end(),
                                 [](const auto& each) { return !each->dump.moment && has_names(each->dump); });
  for (size_t i = dumps_.size(); i-- > 0;) {
    const Dump& dump = dumps_[i]->dump;
    if (own >= 2 && dump.moment) {
      left_out.push_back({dump.path, ExcludedDump::Reason::moment, ""});
    } else if (named > 0 && !has_names(dump) && dumps_.size() > 2) {
      left_out.push_back({dump.path, ExcludedDump::Reason::no_names, dump.references.detail});
    } else if (i > 0 && i + 1 == dumps_.size() && functions_had_returned(dumps_[i - 1]->dump, dump)) {
      left_out.push_back({dump.path, ExcludedDump::Reason::functions_had_returned, ""});
    } else {
      continue;
    }
    dumps_.erase(dumps_.begin() + ptrdiff_t(i));
    selections_.erase(selections_.begin() + ptrdiff_t(i));
  }
  return left_out;
}

std::vector<View> ComparedDumps::views() {
  std::vector<View> views;
  for (size_t i = 0; i < dumps_.size(); ++i) views.push_back(dumps_[i]->view(selections_[i]));
  return views;
}

std::vector<View> ComparedDumps::unfiltered_views() {
  everything_.clear();
  std::vector<View> views;
  for (auto& opened : dumps_) views.push_back(opened->view(everything_.emplace_back(opened->select({}))));
  return views;
}

UnreadFiles ComparedDumps::unread() const {
  UnreadFiles files;
  for (const std::unique_ptr<OpenedDump>& opened : dumps_) files.add(opened->places.unread().files());
  return files;
}

}  // namespace tensorscope::analyzer
