// SPDX-License-Identifier: Apache-2.0
// An instance's own attributes, read where the interpreter keeps them: in its __dict__, in the values that CPython
// 3.11 and later keep in or beside the instance without one, and in slots. No __dict__ is made on the way.
//
// Context: heap inspector. All references are borrowed.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/interpreter.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector, once, before the first look. Makes instances of a class of our own and compares what is read
// of them with what they were given. On a mismatch attributes stay unread permanently. May give the GIL up meanwhile.
bool check_attributes(const Gil& gil);

// The instance's __dict__ where it has one already, else null.
Object* own_dict(const Gil& gil, const Object* instance);

class Attributes {
 public:
  explicit Attributes(const Gil& gil) : gil_(gil) {}

  // Calls f(name, value) for each attribute that is in no __dict__, until f returns false.
  template <typename F>
  void each_outside_dict(const Object* instance, F f) {
    if (const char* values = inline_values(instance)) {
      const std::vector<std::string_view>& names = shared_names(type_of(instance));
      for (size_t i = 0; i < names.size(); ++i) {
        if (Object* value = field<Object*>(values, ptrdiff_t(i * sizeof(Object*))); value && !f(names[i], value))
          return;
      }
    }
    for (const Object* type = type_of(instance); type; type = base_of(type)) {
      const char* member = members_of(type);
      for (; member && field<const char*>(member, 0); member += kMemberBytes) {
        const int kind = field<int>(member, 8);
        if (kind != kObjectMember && kind != kObjectMemberOrError) continue;
        Object* value = field<Object*>(instance, field<ptrdiff_t>(member, 16));
        if (value && !f(std::string_view(field<const char*>(member, 0)), value)) return;
      }
    }
  }

  // Every attribute, until f returns false.
  template <typename F>
  void each(const Object* instance, F f) {
    bool more = true;
    each_entry(gil_, own_dict(gil_, instance), [&](Object* key, Object* value) {
      return more = !has_flag(key, type_flags::kText) || f(text_of(gil_, key), value);
    });
    if (more) each_outside_dict(instance, f);
  }

  Object* find(const Object* instance, std::string_view name);

  // From here on, reference chains to this attribute's value contain the instance, whatever variable also holds it.
  // Returns the value's number, kNoObject where there is none.
  uint32_t lead(const ObjectGraph& graph, uint32_t instance, std::string_view name, ObjectPaths& paths);

 private:
  static constexpr ptrdiff_t kMemberBytes = 40;    // PyMemberDef
  static constexpr int kObjectMember = 6;          // T_OBJECT
  static constexpr int kObjectMemberOrError = 16;  // T_OBJECT_EX

  const char* inline_values(const Object* instance) const;
  const std::vector<std::string_view>& shared_names(const Object* type);

  const Gil& gil_;
  std::unordered_map<const Object*, std::vector<std::string_view>> names_;
};

}  // namespace tensorscope::python::heap_inspector
