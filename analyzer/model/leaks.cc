#include "model/leaks.h"

#include <algorithm>
#include <map>

#include "model/findings/case.h"

namespace tensorscope::model {

namespace {

// Tensors of a place that were made after the first dump: what it grew by.
std::vector<uint32_t> fresh(const Case& find, const PlaceGrowth& place) {
  std::vector<uint32_t> result;
  const uint64_t before = find.view(0).dump.process.snapshot_serial;
  for (uint32_t tensor : place.tensors) {
    if (find.last().dump.tensors[tensor].serial > before) result.push_back(tensor);
  }
  return result;
}

// The finding that explains most of these tensors.
uint32_t explaining(const std::vector<LeakFinding>& findings, const std::vector<uint32_t>& tensors) {
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const std::vector<uint32_t>& explained = findings[i].tensors;
    const auto count = std::count_if(tensors.begin(), tensors.end(), [&](uint32_t tensor) {
      return std::binary_search(explained.begin(), explained.end(), tensor);
    });
    if (size_t(count) * 2 > tensors.size()) return i;
  }
  return kNone;
}

// A finding about memory that only C++ holds may rest on blocks alone.
uint32_t explaining(const std::vector<LeakFinding>& findings, uint32_t site) {
  for (uint32_t i = 0; i < findings.size(); ++i) {
    if (findings[i].kind == LeakKind::cpp_only && findings[i].tensors.empty() && findings[i].site == site) return i;
  }
  return kNone;
}

struct Held {
  Holder::Kind kind = Holder::Kind::cpp;
  std::string text;
};

// What holds most of them: the names of the first holders, merged.
Held held_by(const Holders& holders, const std::vector<uint32_t>& tensors) {
  std::map<std::pair<std::string, Holder::Kind>, std::vector<std::string>> roots;
  for (uint32_t tensor : tensors) {
    if (holders.holders(tensor).empty()) continue;
    const Holder& holder = holders.holders(tensor).front();
    roots[{holder.root, holder.kind}].push_back(holder.brief);
  }
  auto most = std::max_element(roots.begin(), roots.end(),
                               [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == roots.end()) return {};
  return {most->first.second, merged_names(most->second)};
}

std::string advice(const GrownPlace& grown, const Held& held) {
  if (grown.in_place) return "made anew and larger each time: does it need everything that came before?";
  if (held.text.empty()) return "nothing known holds them: the dump may have no holders, or C++ keeps them";
  switch (held.kind) {
    case Holder::Kind::python:
      return "nothing ever leaves it: does it need these tensors, all of them, for so long?";
    case Holder::Kind::saved:
    case Holder::Kind::accumulator:
      return "a graph keeps them: what leads to it should be detached, or made under torch.no_grad()";
    case Holder::Kind::gradient:
      return "gradients that are kept: are there more and more parameters?";
    case Holder::Kind::view:
    case Holder::Kind::storage:
    case Holder::Kind::part:
      return "another tensor keeps their memory: look at what holds that one";
    case Holder::Kind::cycle:
      return "garbage that refers to itself: break the cycle";
    case Holder::Kind::traceback:
      return "an exception's frames keep them: keep its text instead";
    case Holder::Kind::cpp:
      break;
  }
  return "C++ code keeps them: a cache without a limit, or an extension";
}

GrownPlace grown_place(const Case& find, const std::vector<LeakFinding>& findings, PlaceGrowth place, bool in_place) {
  GrownPlace grown;
  grown.in_place = in_place;
  std::vector<uint32_t> tensors = in_place ? place.tensors : fresh(find, place);
  grown.finding = tensors.empty() ? explaining(findings, place.site) : explaining(findings, tensors);
  const int64_t weight = place.growth.added_bytes() + place.growth.added() * int64_t(kObjectBytes);
  grown.counts = weight >= int64_t(kLeastGrowth);
  if (grown.finding == kNone) {
    Held held = held_by(find.last().holders, tensors);
    grown.look_at = advice(grown, held);
    grown.holder = std::move(held.text);
  }
  grown.place = std::move(place);
  return grown;
}

}  // namespace

bool Leaks::found() const {
  return !findings.empty() || std::any_of(places.begin(), places.end(), [](const GrownPlace& grown) {
    return grown.counts && grown.finding == kNone;
  });
}

Leaks find_leaks(std::vector<View> views, bool whole) {
  Leaks result;
  result.dumps = views.size();
  for (const View& view : views) result.bytes.push_back(view.selection.bytes());
  Case find(std::move(views), whole);
  result.weak = find.timeline().weak();
  for (auto* family : {find_tracebacks, find_cycles, find_small_views, find_kept_graphs, find_stray_leaves,
                       find_two_dtypes, find_containers, find_cpp_storage, find_loose_nodes, find_process_memory}) {
    family(find);
  }
  result.findings = find.take_findings();
  std::stable_sort(result.findings.begin(), result.findings.end(), [](const LeakFinding& a, const LeakFinding& b) {
    const bool process_a = a.kind == LeakKind::process_memory, process_b = b.kind == LeakKind::process_memory;
    if (process_a != process_b) return process_b;
    const bool grows_a = a.growth.added_bytes() > 0, grows_b = b.growth.added_bytes() > 0;
    if (grows_a != grows_b) return grows_a;
    return a.bytes > b.bytes;
  });
  if (result.dumps < 2) return result;
  std::vector<View> all;
  for (size_t i = 0; i < find.dumps(); ++i) all.push_back(find.view(i));
  for (PlaceGrowth& place : growing_places(all, find.timeline())) {
    const bool in_place = grows_in_place(place, find.timeline());
    if (!in_place && !find.timeline().piles_up(place.growth)) continue;
    result.places.push_back(grown_place(find, result.findings, std::move(place), in_place));
  }
  return result;
}

}  // namespace tensorscope::model
