// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/opaque_rows.h"

#include <string>
#include <unordered_set>

#include "python/heap_inspector/graph/type_fields.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr size_t kMostOpaqueRows = 32, kMostLookedAt = 1 << 14;
constexpr int kDeepestAttribute = 4;
constexpr ptrdiff_t kFewEntries = 8;

class OpaqueRows {
 public:
  OpaqueRows(const Gil& gil, Kinds& kinds, const ObjectGraph& graph, Attributes& attributes, Beginnings& beginnings,
             LookLimits& limits, References& out)
      : gil_(gil),
        kinds_(kinds),
        graph_(graph),
        attributes_(attributes),
        beginnings_(beginnings),
        limits_(limits),
        out_(out) {}

  void look(const OwnVariable& variable, Object* value, const std::string& text, int depth) {
    if (rows_ == kMostOpaqueRows || seen_.size() == kMostLookedAt || limits_.reached()) return;
    const Kind kind = kinds_.of_type(type_of(value));
    if (kind == Kind::cell) {  // of a variable that an inner function has, too
      Object* const content = field<Object*>(value, 16);
      return content ? look(variable, content, text, depth) : void();
    }
    if (!seen_.insert(value).second) return;
    if (is_cpp_kind(kind)) return write(variable, value, text);
    if (depth == kDeepestAttribute) return;
    const auto look_at_attribute = [&](std::string_view name, Object* attribute) {
      look(variable, attribute, text + "." + std::string(name), depth + 1);
      return true;
    };
    if (kind == Kind::thread_local_values) {
      each_dict_of_threads(value, [&](Object* dict) { each_named(dict, look_at_attribute); });
    } else if (kind == Kind::other && has_flag(value, type_flags::kHeapType)) {
      attributes_.each(value, look_at_attribute);
    } else if (depth > 0 && (kind == Kind::list || kind == Kind::tuple) && size_of_variable(value) <= kFewEntries) {
      each_element(gil_, value, [&](ptrdiff_t index, Object* element) {
        look(variable, element, text + "[" + std::to_string(index) + "]", depth + 1);
        return true;
      });
    } else if (depth > 0 && kind == Kind::dict && size_of_variable(value) <= kFewEntries) {
      each_named(value, [&](std::string_view key, Object* entry) {
        look(variable, entry, text + "['" + std::string(key) + "']", depth + 1);
        return true;
      });
    }
  }

 private:
  template <typename F>
  void each_named(Object* dict, F f) {
    each_entry(gil_, dict, [&](Object* key, Object* value) {
      return !has_flag(key, type_flags::kText) || f(text_of(gil_, key), value);
    });
  }

  // A threading.local refers to a dict of its threads' dicts (Modules/_threadmodule.c, local_traverse, 3.8 to 3.15).
  template <typename F>
  void each_dict_of_threads(Object* local, F f) {
    const uint32_t number = graph_.find(local);
    if (number == kNoObject) return;
    for (const uint32_t child : graph_.references(number)) {
      if (graph_.kind(child) != Kind::dict) continue;
      each_entry(gil_, graph_.object(child), [&](Object*, Object* value) {
        if (kinds_.of_type(type_of(value)) == Kind::dict) f(value);
        return true;
      });
    }
  }

  void write(const OwnVariable& variable, Object* value, const std::string& text) {
    if (out_.strings.full()) return;
    const uint32_t type = out_.strings.intern(short_name_of_class(gil_, type_of(value)));
    out_.containers.emplace_back(0, 0, 1, out_.strings.intern(text), out_.strings.intern(variable.scope), type, 0, type,
                                 beginnings_.row_of_call(variable.root, variable.call), 0, variable.root);
    ++rows_;
  }

  const Gil& gil_;
  Kinds& kinds_;
  const ObjectGraph& graph_;
  Attributes& attributes_;
  Beginnings& beginnings_;
  LookLimits& limits_;
  References& out_;
  std::unordered_set<const Object*> seen_;
  size_t rows_ = 0;
};

}  // namespace

void write_opaque_rows(const Gil& gil, Kinds& kinds, const ObjectGraph& graph, const Roots& roots,
                       Attributes& attributes, Beginnings& beginnings, LookLimits& limits, References& out) {
  OpaqueRows rows(gil, kinds, graph, attributes, beginnings, limits, out);
  roots.each_own_variable([&](const OwnVariable& variable) { rows.look(variable, variable.value, variable.name, 0); });
}

}  // namespace tensorscope::python::heap_inspector
