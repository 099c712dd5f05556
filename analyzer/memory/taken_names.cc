// SPDX-License-Identifier: Apache-2.0
#include "memory/taken_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "dump_generated.h"
#include "tensorscope/rules/number_text.h"

namespace tensorscope::analyzer {

namespace {

bool has_references(const Dump& dump, uint32_t tensor) {
  return tensor < dump.references.tensors.size() && dump.references.tensors[tensor].known;
}

// Names of slots, by class and ordinal: classes have other numbers in another dump.
void take_slot_names(Graph& graph, const Graph& earlier) {
  std::map<std::string, uint32_t> numbers;
  for (uint32_t i = 0; i < graph.class_names.size(); ++i) numbers.emplace(graph.class_names[i], i);
  for (const auto& [key, name] : earlier.slot_names) {
    if (key.first >= earlier.class_names.size()) continue;
    const auto number = numbers.find(earlier.class_names[key.first]);
    if (number != numbers.end()) graph.slot_names.try_emplace({number->second, key.second}, name);
  }
}

// Modules that the earlier dump names are known from then on, though others may have been made since.
void take_modules(Dump& dump, const Dump& earlier, const std::string& source) {
  if (earlier.module_names.empty()) return;
  for (const auto& [object, name] : earlier.module_names) dump.module_names.try_emplace(object, name);
  for (Coverage& row : dump.coverage) {
    if (row.subject != "module paths" || row.seen != int(format::Seen::no)) continue;
    row.seen = int(format::Seen::partly);
    row.detail =
        fmt::format("those of {}; {}", source, row.detail.empty() ? "this dump has none" : "here " + row.detail);
  }
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace

size_t take_names(Dump& dump, const Dump& earlier) {
  std::map<uint64_t, uint32_t> before;  // by serial
  for (uint32_t i = 0; i < earlier.tensors.size(); ++i) {
    if (has_references(earlier, i)) before.emplace(earlier.tensors[i].serial, i);
  }
  References& references = dump.references;
  references.tensors.resize(dump.tensors.size());
  std::vector<Reference> rows;
  std::vector<uint32_t> first = {0};
  size_t taken = 0;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    const auto then = before.find(dump.tensors[i].serial);
    const bool take = then != before.end() && !has_references(dump, i);
    for (const Reference& row : take ? earlier.references.of(then->second) : references.of(i)) {
      // A node's number is that of the earlier graph. In a damaged dump other references may have one, too.
      if (take && format::ReferenceRoot(row.root) == format::ReferenceRoot::node) continue;
      rows.push_back(row);
      rows.back().tensor = i;
      if (take) rows.back().node = kNoNode;
    }
    if (take) references.tensors[i] = earlier.references.tensors[then->second];
    taken += take;
    first.push_back(uint32_t(rows.size()));
  }
  const uint64_t before_ns = dump.process.dump_ns - std::min(earlier.process.dump_ns, dump.process.dump_ns);
  const std::string source = fmt::format("{}, {} before", file_name(earlier.path), DurationText(before_ns).view());
  take_modules(dump, earlier, source);
  take_slot_names(dump.graph, earlier.graph);
  if (taken == 0) return 0;
  references.rows = std::move(rows);
  references.first = std::move(first);
  references.present = true;
  references.complete = false;
  references.detail =
      fmt::format("{} of {} tensors have the names and holders of {}; {}", taken, dump.tensors.size(), source,
                  references.detail.empty() ? "this dump has none" : "here " + references.detail);
  return taken;
}

}  // namespace tensorscope::analyzer
