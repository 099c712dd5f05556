// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/process_groups.h"

#include <string_view>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr size_t kMaxGroups = 1024, kMaxRanks = 65536;

bool rank_number(const Gil& gil, Object* value, int32_t& out) {
  if (!is_a(gil, value, gil->PyLong_Type)) return false;
  const long long number = gil->PyLong_AsLongLong(value);
  if (number == -1) gil->PyErr_Clear();
  if (number < 0 || number >= int(kMaxRanks)) return false;
  out = int32_t(number);
  return true;
}

// {global rank: position in the group}
bool read_ranks(const Gil& gil, Object* positions, std::vector<int32_t>& ranks) {
  bool sound = true;
  each_entry(gil, positions, [&](Object* key, Object* value) {
    int32_t rank = 0, position = 0;
    sound = rank_number(gil, key, rank) && rank_number(gil, value, position);
    if (sound && size_t(position) >= ranks.size()) ranks.resize(size_t(position) + 1, -1);
    if (sound) ranks[size_t(position)] = rank;
    return sound;
  });
  for (const int32_t rank : ranks) sound = sound && rank >= 0;
  return sound;
}

void set_dimension(ProcessGroups& groups, std::string_view name, std::string_view dimension) {
  for (ProcessGroup& group : groups.groups) {
    if (group.name == name) group.mesh_dimension = dimension;
  }
}

// `_dim_group_names` (torch 2.8 on): a list of names; `_dim_group_infos` before: a list of tuples, whose last text it
// is.
std::string_view group_name(const Gil& gil, Object* element) {
  if (has_flag(element, type_flags::kText)) return text_of(gil, element);
  std::string_view last;
  each_element(gil, element, [&](ptrdiff_t, Object* part) {
    if (has_flag(part, type_flags::kText)) last = text_of(gil, part);
    return true;
  });
  return last;
}

}  // namespace

void read_process_groups(const Gil& gil, ProcessGroups& out) {
  Object* const globals = module_globals(gil, "torch.distributed.distributed_c10d");
  Object* const names = entry(gil, globals, "_pg_names");
  Object* const members = entry(gil, globals, "_pg_group_ranks");
  if (!globals) return;
  out.imported = true;
  if (!names || !members) {
    out.detail = "this version of torch keeps its process groups in another place";
    return;
  }
  out.complete = true;
  size_t ranks = 0;
  each_entry(gil, members, [&](Object* group, Object* positions) {
    ProcessGroup row;
    each_entry(gil, names, [&](Object* other, Object* name) {
      if (other == group) row.name = text_of(gil, name);
      return other != group;
    });
    const bool room = out.groups.size() < kMaxGroups && ranks < kMaxRanks;
    if (!room || !read_ranks(gil, positions, row.ranks)) {
      out.complete = false;
      out.detail = room ? "a process group has an unknown form" : "there are too many process groups";
      return room;
    }
    ranks += row.ranks.size();
    out.groups.push_back(std::move(row));
    return true;
  });
}

void read_mesh_dimensions(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits,
                          ProcessGroups& out) {
  Object* const mesh = entry(gil, module_globals(gil, "torch.distributed.device_mesh"), "DeviceMesh");
  if (out.groups.empty() || !mesh) return;
  for (uint32_t i = 0; i < graph.size() && !limits.reached(); ++i) {
    const Object* const object = graph.object(i);
    if (!is_exactly(object, mesh)) continue;
    Object* dimensions = attributes.find(object, "_mesh_dim_names");
    if (!dimensions) dimensions = attributes.find(object, "mesh_dim_names");
    Object* groups = attributes.find(object, "_dim_group_names");
    if (!groups) groups = attributes.find(object, "_dim_group_infos");
    each_element(gil, dimensions, [&](ptrdiff_t at, Object* dimension) {
      each_element(gil, groups, [&](ptrdiff_t index, Object* group) {
        if (index == at) set_dimension(out, group_name(gil, group), text_of(gil, dimension));
        return index < at;
      });
      return true;
    });
  }
}

}  // namespace tensorscope::python::heap_inspector
