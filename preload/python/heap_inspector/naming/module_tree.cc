// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/module_tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

using format::ReferenceRoot;

ModuleTree::ModuleTree(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, LookLimits& limits)
    : gil_(gil), graph_(graph), attributes_(attributes), limits_(limits) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) == Kind::nn_module && !limits.reached()) modules_.push_back({i, {}});
  }
  std::sort(modules_.begin(), modules_.end(),
            [&](const Module& a, const Module& b) { return graph.object(a.object) < graph.object(b.object); });
  std::unordered_map<uint32_t, uint32_t> numbers;
  for (uint32_t i = 0; i < modules_.size(); ++i) numbers[modules_[i].object] = i;
  for (uint32_t i = 0; i < modules_.size() && !limits.reached(); ++i) {
    Object* dict = attributes.find(graph.object(modules_[i].object), "_modules");
    if (!dict) continue;
    each_entry(gil, dict, [&](Object*, Object* value) {
      const auto found = numbers.find(graph.find(value));
      if (found == numbers.end()) return true;
      modules_[i].children.push_back(found->second);
      return true;
    });
  }
}

bool ModuleTree::has_name(uint32_t object, const ObjectPaths& paths) const {
  if (!paths.reached(object) || limits_.reached(paths.depth(object) + 1)) return false;
  const ReferenceRoot root = paths.root_kind_of(object);
  return root != ReferenceRoot::extension && root != ReferenceRoot::thread && root != ReferenceRoot::cycle;
}

void ModuleTree::lead(ObjectPaths& paths) const {
  std::vector<bool> named(modules_.size()), child(modules_.size()), led(modules_.size());
  for (uint32_t i = 0; i < modules_.size(); ++i) named[i] = has_name(modules_[i].object, paths);
  // A variable that holds a model names it better than a wrapper that nothing with a name holds.
  const auto leads = [&](uint32_t parent, uint32_t i) { return parent != i && (named[parent] || !named[i]); };
  for (uint32_t i = 0; i < modules_.size(); ++i) {
    for (const uint32_t each : modules_[i].children) child[each] = child[each] || leads(i, each);
  }
  std::vector<uint32_t> level;
  for (uint32_t i = 0; i < modules_.size(); ++i) {
    if (child[i]) continue;
    led[i] = true;
    level.push_back(i);
  }
  for (size_t next = 0; next < level.size() && !limits_.reached(); ++next) {
    const uint32_t parent = level[next];
    const Module& module = modules_[parent];
    if (!paths.reached(module.object)) continue;
    for (const char* name : {"_parameters", "_buffers"}) attributes_.lead(graph_, module.object, name, paths);
    const uint32_t children = attributes_.lead(graph_, module.object, "_modules", paths);
    for (const uint32_t i : module.children) {
      if (led[i] || children == kNoObject || !leads(parent, i)) continue;
      led[i] = true;
      level.push_back(i);
      paths.prefer_parent(modules_[i].object, children);
    }
  }
}

void ModuleTree::want(Chains& chains, const ObjectPaths& paths) const {
  std::map<std::string, int> numbers;
  for (const Module& module : modules_) {
    if (limits_.reached()) return;
    chains.want(module.object);
    if (paths.has_other_parent(module.object)) continue;
    if (has_name(module.object, paths)) continue;
    const std::string type = short_class_name(gil_, graph_.object(module.object));
    chains.call(module.object, type + "@" + std::to_string(++numbers[type]));
  }
}

void ModuleTree::call_parameters(Chains& chains, const ObjectPaths& paths) const {
  struct Nearest {
    std::tuple<uint32_t, uint32_t, uint32_t> distance;
    std::string name;
  };
  std::unordered_map<uint32_t, Nearest> nearest;
  for (const Module& module : modules_) {
    if (!paths.reached(module.object)) continue;
    if (!chains.ready()) break;
    const uint32_t registers = graph_.find(attributes_.find(graph_.object(module.object), "_parameters"));
    if (registers == kNoObject) continue;
    const Chain chain = chains.of(module.object);
    const std::tuple distance(chain.steps, paths.depth(registers), registers);
    each_entry(gil_, graph_.object(registers), [&](Object* key, Object* value) {
      const uint32_t parameter = graph_.find(value);
      if (parameter == kNoObject) return true;
      if (limits_.reached()) return false;
      const auto [known, fresh] = nearest.try_emplace(parameter);
      if (!fresh && known->second.distance <= distance) return true;
      known->second = {distance, chain.text + "." + std::string(text_of(gil_, key))};
      return true;
    });
  }
  for (auto& [parameter, place] : nearest) chains.call(parameter, std::move(place.name));
}

// The globals of other modules than the main script with their module's name; a variable `self` as its class.
std::string ModuleTree::path(const Chain& chain) const {
  if (chain.root == ReferenceRoot::global && !chain.main) return chain.scope + "." + chain.text;
  const std::string_view text = chain.text;
  if (chain.root == ReferenceRoot::local && text.starts_with("self") && !is_identifier(text.substr(0, 5))) {
    return short_class_name(gil_, graph_.object(chain.root_object)) + chain.text.substr(4);
  }
  if (chain.root == ReferenceRoot::local && text == "self")
    return short_class_name(gil_, graph_.object(chain.root_object));
  return chain.text;
}

void ModuleTree::name(Chains& chains, const ObjectPaths& paths, std::vector<ModuleName>& names) const {
  for (const Module& module : modules_) {
    if (!chains.ready()) return;
    Object* object = graph_.object(module.object);
    const std::string type = short_class_name(gil_, object);
    const std::string* called = chains.called(module.object);
    std::string name = paths.reached(module.object) ? path(chains.of(module.object)) : called ? *called : type;
    names.push_back({uint64_t(reinterpret_cast<uintptr_t>(object)), std::move(name), type});
  }
}

}  // namespace tensorscope::python::heap_inspector
