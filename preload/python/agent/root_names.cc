#include "python/agent/root_names.h"

#include <map>

#include "python/agent/frame_locals.h"
#include "python/agent/holder_search.h"
#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {

class RootNames {
 public:
  RootNames(const Gil& gil, LiveModules& modules, Deadline deadline)
      : gil_(gil), modules_(modules), deadline_(deadline), locals_(running_locals(gil)) {}

  bool run() {
    name_variables();
    bool complete = search(&RootNames::add_variables) && search(&RootNames::add_named_modules);
    roots_only_ = false;  // what is left are modules that only hold each other
    if (any_nameless()) name_variables();
    name_by_class();
    return complete;
  }

 private:
  bool is_nameless(const LiveModule& module) const { return module.path.empty() && !(roots_only_ && module.child); }

  LiveModule* nameless(const Object* object) {
    LiveModule* module = modules_.find(object);
    return module && is_nameless(*module) ? module : nullptr;
  }

  bool any_nameless() const {
    for (const LiveModule& module : modules_.all)
      if (is_nameless(module)) return true;
    return false;
  }

  void name_if_root(const Object* object, std::string name) {
    LiveModule* root = name.empty() ? nullptr : nameless(object);
    if (root) modules_.name_tree(*root, std::move(name));
  }

  void name_variables() {
    name_globals();
    for (const Local& local : locals_) name_if_root(local.object, local.name == "self" ? "" : local.name);
  }

  // Calls f(name, object) for each global of a module that a person would think of.
  template <typename F>
  void each_global(Object* globals, F f) {
    each_entry(gil_, globals, [&](Object* key, Object* value) {
      const std::string_view name = text_of(gil_, key);
      if (!name.empty() && !name.starts_with("__")) f(std::string(name), value);
      return true;
    });
  }

  // Those of the program's main script plainly, any other's after its module's name.
  void name_globals() {
    Object* main = module_globals(gil_, "__main__");
    each_global(main, [&](std::string name, Object* object) { name_if_root(object, std::move(name)); });
    each_entry(gil_, gil_->PyImport_GetModuleDict(), [&](Object* key, Object* module) {
      if (!is_a(gil_, module, gil_->PyModule_Type)) return true;
      Object* globals = gil_->PyModule_GetDict(module);
      if (globals == main) return true;
      each_global(globals, [&](const std::string& name, Object* object) {
        if (nameless(object)) name_if_root(object, std::string(text_of(gil_, key)) + "." + name);
      });
      return true;
    });
  }

  void add_variables(HolderSearch& search) {
    each_global(module_globals(gil_, "__main__"),
                [&](std::string name, Object* object) { search.add_seed(std::move(name), object); });
    for (const Local& local : locals_) {
      search.add_seed(local.name == "self" ? class_name(gil_, local.object) : local.name, local.object);
    }
  }

  // For modules that another module holds in a plain list or attribute, past its register.
  void add_named_modules(HolderSearch& search) {
    for (const LiveModule& module : modules_.all)
      if (!module.path.empty()) search.add_seed(module.path, module.object);
  }

  bool search(void (RootNames::*add_seeds)(HolderSearch&)) {
    if (!any_nameless()) return true;
    HolderSearch search(gil_, deadline_);
    Object* torch = module_globals(gil_, "torch._C");
    Object* tensor = entry(gil_, torch, "TensorBase");
    search.leave_out(tensor ? tensor : entry(gil_, torch, "_TensorBase"));  // the name up to torch 2.0
    (this->*add_seeds)(search);
    return search.run([&](const Object* object) { return nameless(object) != nullptr; },
                      [&](const Object* object, std::string name) { name_if_root(object, std::move(name)); });
  }

  // Roots first.
  void name_by_class() {
    std::map<std::string, int> numbers;
    for (const bool roots_only : {true, false}) {
      roots_only_ = roots_only;
      for (LiveModule& module : modules_.all) {
        if (!is_nameless(module)) continue;
        const std::string name = class_name(gil_, module.object);
        modules_.name_tree(module, name + "@" + std::to_string(++numbers[name]));
      }
    }
  }

  const Gil& gil_;
  LiveModules& modules_;
  Deadline deadline_;
  std::vector<Local> locals_;
  bool roots_only_ = true;
};

}  // namespace

bool name_roots(const Gil& gil, LiveModules& modules, Deadline deadline) {
  return RootNames(gil, modules, deadline).run();
}

}  // namespace tensorscope::python::agent
