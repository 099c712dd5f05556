#include "python/agent/module_names.h"

#include <utility>

#include "python/agent/live_modules.h"
#include "python/agent/root_names.h"
#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {

// No collection of garbage during its lifetime: one would run the program's finalizers. With the GIL held throughout,
// nobody else can have changed the setting in between.
class CollectionPaused : private UndoneScope {
 public:
  explicit CollectionPaused(const Gil& gil) : gil_(gil) {
    const Owned enabled(gil, call("isenabled"));
    was_enabled_ = enabled && gil->PyObject_IsTrue(enabled.get()) == 1;
    if (was_enabled_) const Owned done(gil, call("disable"));
  }
  ~CollectionPaused() { undo(); }

 private:
  void undo() final {
    if (was_enabled_) const Owned done(gil_, call("enable"));
  }
  Object* call(const char* name) {
    Object* function = builtin_function(gil_, "gc", name);
    return function ? gil_->PyObject_CallFunctionObjArgs(function, nullptr) : nullptr;
  }

  const Gil& gil_;
  bool was_enabled_;
};

}  // namespace

void collect_module_names(const Gil& gil, Deadline deadline, Names& names) {
  Object* module_class = LiveModules::module_class(gil);
  names.complete = true;
  if (!module_class) return;  // torch.nn was never imported
  const CollectionPaused paused(gil);
  LiveModules modules;
  names.complete = modules.read(gil, module_class, deadline, names.detail);
  if (!name_roots(gil, modules, deadline) && names.complete) {
    names.complete = false;
    names.detail = "not every holder of modules was looked at (time limit, or very many objects)";
  }
  names.modules.reserve(modules.all.size());
  for (LiveModule& module : modules.all) {
    names.modules.push_back(
        {uint64_t(reinterpret_cast<uintptr_t>(module.object)), std::move(module.path), class_name(gil, module.object)});
  }
}

}  // namespace tensorscope::python::agent
