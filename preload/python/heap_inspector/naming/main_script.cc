// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/main_script.h"

#include <climits>
#include <cstring>
#include <string_view>

#include "python/heap_inspector/graph/attributes.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

// With the GIL, which is the lock. The dictionary identifies the script: a tool like runpy puts another main
// module in its place for a while.
struct KeptScript {
  const Object* globals = nullptr;
  char name[NAME_MAX + 1] = "";
};
constinit KeptScript g_script;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view loaded_file(const Gil& gil, Object* globals) {
  Object* loader = entry(gil, globals, "__loader__");
  if (!loader) return {};
  Attributes attributes(gil);
  return file_name(text_of(gil, attributes.find(loader, "path")));
}

}  // namespace

std::string main_script(const Gil& gil) {
  Object* globals = module_globals(gil, "__main__");
  std::string_view name = file_name(text_of(gil, entry(gil, globals, "__file__")));
  if (name.empty() && globals && globals == g_script.globals) return g_script.name;
  if (name.empty()) name = loaded_file(gil, globals);
  if (name.empty() || name.size() >= sizeof g_script.name) return "__main__";
  g_script.globals = globals;
  memcpy(g_script.name, name.data(), name.size());
  g_script.name[name.size()] = 0;
  return g_script.name;
}

}  // namespace tensorscope::python::heap_inspector
