#include "commands/compared_dumps.h"

#include <fmt/format.h>

#include <algorithm>

#include "commands/group_table.h"
#include "dump_generated.h"
#include "model/filter_values.h"
#include "model/reader.h"
#include "render/table.h"
#include "render/units.h"

namespace tensorscope::commands {

using model::Change;

namespace {

std::vector<model::Dump> read_all(const std::vector<std::string>& paths) {
  std::vector<model::Dump> dumps;
  for (const std::string& path : paths) dumps.push_back(model::read_dump(path));
  return dumps;
}

}  // namespace

ComparedDumps::ComparedDumps(const std::vector<std::string>& paths, const model::Filter& filter,
                             const model::SymbolOptions& symbols, Invocation& invocation)
    : ComparedDumps(read_all(paths), filter, symbols, invocation) {}

ComparedDumps::ComparedDumps(std::vector<model::Dump> read, const model::Filter& filter,
                             const model::SymbolOptions& symbols, Invocation& invocation) {
  for (model::Dump& dump : read) dumps_.push_back(std::make_unique<OpenedDump>(std::move(dump), symbols));
  auto earlier = [](const std::unique_ptr<OpenedDump>& a, const std::unique_ptr<OpenedDump>& b) {
    return a->dump.process.dump_ns < b->dump.process.dump_ns;
  };
  // Between runs the order is the user's: "before" and "after" may mean anything.
  if (same_run() && !std::is_sorted(dumps_.begin(), dumps_.end(), earlier)) {
    std::stable_sort(dumps_.begin(), dumps_.end(), earlier);
    invocation.say("the dumps were not in order of time; they are compared from the oldest to the newest.");
  }
  select({});
  if (filter.empty()) return;
  model::check_values(filter, views());
  select(filter);
}

void ComparedDumps::select(const model::Filter& filter) {
  selections_.clear();
  const bool one_run = same_run();
  for (auto& opened : dumps_) {
    selections_.push_back(opened->choose(filter, one_run && !selections_.empty() ? &selections_.back() : nullptr));
  }
}

bool ComparedDumps::same_run() const {
  return std::all_of(dumps_.begin(), dumps_.end(),
                     [&](const auto& opened) { return model::same_run(dumps_.front()->dump, opened->dump); });
}

std::string ComparedDumps::why_nothing(const model::Filter& filter) {
  const bool nothing = std::all_of(selections_.begin(), selections_.end(), [](const model::Selection& selection) {
    return selection.tensor_count() == 0 && selection.bytes() == 0;
  });
  return nothing ? model::why_nothing(filter, views()) : "";
}

namespace {

bool has_names(const model::Dump& dump) { return dump.tensors.empty() || dump.references.named > 0; }

uint64_t live_total(const model::Dump& dump) {
  uint64_t bytes = 0;
  for (const model::DeviceTotal& device : dump.totals.devices) bytes += device.live_bytes;
  return bytes;
}

size_t local_variables(const model::Dump& dump) {
  const auto& rows = dump.references.rows;
  return size_t(std::count_if(rows.begin(), rows.end(), [](const model::Reference& row) {
    return dump::ReferenceRoot(row.root) == dump::ReferenceRoot::local;
  }));
}

// An exit dump is written when the program's functions have returned: what only their variables held is gone.
bool functions_had_returned(const model::Dump& before, const model::Dump& at_exit) {
  return dump::Trigger(at_exit.process.trigger) == dump::Trigger::exit && local_variables(before) > 0 &&
         local_variables(at_exit) == 0 && live_total(at_exit) < live_total(before);
}

}  // namespace

void ComparedDumps::leave_out_incomparable(Invocation& invocation) {
  const bool any = std::any_of(dumps_.begin(), dumps_.end(), [](const auto& each) { return has_names(each->dump); });
  for (size_t i = dumps_.size(); i-- > 0 && dumps_.size() > 2;) {
    const model::Dump& dump = dumps_[i]->dump;
    std::string why;
    if (any && !has_names(dump)) {
      why = "it has no names of tensors";
      if (!dump.references.detail.empty()) why += ": " + dump.references.detail;
    } else if (i > 0 && i + 1 == dumps_.size() && functions_had_returned(dumps_[i - 1]->dump, dump)) {
      why = "it was written at exit, when the functions had returned whose variables held tensors";
    }
    if (why.empty()) continue;
    invocation.say(fmt::format("{} is left out: {}.", dump.path, why));
    dumps_.erase(dumps_.begin() + ptrdiff_t(i));
    selections_.erase(selections_.begin() + ptrdiff_t(i));
  }
}

void ComparedDumps::say_what_has_no_names(Invocation& invocation) const {
  for (const auto& each : dumps_) {
    if (has_names(each->dump)) continue;
    const std::string& why = each->dump.references.detail;
    invocation.say(fmt::format("{} has no names of tensors{}: who holds them there is not known.", each->dump.path,
                               why.empty() ? "" : " (" + why + ")"));
  }
}

std::vector<model::View> ComparedDumps::views() {
  std::vector<model::View> views;
  for (size_t i = 0; i < dumps_.size(); ++i) views.push_back(dumps_[i]->view(selections_[i]));
  return views;
}

int ComparedDumps::finish(Invocation& invocation, int status) const {
  for (const auto& opened : dumps_) status = std::max(status, commands::finish(invocation, opened->dump));
  return status;
}

namespace {

// "+32 +32 +31": tensors, or bytes where the number of tensors stayed as it was.
std::string intervals(const Change& change) {
  bool counts = false;
  for (uint64_t value : change.tensors) counts = counts || value != change.tensors.front();
  std::string text;
  for (size_t i = 1; i < change.bytes.size(); ++i) {
    if (i > 1) text += ' ';
    text += counts ? render::signed_count(int64_t(change.tensors[i] - change.tensors[i - 1]))
                   : render::signed_bytes(int64_t(change.bytes[i] - change.bytes[i - 1]));
  }
  return text;
}

}  // namespace

std::string change_table(ComparedDumps& dumps, const std::vector<Change>& changes, model::By by, size_t top,
                         bool full_stacks, const render::Terminal& terminal) {
  bool several = dumps.size() > 2;
  std::vector<render::Column> columns = {
      {.title = "bytes", .align = render::Align::right},
      {.title = "count", .align = render::Align::right},
      {.title = "each interval"},
      {.title = ""},
      {.title = by_place(by) ? "where" : model::kByNames[size_t(by)], .least = 24, .cut = render::Cut::start},
      {.title = "", .least = 12, .style = render::Style::dim}};
  constexpr size_t kWhere = 4;
  render::Table table(columns);
  for (size_t i = 0; i < changes.size() && (top == 0 || i < top); ++i) {
    const Change& change = changes[i];
    OpenedDump& opened = dumps[change.dump];
    std::string source =
        by == model::By::line || by == model::By::site ? opened.places.source_line(change.group.site) : "";
    render::Style style = change.steady ? render::Style::bad : render::Style::plain;
    table.row({render::signed_bytes(change.byte_growth()), render::signed_count(change.tensor_growth()),
               several ? intervals(change) : "", change.steady ? "steady" : "", change.label, source},
              style);
    add_notes(table, kWhere, opened, change.group, by, full_stacks);
  }
  return table.text(terminal);
}

}  // namespace tensorscope::commands
