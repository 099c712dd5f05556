// SPDX-License-Identifier: Apache-2.0
#include "watch/object_values.h"

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "python/tensors_inside.h"
#include "tensor_values/tensor_view.h"
#include "tensorscope/rules/utf8.h"
#include "tensorscope/rules/watch_path.h"
#include "values_file/value_store.h"

namespace tensorscope::watch {

namespace {

using format::ValueKind;
using python::Gil;
using python::live_tensor;
using python::LiveTensor;
using python::Object;
using python::heap_inspector::has_flag;
using tensor_values::Readable;
namespace type_flags = python::heap_inspector::type_flags;

constexpr size_t kMaxChildren = 256;  // of one wildcard
constexpr size_t kLongestPlainText = 4096;
constexpr size_t kLongestKeyText = 60;

bool is_pattern(const std::string& segment) { return segment.find('*') != std::string::npos; }

class ValueWalk {
 public:
  ValueWalk(const Gil& gil, const std::vector<std::string>& within, UseValue use)
      : gil_(gil), within_(within), use_(use), attributes_(gil) {}

  void walk(Object* object, size_t at) {
    if (at == within_.size() || within_[at] == "**") return take(object);
    if (const LiveTensor tensor = live_tensor(gil_, object); tensor.serial != 0) {
      if (of_tensor(object, tensor, at)) return;
    }
    size_t children = 0;
    const std::string& wanted = within_[at];
    each_child(object, wanted, [&](std::string_view name, const std::string& step, Object* child) {
      if (!rules::segment_matches(wanted, name)) return true;
      const size_t before = way_.size();
      way_ += step;
      walk(child, at + 1);
      way_.resize(before);
      return is_pattern(wanted) && ++children < kMaxChildren;
    });
    if (python::is_exactly(object, gil_->PyGen_Type))
      values_file::count_loss("values", "a generator is not looked into");
  }

 private:
  template <typename F>
  void each_child(Object* object, const std::string& wanted, F f) {
    if (python::is_dict(gil_, object)) {
      bool more = true;
      python::each_entry(gil_, object, [&](Object* key, Object* value) {
        if (has_flag(key, type_flags::kText)) {
          const std::string_view text = text_beginning(python::text_of(gil_, key), kLongestKeyText);
          return more = f(text, "['" + std::string(text) + "']", value);
        }
        if (!python::is_exactly(key, gil_->PyLong_Type)) return true;
        const long long number = gil_->PyLong_AsLongLong(key);
        gil_->PyErr_Clear();
        const std::string text = std::to_string(number);
        return more = f(text, "[" + text + "]", value);
      });
      if (!more) return;
    } else if (has_flag(object, type_flags::kList) || has_flag(object, type_flags::kTuple)) {
      bool more = true;
      python::each_element(gil_, object, [&](ptrdiff_t i, Object* element) {
        const std::string text = std::to_string(i);
        return more = f(text, "[" + text + "]", element);
      });
      if (!more) return;
      if (!is_pattern(wanted) && !fields_of_tuple(object, f)) return;
    }
    bool more = true;
    for (const char* part : {"_parameters", "_buffers", "_modules"}) {  // of torch.nn.Module
      python::each_entry(gil_, more ? attributes_.find(object, part) : nullptr, [&](Object* key, Object* value) {
        const std::string_view text = python::text_of(gil_, key);
        return more = f(text, "." + std::string(text), value);
      });
    }
    if (!more) return;
    attributes_.each(object,
                     [&](std::string_view name, Object* value) { return f(name, "." + std::string(name), value); });
  }

  // Of a namedtuple, by name.
  template <typename F>
  bool fields_of_tuple(Object* object, F f) {
    if (!has_flag(object, type_flags::kTuple) || python::is_exactly(object, gil_->PyTuple_Type)) return true;
    const Object* type = python::type_of(object);
    if ((python::heap_inspector::flags_of(type) & type_flags::kHeapType) == 0) return true;
    Object* names = python::entry(gil_, python::heap_inspector::class_dict_of(type), "_fields");
    if (!names || !python::is_exactly(names, gil_->PyTuple_Type)) return true;
    bool more = true;
    python::each_element(gil_, object, [&](ptrdiff_t i, Object* element) {
      if (i >= gil_->PyTuple_Size(names)) return false;
      const std::string name(python::text_of(gil_, gil_->PyTuple_GetItem(names, i)));
      return more = name.empty() || f(name, "." + name, element);
    });
    return more;
  }

  // What torch computes of a tensor is read where it lies. False: none of this.
  bool of_tensor(Object* object, const LiveTensor& tensor, size_t at) {
    const std::string& name = within_[at];
    tensor_values::TensorView view;
    const Readable readable = tensor_values::view_tensor(tensor.impl, view);
    const size_t before = way_.size();
    way_ += "." + name;
    bool done = true;
    if (name == "grad") {
      if (const void* gradient = tensor_values::gradient_of(tensor.impl)) {
        use({way_, {gradient, 0}, nullptr, object, true});
      } else {
        plain({ValueKind::none, 0, 0, 0, ""}, gil_->_Py_NoneStruct);
      }
    } else if (readable != Readable::yes && readable != Readable::device) {
      done = false;
    } else if (name == "ndim") {
      plain({ValueKind::integer, view.ndim, 0, 0, ""});
    } else if (name == "dtype") {
      plain({ValueKind::text, 0, 0, 0, rules::dtype_name(view.dtype)});
    } else if (name == "shape" && at + 1 < within_.size()) {
      const size_t shape = way_.size();
      for (int i = 0; i < view.ndim; ++i) {
        if (!rules::segment_matches(within_[at + 1], std::to_string(i))) continue;
        way_ += "[" + std::to_string(i) + "]";
        plain({ValueKind::integer, view.sizes[i], 0, 0, ""});
        way_.resize(shape);
      }
    } else if (name == "shape") {
      std::string text = "[";
      for (int i = 0; i < view.ndim; ++i) text += (i ? ", " : "") + std::to_string(view.sizes[i]);
      plain({ValueKind::text, 0, 0, 0, text + "]"});
    } else {
      done = false;
    }
    way_.resize(before);
    return done;
  }

  void take(Object* object) {
    PlainValue value;
    if (object == gil_->_Py_NoneStruct) {
      value.kind = ValueKind::none;
    } else if (python::is_exactly(object, gil_->PyBool_Type)) {
      value.kind = ValueKind::boolean;
      value.number = gil_->PyObject_IsTrue(object) == 1 ? 1 : 0;
    } else if (has_flag(object, type_flags::kLong)) {
      value.kind = ValueKind::integer;
      value.integer = gil_->PyLong_AsLongLong(object);
      if (gil_->PyErr_Occurred()) {
        gil_->PyErr_Clear();
        value.kind = ValueKind::other;
        value.text = "int beyond 64 bits";
      }
    } else if (has_flag(object, type_flags::kText)) {
      value.kind = ValueKind::text;
      value.text = text_beginning(python::text_of(gil_, object), kLongestPlainText);
    } else if (python::is_a(gil_, object, gil_->PyFloat_Type)) {
      value.kind = ValueKind::real;
      value.number = gil_->PyFloat_AsDouble(object);
      gil_->PyErr_Clear();
    } else if (gil_->PyComplex_RealAsDouble && python::class_name(gil_, object) == std::string_view("complex")) {
      value.kind = ValueKind::complex;
      value.number = gil_->PyComplex_RealAsDouble(object);
      value.imaginary = gil_->PyComplex_ImagAsDouble(object);
      gil_->PyErr_Clear();
    } else {
      return take_inside(object);
    }
    plain(value, object);
  }

  void take_inside(Object* object) {
    found_ = false;
    python::each_tensor_inside(gil_, object, [&](const python::TensorInside& inside) {
      const size_t before = way_.size();
      way_ += inside.way;
      use({way_, inside.tensor, nullptr, inside.object});
      way_.resize(before);
    });
    if (!found_) plain({ValueKind::other, 0, 0, 0, python::class_name(gil_, object)}, object);
  }

  void plain(const PlainValue& value, Object* object = nullptr) { use({way_, {}, &value, object}); }
  void use(const FoundValue& value) {
    found_ = true;
    use_(value);
  }

  const Gil& gil_;
  const std::vector<std::string>& within_;
  UseValue use_;
  python::heap_inspector::Attributes attributes_;
  std::string way_;
  bool found_ = false;
};

}  // namespace

void add_plain_value(uint32_t name, const PlainValue& value, uint32_t watch, const Origin& origin) {
  format::ValueRow row = row_of(value.kind, name, origin);
  row.mutate_watch(watch);
  row.mutate_integer(value.integer);
  row.mutate_number(value.number);
  row.mutate_imaginary(value.imaginary);
  values_file::ValueParts parts;
  parts.text = value.text;
  values_file::add_value(row, parts);
}

void each_value_at(const Gil& gil, Object* object, const std::vector<std::string>& within, UseValue use) {
  ValueWalk(gil, within, use).walk(object, 0);
}

}  // namespace tensorscope::watch
