// SPDX-License-Identifier: Apache-2.0
// The torch.nn modules of the program by their paths, named as the names in dumps are: the heap inspector looks once at
// the whole program when a module is called that it does not know, and again (a bounded number of times) when another
// one comes.
//
// Context: with the GIL, which is the lock; under run_or_abandon_on_oom().
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/interpreter.h"
#include "tensorscope/rules/watch_spec.h"
#include "torch_events/module_calls.h"

namespace tensorscope::watch {

using python::Gil;
using python::Object;

// What one watch wants of a module's calls: all that it returns (or is given), or only what lies at some path within.
struct Wanted {
  uint32_t watch;
  bool whole;
};

struct WatchedModule : torch_events::CalledModule {
  Object* reference = nullptr;  // a weak one
  std::string path;
  std::vector<std::string> segments, own_segments;  // own: without those of wrappers (rules/wrapper_paths.h)
  std::vector<Wanted> outputs, inputs;
  std::vector<uint32_t> operations, not_operations;  // watches of what runs within; those that leave it out
  // Of its own parameters and buffers: watch, name, what of it.
  struct Attribute {
    uint32_t watch;
    std::string name;
    rules::WatchOf of;
    uint32_t name_id;
  };
  std::vector<Attribute> attributes;
  std::vector<std::string> looked_at;                   // names of its parameters and buffers
  std::vector<std::pair<std::string, uint32_t>> names;  // of what it returned: way to text
  bool is_wrapped = false;                              // it has its wrapper's own path, which stands for the wrapper
  bool own_is_other() const { return segments.size() != own_segments.size(); }
  bool is_watched() const { return !outputs.empty() || !inputs.empty(); }
};

// How the pattern matches a path as it is or without wrappers, the better of both. `behind`: what follows the module.
rules::PathMatch match_module(const rules::WatchSpec& watch, const WatchedModule& module,
                              const std::vector<std::string>& behind = {});
bool excludes_module(const rules::WatchSpec& watch, const WatchedModule& module,
                     const std::vector<std::string>& behind = {});

class ModulePaths {
 public:
  explicit ModulePaths(const std::vector<rules::WatchSpec>& watches);

  WatchedModule* known(const Gil& gil, Object* module) const;

  // Null: no memory. `caller`: the module whose call is running, or null. May look at the whole program.
  WatchedModule* of(const Gil& gil, Object* module, const WatchedModule* caller);

  // Those that have parameters, buffers or gradients that are watched, and are alive.
  template <typename F>
  void each_with_attributes(const Gil& gil, F f) {
    for (const auto& [object, module] : modules_) {
      if (module->attributes.empty()) continue;
      Object* alive = gil->PyWeakref_GetObject(module->reference);
      if (alive && alive != gil->_Py_NoneStruct) f(alive, *module);
    }
  }
  // Finds the parameters and buffers of modules that were added or given new ones.
  void look_for_attributes(const Gil& gil);
  bool wants_attributes() const { return attribute_watches_ != 0; }

  // Watches that nothing has matched, with the nearest paths that there are.
  bool matched(uint32_t watch) const { return matched_[watch]; }
  void mark_matched(uint32_t watch) { matched_[watch] = true; }
  std::vector<std::string> nearest(const std::string& path) const;

 private:
  WatchedModule* add(const Gil& gil, Object* module, std::string path, std::string class_name);
  void name_children(const Gil& gil, Object* module, const std::string& path, int depth);
  bool look_at_program(const Gil& gil);
  void find_own_segments(WatchedModule& module) const;
  void choose(WatchedModule& module) const;
  void settle(const WatchedModule& module);
  void find_attributes(const Gil& gil, Object* object, WatchedModule& module);

  const std::vector<rules::WatchSpec>& watches_;
  std::unordered_map<const Object*, std::unique_ptr<WatchedModule>> modules_;
  std::unordered_map<std::string, int> numbers_;
  std::set<std::vector<std::string>> wrappers_;  // whose child is `module`
  std::vector<bool> matched_;
  int looks_ = 0;
  std::vector<bool> may_name_attribute_;  // of the watches
  size_t attribute_watches_ = 0;
};

}  // namespace tensorscope::watch
