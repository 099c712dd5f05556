// SPDX-License-Identifier: Apache-2.0
#include "watch/module_paths.h"

#include <algorithm>
#include <utility>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/program_objects.h"
#include "python/objects.h"
#include "tensor_values/nearest.h"
#include "tensorscope/rules/wrapper_paths.h"
#include "values_file/value_store.h"

namespace tensorscope::watch {

namespace {

using python::each_entry;
using python::text_of;
using rules::is_excluded;
using rules::match_path;
using rules::PathMatch;
using rules::WatchOf;
using rules::WatchSpec;
using values_file::text_id;

constexpr int kMaxLooks = 8;
constexpr unsigned kLookMs = 3000;
constexpr int kDeepestModule = 64;

bool ends_in_any(const std::vector<std::string>& pattern) { return pattern.back() == "*" || pattern.back() == "**"; }

bool may_name_attribute(const WatchSpec& watch) {
  return (watch.of >= WatchOf::parameters && watch.of <= WatchOf::optimizer_state) ||
         (watch.of == WatchOf::automatic && !ends_in_any(watch.pattern));
}

std::vector<std::string> joined(std::vector<std::string> path, const std::vector<std::string>& behind) {
  path.insert(path.end(), behind.begin(), behind.end());
  return path;
}

}  // namespace

PathMatch match_module(const WatchSpec& watch, const WatchedModule& module, const std::vector<std::string>& behind) {
  const PathMatch raw = match_path(watch.pattern, joined(module.segments, behind));
  if (raw == PathMatch::whole || !module.own_is_other() || (module.is_wrapped && behind.empty())) return raw;
  return std::max(raw, match_path(watch.pattern, joined(module.own_segments, behind)));
}

bool excludes_module(const WatchSpec& watch, const WatchedModule& module, const std::vector<std::string>& behind) {
  return is_excluded(watch, joined(module.segments, behind)) ||
         (module.own_is_other() && is_excluded(watch, joined(module.own_segments, behind)));
}

ModulePaths::ModulePaths(const std::vector<WatchSpec>& watches) : watches_(watches), matched_(watches.size()) {
  for (const WatchSpec& watch : watches) {
    may_name_attribute_.push_back(may_name_attribute(watch));
    attribute_watches_ += may_name_attribute_.back();
  }
}

// A path without wildcards that names a module names no parameter.
void ModulePaths::settle(const WatchedModule& module) {
  for (const Wanted& wanted : module.outputs) {
    const WatchSpec& watch = watches_[wanted.watch];
    if (!wanted.whole || watch.of != WatchOf::automatic || watch.path.find('*') != std::string::npos) continue;
    attribute_watches_ -= may_name_attribute_[wanted.watch];
    may_name_attribute_[wanted.watch] = false;
  }
}

WatchedModule* ModulePaths::known(const Gil& gil, Object* module) const {
  const auto found = modules_.find(module);
  if (found == modules_.end() || gil->PyWeakref_GetObject(found->second->reference) != module) return nullptr;
  return found->second.get();
}

WatchedModule* ModulePaths::of(const Gil& gil, Object* module, const WatchedModule* caller) {
  if (WatchedModule* there = known(gil, module)) return there;
  if (looks_ < kMaxLooks) {
    ++looks_;
    look_at_program(gil);
    if (WatchedModule* there = known(gil, module)) return there;
  }
  std::string class_name = python::class_name(gil, module);
  std::string path = class_name + "@" + std::to_string(++numbers_[class_name]);
  if (caller) path = caller->path + "." + path;
  add(gil, module, path, std::move(class_name));
  name_children(gil, module, path, 0);
  return known(gil, module);
}

WatchedModule* ModulePaths::add(const Gil& gil, Object* module, std::string path, std::string class_name) {
  auto made = std::make_unique<WatchedModule>();
  made->segments = rules::path_segments(path);
  if (rules::wraps_as_module(class_name)) wrappers_.insert(made->segments);
  find_own_segments(*made);
  made->path_id = text_id(path);
  made->class_id = text_id(class_name);
  made->path = std::move(path);
  made->class_name = std::move(class_name);
  choose(*made);
  made->reference = gil->PyWeakref_NewRef(module, nullptr);
  if (!made->reference) {
    gil->PyErr_Clear();
    return nullptr;
  }
  std::unique_ptr<WatchedModule>& place = modules_[module];
  if (place) gil->Py_DecRef(place->reference);
  place = std::move(made);
  settle(*place);
  if (wants_attributes()) find_attributes(gil, module, *place);
  return place.get();
}

void ModulePaths::name_children(const Gil& gil, Object* module, const std::string& path, int depth) {
  python::heap_inspector::Attributes attributes(gil);
  Object* children = depth < kDeepestModule ? attributes.find(module, "_modules") : nullptr;
  each_entry(gil, children, [&](Object* key, Object* child) {
    if (child == gil->_Py_NoneStruct || known(gil, child)) return true;
    const std::string name = path + "." + std::string(text_of(gil, key));
    if (add(gil, child, name, python::class_name(gil, child))) name_children(gil, child, name, depth + 1);
    return true;
  });
}

bool ModulePaths::look_at_program(const Gil& gil) {
  python::Names names;
  python::References references;
  python::ProcessGroups groups;
  python::heap_inspector::look_at_objects(gil, python::Deadline::in_ms(kLookMs), {}, names, references, groups);
  for (const python::ModuleName& each : names.modules) {
    if (rules::wraps_as_module(each.class_name)) wrappers_.insert(rules::path_segments(each.path));
  }
  for (python::ModuleName& each : names.modules) {
    auto* module = reinterpret_cast<Object*>(uintptr_t(each.object));
    if (!known(gil, module)) add(gil, module, std::move(each.path), std::move(each.class_name));
  }
  return !names.modules.empty();
}

void ModulePaths::find_own_segments(WatchedModule& module) const {
  std::vector<std::string> before;
  for (const std::string& segment : module.segments) {
    module.is_wrapped = !before.empty() && (rules::is_wrapper_segment(segment) ||
                                            (segment == "module" && wrappers_.find(before) != wrappers_.end()));
    if (!module.is_wrapped) module.own_segments.push_back(segment);
    before.push_back(segment);
  }
}

void ModulePaths::choose(WatchedModule& module) const {
  for (uint32_t i = 0; i < watches_.size(); ++i) {
    const WatchSpec& watch = watches_[i];
    if (watch.of == WatchOf::operations && excludes_module(watch, module)) module.not_operations.push_back(i);
    if (!watch.class_name.empty() && !rules::segment_matches(watch.class_name, module.class_name)) continue;
    if (watch.of == WatchOf::operations && match_module(watch, module) == PathMatch::whole &&
        !excludes_module(watch, module)) {
      module.operations.push_back(i);
    }
    if (watch.of != WatchOf::automatic && watch.of != WatchOf::outputs && watch.of != WatchOf::inputs) continue;
    const PathMatch match = match_module(watch, module);
    if (match == PathMatch::no || (match == PathMatch::whole && excludes_module(watch, module))) continue;
    (watch.of == WatchOf::inputs ? module.inputs : module.outputs).push_back({i, match == PathMatch::whole});
  }
}

void ModulePaths::find_attributes(const Gil& gil, Object* object, WatchedModule& module) {
  python::heap_inspector::Attributes attributes(gil);
  const auto look = [&](const char* field, WatchOf kind) {
    each_entry(gil, attributes.find(object, field), [&](Object* key, Object* value) {
      const std::string_view text = text_of(gil, key);
      if (text.empty() || value == gil->_Py_NoneStruct) return true;
      if (std::find(module.looked_at.begin(), module.looked_at.end(), text) != module.looked_at.end()) return true;
      const std::string& name = module.looked_at.emplace_back(text);
      const std::vector<std::string> none, path = {name}, gradient = {name, "grad"};
      for (uint32_t i = 0; i < watches_.size(); ++i) {
        const WatchSpec& watch = watches_[i];
        if (!watch.class_name.empty() && !rules::segment_matches(watch.class_name, module.class_name)) continue;
        if (excludes_module(watch, module, path) || excludes_module(watch, module)) continue;
        const auto matches = [&](const std::vector<std::string>& behind) {
          return match_module(watch, module, behind) == PathMatch::whole;
        };
        const auto want = [&](WatchOf of, const char* ending) {
          module.attributes.push_back({i, name, of, text_id(module.path + "." + name + ending)});
        };
        const bool own = matches(path) || matches(none);
        if (watch.of == WatchOf::automatic && may_name_attribute_[i]) {
          if (matches(path)) want(kind, "");
          if (kind == WatchOf::parameters && matches(gradient)) want(WatchOf::gradients, ".grad");
        } else if (watch.of == kind && own) {
          want(kind, "");
        } else if (kind == WatchOf::parameters && (own || matches(gradient)) &&
                   (watch.of == WatchOf::gradients || watch.of == WatchOf::optimizer_state)) {
          want(watch.of, watch.of == WatchOf::gradients ? ".grad" : "");
        }
      }
      return true;
    });
  };
  look("_parameters", WatchOf::parameters);
  look("_buffers", WatchOf::buffers);
}

void ModulePaths::look_for_attributes(const Gil& gil) {
  for (const auto& [object, module] : modules_) {
    Object* alive = gil->PyWeakref_GetObject(module->reference);
    if (alive && alive != gil->_Py_NoneStruct) find_attributes(gil, alive, *module);
  }
}

std::vector<std::string> ModulePaths::nearest(const std::string& path) const {
  std::vector<std::string> names;
  for (const auto& [object, module] : modules_) names.push_back(module->path);
  return tensor_values::nearest_of(path, names);
}

}  // namespace tensorscope::watch
