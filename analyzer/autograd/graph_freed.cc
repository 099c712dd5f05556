// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_freed.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "autograd/graph_walk.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer {

namespace {

// The program's innermost frame around the innermost call of the engine.
std::string caller_of_engine(const Dump& dump, const Places& places, uint32_t python) {
  const std::string package = torch_package(dump);
  bool inside = true;
  for (uint32_t id = python; id != 0; id = dump.python_frames[id].parent) {
    const Code& code = dump.codes[dump.python_frames[id].code];
    inside = inside && !calls_engine(code);
    if (inside || python_owner(code.file, package) != Owner::user) continue;
    const std::string_view function = enclosing_function(code.function, names_are_qualified(dump));
    const Frame frame{
        Frame::Language::python, std::string(function), code.file, dump.python_frames[id].line, "", 0, false};
    return places.describe(frame).where;
  }
  return "";
}

// Site 0: not known.
uint32_t freeing_site(const Dump& dump, uint32_t node) {
  const uint32_t row = dump.graph.nodes[node].seen;
  return row < dump.nodes.size() && buffers_freed(dump.graph, node) ? dump.nodes[row].ran_site : 0;
}

std::string backward_at(const Dump& dump, Places& places, uint32_t site) {
  if (site == 0) return "";
  if (const uint32_t python = dump.sites[site].python; python != 0) return caller_of_engine(dump, places, python);
  if (!dump.process.python_version.empty()) return "";
  const Frame& frame = places.at(site).frame;
  return native_owner(frame.object, frame.function, frame.file) == Owner::user ? places.at(site).where : "";
}

}  // namespace

bool calls_engine(const Code& code) {
  return (code.file.ends_with("torch/autograd/__init__.py") || code.file.ends_with("torch/_tensor.py")) &&
         (code.function.ends_with("backward") || code.function == "grad");
}

std::string freed_at(const Dump& dump, Places& places, uint32_t node) {
  return backward_at(dump, places, freeing_site(dump, node));
}

std::vector<FreedNodes> freed_by_place(const Dump& dump, Places& places, std::span<const uint32_t> nodes) {
  std::map<uint32_t, uint64_t> by_site;
  for (uint32_t node : nodes) {
    if (buffers_freed(dump.graph, node)) ++by_site[freeing_site(dump, node)];
  }
  std::map<std::string, uint64_t> counts;
  for (const auto& [site, count] : by_site) counts[backward_at(dump, places, site)] += count;
  std::vector<FreedNodes> out;
  for (const auto& [where, count] : counts) out.push_back({where, count});
  std::stable_sort(out.begin(), out.end(), [](const FreedNodes& a, const FreedNodes& b) {
    return std::tuple(a.where.empty(), b.nodes) < std::tuple(b.where.empty(), a.nodes);
  });
  return out;
}

}  // namespace tensorscope::analyzer
