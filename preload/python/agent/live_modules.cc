#include "python/agent/live_modules.h"

#include <algorithm>
#include <utility>

#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {

constexpr size_t kObjectsPerClockReading = 4096;

// What gc's visitor and the walk over gc.get_objects() share.
struct Search {
  const Gil& gil;
  Object* module_class;
  Deadline deadline;
  std::vector<Object*> found;
  size_t seen = 0;
  bool complete = true;
  const char* trouble = "";

  // gc has stopped collections for this walk, which it must end itself.
  bool look(Object* object) {
    if (is_a(gil, object, module_class)) complete = run_if_memory_lasts([&] { found.push_back(object); });
    if (!complete) {
      trouble = "there was not enough memory";
    } else if (++seen % kObjectsPerClockReading == 0 && deadline.passed()) {
      complete = false;
      trouble = "the time was up before all objects were looked at";
    }
    return complete;
  }
};

}  // namespace

Object* LiveModules::module_class(const Gil& gil) {
  Object* found = entry(gil, module_globals(gil, "torch.nn.modules.module"), "Module");
  return found && is_a(gil, found, gil->PyType_Type) ? found : nullptr;
}

bool LiveModules::list(const Gil& gil, Object* module_class, Deadline deadline, const char*& detail) {
  Search search{gil, module_class, deadline, {}};
  if (gil->PyUnstable_GC_VisitObjects) {
    auto visit = [](Object* object, void* context) { return int(static_cast<Search*>(context)->look(object)); };
    gil->PyUnstable_GC_VisitObjects(visit, &search);
  } else {
    Object* get_objects = builtin_function(gil, "gc", "get_objects");
    const Owned objects(gil, get_objects ? gil->PyObject_CallFunctionObjArgs(get_objects, nullptr) : nullptr);
    if (!objects) {
      detail = "the program's gc module cannot be used";
      return false;
    }
    each_element(gil, objects.get(), [&](ptrdiff_t, Object* object) { return search.look(object); });
  }
  std::sort(search.found.begin(), search.found.end());
  for (Object* object : search.found) add(object);
  detail = search.trouble;
  return search.complete;
}

void LiveModules::add(Object* object) {
  if (!index_.emplace(object, all.size()).second) return;
  LiveModule module;
  module.object = object;
  all.push_back(std::move(module));
}

// The dict of a module is there since its __init__; PyObject_GenericGetDict() reads the slot that the class's layout
// gives, past any property named __dict__.
void LiveModules::read_children(const Gil& gil, Object* module_class, size_t index) {
  const Owned own(gil, gil->PyObject_GenericGetDict(all[index].object, nullptr));
  each_entry(gil, entry(gil, own.get(), "_modules"), [&](Object* key, Object* value) {
    if (!is_a(gil, value, module_class)) return true;
    add(value);  // new where gc.freeze() has hidden it
    const size_t child = index_.at(value);
    const std::string_view name = text_of(gil, key);
    all[index].children.push_back({name.empty() ? "?" : std::string(name), child});
    all[child].child = true;
    return true;
  });
}

bool LiveModules::read(const Gil& gil, Object* module_class, Deadline deadline, const char*& detail) {
  bool complete = list(gil, module_class, deadline, detail);
  for (size_t i = 0; i < all.size(); ++i) read_children(gil, module_class, i);
  return complete;
}

LiveModule* LiveModules::find(const Object* object) {
  const auto found = index_.find(object);
  return found == index_.end() ? nullptr : &all[found->second];
}

void LiveModules::name_tree(LiveModule& root, std::string path) {
  root.path = std::move(path);
  std::vector<size_t> level = {index_.at(root.object)};
  for (size_t i = 0; i < level.size(); ++i) {
    const LiveModule& parent = all[level[i]];
    for (const LiveModule::Child& child : parent.children) {
      if (!all[child.index].path.empty()) continue;
      all[child.index].path = parent.path + "." + child.name;
      level.push_back(child.index);
    }
  }
}

}  // namespace tensorscope::python::agent
