// SPDX-License-Identifier: Apache-2.0
#include "python/tensors_inside.h"

#include <string_view>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python {

namespace {

using heap_inspector::has_flag;
namespace type_flags = heap_inspector::type_flags;

constexpr int kDeepest = 8;          // structures within structures
constexpr size_t kMaxVisited = 256;  // objects of one structure
constexpr size_t kLongestKey = 60;

class Walk {
 public:
  Walk(const Gil& gil, FoundTensor found) : gil_(gil), found_(found), attributes_(gil) {}

  void walk(const ModuleCall& call) {
    for (ptrdiff_t i = 0; i < call.count; ++i) step(call.arguments[i], 0, "[", std::to_string(i), "]");
    each_element(gil_, call.keywords, [&](ptrdiff_t i, Object* name) {
      step(call.arguments[call.count + i], 0, "['", text_beginning(text_of(gil_, name), kLongestKey), "']");
      return visited_ <= kMaxVisited;
    });
  }

  void walk(Object* object, int depth = 0) {
    const LiveTensor tensor = live_tensor(gil_, object);
    if (tensor.serial == 0 && !heap_inspector::is_collected(object)) return;  // numbers and texts lead nowhere
    if (++visited_ > kMaxVisited) return;
    if (tensor.serial != 0) return found_({tensor, object, way_});
    if (depth == kDeepest) return;
    if (is_dict(gil_, object)) {
      const bool fields = class_entry(object, "__dataclass_fields__") != nullptr;  // those of transformers
      each_entry(gil_, object, [&](Object* key, Object* value) {
        if (has_flag(key, type_flags::kText) && fields) {
          step(value, depth, ".", text_beginning(text_of(gil_, key), kLongestKey), "");
        } else if (has_flag(key, type_flags::kText)) {
          step(value, depth, "['", text_beginning(text_of(gil_, key), kLongestKey), "']");
        } else {
          step(value, depth, "[", key_text(key), "]");
        }
        return visited_ <= kMaxVisited;
      });
    } else if (has_flag(object, type_flags::kList) || has_flag(object, type_flags::kTuple)) {
      Object* names = has_flag(object, type_flags::kTuple) ? class_entry(object, "_fields") : nullptr;  // namedtuple
      each_element(gil_, object, [&](ptrdiff_t i, Object* element) {
        const std::string_view name = names ? field_name(names, i) : "";
        if (name.empty()) {
          step(element, depth, "[", std::to_string(i), "]");
        } else {
          step(element, depth, ".", name, "");
        }
        return visited_ <= kMaxVisited;
      });
    } else if (holds_results(object)) {
      attributes_.each(object, [&](std::string_view name, Object* value) {
        step(value, depth, ".", name, "");
        return visited_ <= kMaxVisited;
      });
    }
  }

 private:
  void step(Object* object, int depth, std::string_view open, std::string_view text, std::string_view close) {
    const size_t before = way_.size();
    way_.append(open).append(text).append(close);
    walk(object, depth + 1);
    way_.resize(before);
  }

  // Made by a class statement: a dataclass, a cache of transformers; but no module, which has tensors of its own.
  bool holds_results(const Object* object) {
    const Object* type = type_of(object);
    if ((heap_inspector::flags_of(type) & type_flags::kHeapType) == 0 || has_flag(object, type_flags::kType))
      return false;
    return class_entry(object, "_parameters") == nullptr && attributes_.find(object, "_parameters") == nullptr;
  }

  // What the class statement of the object's class, or of a base, says; nothing for what is built in.
  Object* class_entry(const Object* object, const char* name) const {
    for (const Object* type = type_of(object); type; type = heap_inspector::base_of(type)) {
      if ((heap_inspector::flags_of(type) & type_flags::kHeapType) == 0) return nullptr;
      if (Object* found = entry(gil_, heap_inspector::class_dict_of(type), name)) return found;
    }
    return nullptr;
  }

  std::string_view field_name(Object* names, ptrdiff_t i) const {
    if (!is_exactly(names, gil_->PyTuple_Type) || i >= gil_->PyTuple_Size(names)) return "";
    return text_of(gil_, gil_->PyTuple_GetItem(names, i));
  }

  std::string key_text(Object* key) const {
    if (!is_exactly(key, gil_->PyLong_Type)) return class_name(gil_, key);
    const long long value = gil_->PyLong_AsLongLong(key);
    gil_->PyErr_Clear();
    return std::to_string(value);
  }

  const Gil& gil_;
  FoundTensor found_;
  heap_inspector::Attributes attributes_;
  std::string way_;
  size_t visited_ = 0;
};

}  // namespace

void each_tensor_inside(const Gil& gil, Object* structure, FoundTensor found) { Walk(gil, found).walk(structure); }

void each_tensor_inside(const Gil& gil, const ModuleCall& call, FoundTensor found) { Walk(gil, found).walk(call); }

}  // namespace tensorscope::python
