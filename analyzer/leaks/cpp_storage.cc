// SPDX-License-Identifier: Apache-2.0
// Storages that only C++ holds and that become more.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "leaks/grown_containers.h"
#include "leaks/leak_analysis.h"
#include "leaks/step_ends.h"

namespace tensorscope::analyzer {

namespace {

// What is made of C++ alone in one dump: tensors by place, and blocks that no tensor refers to.
struct CppOnly {
  std::vector<uint32_t> tensors;
  uint64_t count = 0, bytes = 0;
  uint64_t ended_count = 0, ended_bytes = 0;  // without what the step that runs has made
  std::vector<uint64_t> serials;
  uint32_t site = 0;
};

std::map<std::string, CppOnly> held_by_cpp(const LeakAnalysis& analysis, size_t dump) {
  const View& view = analysis.view(dump);
  const uint64_t since = running_since(view.dump);
  const auto of_ended_step = [&](uint64_t serial) { return since == 0 || serial <= since; };
  std::map<std::string, CppOnly> places;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!analysis.retention(dump).cpp_only(i) || !view.selection.tensor(i)) continue;
    const uint32_t site = effective_site(view.dump, view.accounts, view.places, i);
    CppOnly& place = places[view.places.at(site).where];
    place.tensors.push_back(i);
    place.count += 1;
    place.ended_count += of_ended_step(view.dump.tensors[i].serial);
    place.serials.push_back(view.dump.tensors[i].serial);
    place.site = site;
  }
  for (auto& [where, place] : places) {
    place.bytes = analysis.bytes_of(dump, place.tensors);
    std::vector<uint32_t> ended;
    std::ranges::copy_if(place.tensors, std::back_inserter(ended),
                         [&](uint32_t tensor) { return of_ended_step(view.dump.tensors[tensor].serial); });
    place.ended_bytes = analysis.bytes_of(dump, ended);
  }
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    const Item& item = view.accounts.items()[i];
    if (item.storage != kNone || item.allocation == kNone || !view.selection.item(i)) continue;
    CppOnly& place = places[view.places.at(item.site).where];
    const uint64_t serial = view.dump.allocations[item.allocation].serial;
    place.count += 1;
    place.bytes += item.bytes;
    place.ended_count += of_ended_step(serial);
    place.ended_bytes += of_ended_step(serial) ? item.bytes : 0;
    place.serials.push_back(serial);
    place.site = item.site;
  }
  return places;
}

}  // namespace

void find_cpp_storage(LeakAnalysis& analysis) {
  const bool no_python = analysis.last().dump.process.python_version.empty();
  if (analysis.dumps() < 2 || (!analysis.retention().known() && !no_python)) return;
  std::vector<std::map<std::string, CppOnly>> dumps;
  for (size_t i = 0; i < analysis.dumps(); ++i) dumps.push_back(held_by_cpp(analysis, i));
  for (auto& [where, place] : dumps.back()) {
    Growth growth, ended;
    for (auto& places : dumps) {
      const auto found = places.find(where);
      const CppOnly of_dump = found == places.end() ? CppOnly() : found->second;
      growth.count.push_back(of_dump.count);
      growth.bytes.push_back(of_dump.bytes);
      ended.count.push_back(of_dump.ended_count);
      ended.bytes.push_back(of_dump.ended_bytes);
    }
    growth.kept = place.serials;
    const bool between_steps = take_ended_steps(growth, ended);
    if (!analysis.timeline().is_accumulating(growth) || !weighs_enough(growth.added_bytes(), growth.added())) continue;
    if (!place.tensors.empty() && analysis.explained(place.tensors)) continue;
    if (growth.added_bytes() == 0 && profiler_is_on(analysis.views())) continue;
    std::vector<Fact> parts;
    const uint64_t tensors = place.tensors.size(), blocks = place.count - tensors;
    if (tensors > 0) parts.push_back({FactKind::cpp_tensors, {tensors}});
    if (blocks > 0) parts.push_back({FactKind::cpp_blocks, {blocks}});
    // What came with the objects of a finding and lies in their C++ parts, as weights that were packed.
    LeakFinding* with = analysis.finding_made_at(where);
    if (with != nullptr && with->growth.added_bytes() >= growth.added_bytes()) {
      with->evidence.insert(with->evidence.end(), parts.begin(), parts.end());
      continue;
    }
    LeakFinding finding;
    finding.kind = LeakKind::cpp_only;
    finding.advice = Advice::bound_cpp;
    finding.bytes = growth.bytes.back();
    finding.site = place.site;
    if (between_steps) finding.evidence.push_back({FactKind::of_ended_steps});
    finding.evidence.insert(finding.evidence.end(), parts.begin(), parts.end());
    for (const ContainerGrowth& container : containers_in_step(analysis.views(), growth.count)) {
      finding.holders.push_back(container.name);
      finding.evidence.push_back({FactKind::in_step, container.cpp_objects, container.name_with_cpp_type()});
      finding.advice = Advice::bound_cpp_objects;
    }
    finding.growth = std::move(growth);
    finding.tensors = std::move(place.tensors);
    analysis.add(std::move(finding));
  }
}

}  // namespace tensorscope::analyzer
