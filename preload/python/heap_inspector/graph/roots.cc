// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/roots.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "python/heap_inspector/graph/cycles.h"
#include "python/heap_inspector/graph/exit_functions.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/heap_inspector/naming/main_script.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::ReferenceRoot;

constexpr size_t kNamedMembers = 5;  // of a cycle

std::string text_entry(const Gil& gil, Object* dict, const char* name) {
  Object* value = entry(gil, dict, name);
  return std::string(text_of(gil, value));
}

// Where distributions and virtual environments put what is not the program's own.
bool is_library(std::string_view file) {
  return file.empty() || file.find("-packages/") != file.npos || file.find("/lib/python3") != file.npos;
}

}  // namespace

uint32_t Roots::find(const void* object) const {
  return object ? graph_.find(static_cast<const Object*>(object)) : kNoObject;
}

void Roots::add(uint32_t object, ReferenceRoot kind, std::string name, std::string scope, uint32_t node,
                uint32_t call) {
  if (object != kNoObject) paths_.add({object, kind, std::move(name), std::move(scope), node, false, call});
}

bool Roots::run(const std::vector<bool>& reachable, bool whole) {
  find_modules();
  find_classes(reachable);
  close_namespaces(reachable);
  return main_globals() && module_globals_of(false) && classes_of(false) && running_functions_of(false) &&
         module_globals_of(true) && classes_of(true) && running_functions_of(true) && contexts() && kept_for_exit() &&
         paths_.spread_to_classes() && autograd_nodes() &&
         (!whole || (evaluations() && held_outside() && garbage(reachable)));
}

void Roots::find_modules() {
  Object* main = module_globals(gil_, "__main__");
  each_entry(gil_, gil_->PyImport_GetModuleDict(), [&](Object* key, Object* module) {
    if (!is_a(gil_, module, gil_->PyModule_Type)) return true;
    Object* globals = gil_->PyModule_GetDict(module);
    if (globals && globals != main) {
      modules_.push_back({globals, std::string(text_of(gil_, key)), is_library(text_entry(gil_, globals, "__file__"))});
    }
    return true;
  });
}

// Modules, classes and the ctx of autograd nodes are roots of their own: nobody would write a chain that contains
// them from elsewhere.
void Roots::close_namespaces(const std::vector<bool>& reachable) {
  const auto close = [&](const void* object) {
    if (const uint32_t found = find(object); found != kNoObject) paths_.close(found);
  };
  close(module_globals(gil_, "__main__"));
  for (const PythonModule& module : modules_) close(module.globals);
  // Every thread that runs is in there: what it has is named by what it runs.
  if (Object* threading = module_globals(gil_, "threading")) close(entry(gil_, threading, "_active"));
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (!reachable[i]) continue;
    if (graph_.kind(i) == Kind::module) close(gil_->PyModule_GetDict(graph_.object(i)));
    if (graph_.kind(i) == Kind::module) paths_.close(i);
  }
  for (const PythonClass& each : classes_) {
    if (each.in_namespace) paths_.close(each.object);
  }
  if (!seeds_) return;
  for (const torch::GraphSeeds::Node& node : seeds_->nodes) {
    if (limits_.reached()) return;
    if (const uint32_t object = object_of(node); object != kNoObject && is_ctx(object)) paths_.close(object);
  }
}

bool Roots::main_globals() {
  Object* globals = module_globals(gil_, "__main__");
  main_scope_ = main_script(gil_);
  if (const uint32_t object = find(globals); object != kNoObject) {
    paths_.add({object, ReferenceRoot::global, "", main_scope_, UINT32_MAX, true, 0});
  }
  return paths_.spread();
}

// Cells of a function come first: what is in one has a variable's name, before any container that a variable refers to.
bool Roots::running_functions_of(bool library) {
  for (uint32_t call = 1; call <= frames_.size(); ++call) {
    const Frame& frame = frames_[call - 1];
    const FunctionFacts* facts = functions_.of(frame.code);
    if (!facts || is_library(facts->file) != library) continue;
    for (const bool cells : {true, false}) {
      for (size_t i = 0; i < facts->variables.size(); ++i) {
        Object* value = slot_of(gil_, frame, i);
        const uint32_t object = find(value);
        if (object == kNoObject || (graph_.kind(object) == Kind::cell) != cells) continue;
        if (graph_.kind(object) == Kind::type) continue;  // has the same name when the function has returned
        const std::string& name = facts->variables[i];
        if (graph_.kind(object) == Kind::tensor) locals_.push_back({object, false, name, facts->name, call});
        add(object, ReferenceRoot::local, name, facts->name, UINT32_MAX, call);
      }
    }
    if (!paths_.spread()) return false;
  }
  return true;
}

bool Roots::module_globals_of(bool library) {
  for (const PythonModule& module : modules_) {
    if (module.library == library) add(find(module.globals), ReferenceRoot::global, "", module.name);
  }
  if (library) {  // modules that are in sys.modules no more
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (graph_.kind(i) != Kind::module || limits_.reached()) continue;
      Object* globals = gil_->PyModule_GetDict(graph_.object(i));
      add(find(globals), ReferenceRoot::global, "", text_entry(gil_, globals, "__name__"));
    }
  }
  return paths_.spread();
}

void Roots::each_own_variable(FunctionRef<void(const OwnVariable&)> f) const {
  const auto each_global = [&](Object* globals, const std::string& scope) {
    each_entry(gil_, globals, [&](Object* name, Object* value) {
      f({value, std::string(text_of(gil_, name)), scope, ReferenceRoot::global, 0});
      return true;
    });
  };
  each_global(module_globals(gil_, "__main__"), main_scope_);
  for (const PythonModule& module : modules_) {
    if (!module.library) each_global(module.globals, module.name);
  }
  for (uint32_t call = 1; call <= frames_.size(); ++call) {
    const FunctionFacts* facts = functions_.of(frames_[call - 1].code);
    if (!facts || is_library(facts->file)) continue;
    for (size_t i = 0; i < facts->variables.size(); ++i) {
      if (Object* value = slot_of(gil_, frames_[call - 1], i))
        f({value, facts->variables[i], facts->name, ReferenceRoot::local, call});
    }
  }
}

// Classes that a module has, and those within them: what a function made is in none.
std::vector<bool> Roots::types_in_namespaces() const {
  std::vector<bool> types(graph_.size());
  std::vector<Object*> namespaces = {module_globals(gil_, "__main__")};
  for (const PythonModule& module : modules_) namespaces.push_back(module.globals);
  while (!namespaces.empty() && !limits_.reached()) {
    Object* const dict = namespaces.back();
    namespaces.pop_back();
    each_entry(gil_, dict, [&](Object*, Object* value) {
      const uint32_t object = find(value);
      if (object == kNoObject || graph_.kind(object) != Kind::type || types[object]) return true;
      types[object] = true;
      if (flags_of(value) & type_flags::kHeapType) namespaces.push_back(class_dict_of(value));
      return true;
    });
  }
  return types;
}

// The name of a class's module is looked for in all of its attributes: once.
void Roots::find_classes(const std::vector<bool>& reachable) {
  std::unordered_set<std::string_view> own = {"__main__"};
  for (const PythonModule& module : modules_) {
    if (!module.library) own.insert(module.name);
  }
  const std::vector<bool> in_namespace = types_in_namespaces();
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.kind(i) != Kind::type || !reachable[i] || limits_.reached()) continue;
    Object* type = graph_.object(i);
    std::string module = text_entry(gil_, class_dict_of(type), "__module__");
    const bool library = !own.contains(module);
    classes_.push_back({i, std::move(module), library, in_namespace[i]});
  }
  std::map<std::pair<std::string_view, std::string_view>, PythonClass*> of_name;
  for (PythonClass& each : classes_) {
    if (each.in_namespace) continue;
    const std::string_view name = short_name_of_class(gil_, graph_.object(each.object));
    const auto [found, fresh] = of_name.try_emplace({each.module, name}, &each);
    if (!fresh) each.several = found->second->several = true;
  }
}

// What a function made comes after all globals, which may have it in a container.
bool Roots::classes_of(bool library) {
  for (const PythonClass& each : classes_) {
    const bool last = each.library || !each.in_namespace;
    if (last != library || each.several || limits_.reached()) continue;
    add(each.object, ReferenceRoot::class_, short_name_of_class(gil_, graph_.object(each.object)),
        each.module == "__main__" ? main_scope_ : each.module);
  }
  return paths_.spread();
}

// What a thread's state holds; another context is kept by a variable or by what runs in it.
bool Roots::contexts() {
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.kind(i) != Kind::context || graph_.outside_references(i) == 0 || limits_.reached()) continue;
    add(i, ReferenceRoot::thread, "", "context variable");
  }
  return paths_.spread();
}

bool Roots::kept_for_exit() {
  for (const ExitFunction& each : exit_functions(gil_, graph_)) {
    add(each.function, ReferenceRoot::global, each.name, "atexit");
    add(each.arguments, ReferenceRoot::global, each.name + ".args", "atexit");
    add(each.keywords, ReferenceRoot::global, each.name + ".kwargs", "atexit");
  }
  return paths_.spread();
}

// An address is used only where it is an object that is there now, and which has the node's address in one of its
// fields (cdata of THPCppFunction and THPFunction, torch/csrc/autograd/python_cpp_function.h and python_function.h).
uint32_t Roots::object_of(const torch::GraphSeeds::Node& node) const {
  const uint32_t object = find(reinterpret_cast<const void*>(node.object));
  return object != kNoObject && has_word(graph_.object(object), node.address) ? object : kNoObject;
}

// Made by a class statement: the ctx of a custom Function. Else what tensor.grad_fn returned.
bool Roots::is_ctx(uint32_t object) const { return has_flag(graph_.object(object), type_flags::kHeapType); }

bool Roots::autograd_nodes() {
  if (!seeds_) return true;
  for (const torch::GraphSeeds::Node& node : seeds_->nodes) {
    if (limits_.reached()) break;
    const uint32_t object = object_of(node);
    if (object == kNoObject) continue;
    add(object, ReferenceRoot::node, is_ctx(object) ? "ctx" : "grad_fn", short_class_name(gil_, graph_.object(object)),
        node.number);
  }
  for (const torch::GraphSeeds::Packed& packed : seeds_->packed) {
    add(find(reinterpret_cast<const void*>(packed.data)), ReferenceRoot::node, "packed", "", packed.node);
    add(find(reinterpret_cast<const void*>(packed.pack_hook)), ReferenceRoot::node, "pack_hook", "", packed.node);
    add(find(reinterpret_cast<const void*>(packed.unpack_hook)), ReferenceRoot::node, "unpack_hook", "", packed.node);
  }
  for (const torch::GraphSeeds::Hook& hook : seeds_->hooks) {
    add(find(reinterpret_cast<const void*>(hook.dictionary)), ReferenceRoot::node, "hooks", "", hook.node);
  }
  return paths_.spread();
}

// Whether it has a reference that nothing else explains.
bool Roots::held_by_c_code(uint32_t object) const {
  const bool kept = graph_.kind(object) == Kind::tensor && tensors_.cpp_keeps(graph_.object(object));
  return graph_.outside_references(object) > int64_t(kept);
}

// The values that an evaluation works with (a for loop's iterator, an argument) lie after the variables. Words beyond
// them are left over from earlier ones. How far the values reach is not always written down, so a word counts only
// where it is an object with a reference that nothing else explains.
bool Roots::evaluations() {
  for (uint32_t call = 1; call <= frames_.size() && !limits_.reached(); ++call) {
    const Frame& frame = frames_[call - 1];
    const FunctionFacts* facts = functions_.of(frame.code);
    if (!facts) continue;
    const size_t first = facts->variables.size();
    for (size_t i = first; i < end_of_values(frame, *facts); ++i) {
      const uint32_t object = find(slot_of(gil_, frame, i));
      if (object == kNoObject || !paths_.unreached(object) || !held_by_c_code(object)) continue;
      const std::string name = std::string("<") + short_class_name(gil_, graph_.object(object)) + ">";
      if (graph_.kind(object) == Kind::tensor) locals_.push_back({object, true, name, facts->name, call});
      add(object, ReferenceRoot::local, name, facts->name, UINT32_MAX, call);
    }
  }
  return paths_.spread();
}

// First what can be named.
bool Roots::held_outside() {
  for (const bool named : {true, false}) {
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!paths_.unreached(i) || graph_.outside_references(i) == 0 || limits_.reached()) continue;
      const Kind kind = graph_.kind(i);
      const bool can_be_named = kind == Kind::exception || kind == Kind::traceback || kind == Kind::generator;
      if (can_be_named != named) continue;
      const char* type = short_class_name(gil_, graph_.object(i));
      const ReferenceRoot root = kind == Kind::exception || kind == Kind::traceback ? ReferenceRoot::thread
                                 : kind == Kind::generator                          ? ReferenceRoot::suspended
                                                                                    : ReferenceRoot::extension;
      add(i, root, named ? "" : type, type);
    }
    if (!paths_.spread()) return false;
  }
  return true;
}

bool Roots::garbage(const std::vector<bool>& reachable) {
  for (const std::vector<uint32_t>& members : root_cycles(graph_, reachable, limits_)) {
    std::vector<std::string> types;
    uint32_t first = members[0];
    for (const uint32_t member : members) {
      Object* object = graph_.object(member);
      const bool instance = has_flag(object, type_flags::kHeapType);
      if (instance && !has_flag(graph_.object(first), type_flags::kHeapType)) first = member;
      std::string type = short_class_name(gil_, object);
      const auto found = std::find(types.begin(), types.end(), type);
      if (found == types.end() && types.size() <= kNamedMembers)
        types.insert(instance ? types.begin() : types.end(), type);
    }
    std::string scope;
    for (size_t i = 0; i < types.size() && i < kNamedMembers; ++i) scope += (i > 0 ? ", " : "") + types[i];
    if (types.size() > kNamedMembers) scope += ", ...";
    add(first, ReferenceRoot::cycle, short_class_name(gil_, graph_.object(first)), scope);
  }
  return paths_.spread();
}

}  // namespace tensorscope::python::heap_inspector
