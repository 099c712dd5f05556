// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <string>
#include <vector>

#include "leaks/forms.h"
#include "ownership/holders.h"

namespace tensorscope::analyzer {

namespace {

// An entry of the same container may hold a tensor that another one holds, as the state before and after a transition.
bool is_in_container(const Reference& row, const Series& series) {
  if (row.root != series.example.root || scope_form(row) != scope_form(series.example)) return false;
  return series.of_beginning(row) && (fits(without_indexes(row.text), series.form) ||
                                      container_of(without_indexes(row.text)) == container_of(series.form));
}

}  // namespace

void note_second_owners(const LeakAnalysis& analysis, const Series& series, LeakFinding& finding) {
  constexpr uint64_t kQuarter = 4;
  const View& last = analysis.last();
  const std::vector<uint32_t>& members = series.members.back();
  std::vector<uint32_t> stay, go;
  std::vector<WeighedName> others;
  for (const uint32_t tensor : members) {
    const uint64_t bytes = last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes;
    const size_t before = others.size();
    for (const Reference& row : last.dump.references.of(tensor)) {
      if (holds(row) && !is_in_container(row, series)) others.emplace_back(row.line(), bytes);
    }
    (others.size() > before ? stay : go).push_back(tensor);
  }
  const size_t dump = analysis.dumps() - 1;
  const uint64_t left = analysis.bytes_of(dump, stay);
  if (left == 0 || left * kQuarter < analysis.bytes_of(dump, members)) return;
  finding.also_held_by = merged_names(others);
  finding.frees_alone = analysis.retention().only_by(go).bytes;
}

}  // namespace tensorscope::analyzer
