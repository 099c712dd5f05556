// SPDX-License-Identifier: Apache-2.0
#include "text/dump/first_sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "leaks/process_growth.h"
#include "memory/peak_places.h"
#include "text/dump/history.h"
#include "text/dump/holders.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

constexpr int64_t kMinOutside = 128 << 20;  // more than a program has that only imported torch

}  // namespace

std::string answer_line(analyzer::OpenedDump& opened, const analyzer::Selection& selection,
                        const std::vector<analyzer::Group>& groups, analyzer::GroupBy by, uint64_t total,
                        bool filtered) {
  using analyzer::Group;
  if (!filtered && by == analyzer::GroupBy::line && nearly_all_freed(opened)) {
    return freed_answer(opened, analyzer::peak_places(opened));
  }
  std::string text =
      filtered ? fmt::format("{} of {} selected, in {}", text::bytes(total), text::bytes(opened.accounts.total_bytes()),
                             text::counted(selection.tensor_count(), "tensor"))
               : fmt::format("{} live in {}", text::bytes(total), text::counted(selection.tensor_count(), "tensor"));
  const auto largest =
      std::max_element(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.bytes < b.bytes; });
  if (largest != groups.end() && largest->bytes > 0) {
    text += fmt::format("; largest {}: {}, {} ({})", by_place(by) ? "allocation site" : analyzer::kByNames[size_t(by)],
                        largest->label, text::bytes(largest->bytes), text::percent(largest->bytes, total));
    const std::string held = by_place(by) ? text::held_by(opened, *largest) : "";
    if (!held.empty()) text += ", " + held;
  }
  return text;
}

std::string outside_line(const analyzer::View& view) {
  const analyzer::ProcessMemory memory = analyzer::process_memory(view);
  std::vector<std::pair<int64_t, const char*>> parts = {{memory.heap, "allocated with malloc, not by torch"},
                                                        {memory.kept, "free memory kept by malloc"},
                                                        {memory.python, "in Python's small objects"},
                                                        {memory.python_kept, "free memory kept by Python"}};
  int64_t sum = 0;
  for (const auto& [bytes, what] : parts) sum += std::max<int64_t>(0, bytes);
  if (memory.resident <= 0 || sum < kMinOutside || sum < memory.tensors) return "";
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("outside of tensors: {} of {} resident", text::bytes(uint64_t(sum)),
                                 text::bytes(uint64_t(memory.resident)));
  const char* joint = ": ";
  for (const auto& [bytes, what] : parts) {
    if (bytes <= 0) continue;
    text += fmt::format("{}{} {}", joint, text::bytes(uint64_t(bytes)), what);
    joint = ", ";
  }
  return text;
}

}  // namespace tensorscope::text
