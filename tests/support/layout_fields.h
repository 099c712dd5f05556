// SPDX-License-Identifier: Apache-2.0
// A field of the interpreter's layout made wrong, by its name: for tests of what is said then.
#pragma once

#include <cstring>

#include "stacks/python/python_layout.h"

namespace tensorscope::testing {

// The fields of stacks::PythonLayout, each with how it is read and changed as a number.
struct LayoutField {
  const char* name;
  long (*get)(const stacks::PythonLayout&);
  void (*set)(stacks::PythonLayout&, long);
};
#define LAYOUT_FIELD(field)                                                              \
  {                                                                                      \
#field, [](const stacks::PythonLayout& layout) { return long(layout.field); },         \
        [](stacks::PythonLayout& layout, long value) {                                     \
          layout.field = static_cast<decltype(layout.field)>(value);                       \
        } \
  }
inline constexpr LayoutField kLayoutFields[] = {
    LAYOUT_FIELD(style),
    LAYOUT_FIELD(lines),
    LAYOUT_FIELD(instruction_unit),
    LAYOUT_FIELD(first_shim_owner),
    LAYOUT_FIELD(qualified_names),
    LAYOUT_FIELD(thread_frame),
    LAYOUT_FIELD(cframe_frame),
    LAYOUT_FIELD(frame_previous),
    LAYOUT_FIELD(frame_code),
    LAYOUT_FIELD(frame_instruction),
    LAYOUT_FIELD(frame_owner),
    LAYOUT_FIELD(frame_locals),
    LAYOUT_FIELD(code_filename),
    LAYOUT_FIELD(code_name),
    LAYOUT_FIELD(code_first_line),
    LAYOUT_FIELD(code_line_table),
    LAYOUT_FIELD(code_bytecode),
    LAYOUT_FIELD(text_ascii),
    LAYOUT_FIELD(text_other),
    LAYOUT_FIELD(instance_values),
    LAYOUT_FIELD(instance_dict),
    LAYOUT_FIELD(values_pointer),
    LAYOUT_FIELD(type_shared_keys),
    LAYOUT_FIELD(frame_object_frame),
    LAYOUT_FIELD(values_end),
    LAYOUT_FIELD(frame_values_end),
    LAYOUT_FIELD(tagged_integers),
};
#undef LAYOUT_FIELD

inline const LayoutField* g_changed_field = nullptr;
inline long g_changed_to = 0;

// Before the layout is looked for.
inline void change_layout(const char* name, long value) {
  for (const LayoutField& field : kLayoutFields) {
    if (std::strcmp(field.name, name) == 0) g_changed_field = &field;
  }
  g_changed_to = value;
  if (!g_changed_field) return;
  stacks::set_layout_change_for_test([](stacks::PythonLayout& layout) { g_changed_field->set(layout, g_changed_to); });
}

}  // namespace tensorscope::testing
