// Every live torch.nn.Module and its children, read without running any of their code.
//
// Context: agent. All references are borrowed: the GIL is held from the reading to the last use.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/gil_thread.h"
#include "python/interpreter.h"

namespace tensorscope::python::agent {

struct LiveModule {
  struct Child {
    std::string name;
    size_t index;
  };
  Object* object;
  std::string path;  // empty while it has none
  std::vector<Child> children;
  bool child = false;  // of any module
};

class LiveModules {
 public:
  // torch.nn.Module as the program has imported it, or null.
  static Object* module_class(const Gil& gil);

  // False: the time was up, or the objects could not be listed (`detail` says why); what was found is kept.
  bool read(const Gil& gil, Object* module_class, Deadline deadline, const char*& detail);

  // Null: not a module.
  LiveModule* find(const Object* object);

  // Gives a module and whatever is below it and has no path yet their paths.
  void name_tree(LiveModule& root, std::string path);

  std::vector<LiveModule> all;  // in the order of their addresses, then those that only a parent knows

 private:
  bool list(const Gil& gil, Object* module_class, Deadline deadline, const char*& detail);
  void add(Object* object);
  void read_children(const Gil& gil, Object* module_class, size_t index);

  std::unordered_map<const Object*, size_t> index_;
};

}  // namespace tensorscope::python::agent
