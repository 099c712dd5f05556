// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/slot_names.h"

#include <string_view>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {
// The properties of a saved tensor or list of them are "_saved_self" and "_raw_saved_self"; a saved number has the
// first alone (tools/autograd/gen_autograd_functions.py).
constexpr std::string_view kPrefix = "_raw_saved_";
constexpr ptrdiff_t kPropertyBytes = 40;  // PyGetSetDef (Include/descrobject.h)
}  // namespace

void find_slot_names(const Gil& gil, References& references) {
  Object* functions = entry(gil, module_globals(gil, "torch._C"), "_functions");
  if (!functions || !is_a(gil, functions, gil->PyModule_Type)) return;
  each_entry(gil, gil->PyModule_GetDict(functions), [&](Object*, Object* type) {
    if (!has_flag(type, type_flags::kType) || (flags_of(type) & type_flags::kHeapType) != 0) return true;
    uint16_t ordinal = 0;
    uint32_t class_name = 0;
    const char* property = properties_of(type);
    for (; property && field<const char*>(property, 0); property += kPropertyBytes) {
      const std::string_view name = field<const char*>(property, 0);
      if (!name.starts_with(kPrefix)) continue;
      if (class_name == 0) class_name = references.strings.intern(short_name_of_class(gil, type));
      references.slots.emplace_back(class_name, references.strings.intern(name.substr(kPrefix.size())), ordinal++);
    }
    return true;
  });
}

}  // namespace tensorscope::python::heap_inspector
