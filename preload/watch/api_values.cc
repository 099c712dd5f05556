// SPDX-License-Identifier: Apache-2.0
#include "watch/api_values.h"

#include <string>
#include <string_view>

#include "python/builtin_module.h"
#include "python/objects.h"
#include "python/tensors_inside.h"
#include "support/enough_memory.h"
#include "support/state.h"
#include "tensorscope/rules/utf8.h"
#include "tensorscope/tensorscope.h"
#include "torch/metadata/tensor_layout.h"
#include "torch_events/steps.h"
#include "values_file/value_store.h"
#include "values_file/values_switch.h"
#include "watch/callbacks.h"
#include "watch/scope.py.h"
#include "watch/tensor_capture.h"
#include "watch/watch.h"
#include "watch/watched_calls.h"

namespace tensorscope::watch {

namespace {

using format::ValueKind;
using python::Api;
using python::Gil;
using python::Object;
using python::Owned;
using python::TensorInside;
using values_file::add_value;
using values_file::count_loss;
using values_file::text_id;

constexpr size_t kLongestName = 200;
constexpr size_t kLongestText = size_t{1} << 16;
constexpr int kMaxDimensions = 64;  // at::Tensor's own limit
constexpr uint32_t kNoWatch = UINT32_MAX;
constexpr char kNoteName[] = "annotate()";

const rules::WatchSpec& whole_value() {
  static const rules::WatchSpec* const spec = [] {
    auto* made = new rules::WatchSpec;
    made->full = true;
    return made;
  }();
  return *spec;
}

void add_text(ValueKind kind, uint32_t name, const Origin& origin, std::string_view text) {
  values_file::ValueParts parts;
  parts.text = text;
  add_value(row_of(kind, name, origin), parts);
}

void note(std::string_view text, Origin origin) {
  const uint32_t name = text_id(kNoteName);
  origin.place = format::ValuePlace::saved;
  origin.index = next_index(name);
  add_text(ValueKind::text, name, origin, text_beginning(text, kLongestText));
}

void save_inside(const TensorInside& inside, std::string_view of, Origin origin) {
  const uint32_t name = text_id(std::string(of) + inside.way);
  origin.index = next_index(name);
  take_tensor(whole_value(), kNoWatch, name, inside.tensor, origin);
}

void save_number(const Gil& gil, Object* object, uint32_t name, const Origin& origin) {
  if (object == gil->_Py_NoneStruct) {
    add_value(row_of(ValueKind::none, name, origin), {});
  } else if (python::is_exactly(object, gil->PyBool_Type)) {
    format::ValueRow row = row_of(ValueKind::boolean, name, origin);
    row.mutate_number(gil->PyObject_IsTrue(object) == 1 ? 1 : 0);
    add_value(row, {});
  } else if (python::is_exactly(object, gil->PyFloat_Type)) {
    format::ValueRow row = row_of(ValueKind::real, name, origin);
    row.mutate_number(gil->PyFloat_AsDouble(object));
    add_value(row, {});
  } else if (python::is_a(gil, object, gil->PyUnicode_Type)) {
    add_text(ValueKind::text, name, origin, text_beginning(python::text_of(gil, object), kLongestText));
  } else if (python::is_exactly(object, gil->PyLong_Type)) {
    const long long value = gil->PyLong_AsLongLong(object);
    Object *error = nullptr, *what = nullptr, *traceback = nullptr;
    if (value == -1) gil->PyErr_Fetch(&error, &what, &traceback);
    if (error) {  // larger than 64 bits
      gil->PyErr_Restore(error, what, traceback);
      gil->PyErr_Clear();
      return add_text(ValueKind::other, name, origin, python::class_name(gil, object));
    }
    format::ValueRow row = row_of(ValueKind::integer, name, origin);
    row.mutate_integer(value);
    add_value(row, {});
  } else {
    add_text(ValueKind::other, name, origin, python::class_name(gil, object));
  }
}

void save_object(const Gil& gil, std::string_view name, Object* object, std::string_view module) {
  Origin origin = here();
  if (!module.empty()) origin.module = text_id(module);
  origin.place = format::ValuePlace::saved;
  bool any = false;
  python::each_tensor_inside(gil, object, [&](const TensorInside& inside) {
    any = true;
    save_inside(inside, name, origin);
  });
  if (any) return;
  const uint32_t id = text_id(name);
  origin.index = next_index(id);
  save_number(gil, object, id, origin);
}

Object* g_current_scope = nullptr;  // kept: a function that returns a tuple

Object* use_scope(Object*, Object* function) {
  const Api& api = *python::known_interpreter();
  api.Py_IncRef(function);
  g_current_scope = function;
  return python::new_none(api);
}

struct SaidScope {
  std::string prefix, module;
};

SaidScope current_scope(const Gil& gil) {
  SaidScope scope;
  if (!g_current_scope) return scope;
  const Owned both(gil, gil->PyObject_CallFunctionObjArgs(g_current_scope, nullptr));
  if (!both) return scope;
  scope.prefix = python::text_of(gil, gil->PyTuple_GetItem(both.get(), 0));
  scope.module = python::text_of(gil, gil->PyTuple_GetItem(both.get(), 1));
  return scope;
}

// ---- what Python calls ----------------------------------------------------------------------------------------------

Object* wrong_arguments(const Api& api, const char* what) {
  api.PyErr_SetString(*reinterpret_cast<Object**>(api.PyExc_TypeError), what);
  return nullptr;
}

// Whatever it is given, the program goes on.
Object* python_save(Object*, Object* arguments) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  if (api.PyTuple_Size(arguments) != 2) return wrong_arguments(api, "save() takes a name and a value");
  const std::string_view name = python::text_of(gil, api.PyTuple_GetItem(arguments, 0));
  if (name.empty()) return wrong_arguments(api, "save() takes a name and a value: the name is a string");
  Object* const value = api.PyTuple_GetItem(arguments, 1);
  if (is_recording()) {
    const SaidScope scope = current_scope(gil);
    const InsideScope inside;
    const bool done = run_or_abandon_on_oom([&] {
      start_for_api_values(&gil);
      save_object(gil, text_beginning(scope.prefix + std::string(name), kLongestName), value, scope.module);
    });
    if (!done) count_loss("values", "not enough memory");
  }
  api.Py_IncRef(value);
  return value;
}

Object* python_annotate(Object*, Object* text) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  if (!python::is_a(gil, text, api.PyUnicode_Type)) return wrong_arguments(api, "annotate() takes a string");
  if (is_recording()) {
    const InsideScope inside;
    const bool done = run_or_abandon_on_oom([&] {
      start_for_api_values(&gil);
      note(python::text_of(gil, text), here());
    });
    if (!done) count_loss("values", "not enough memory");
  }
  return python::new_none(api);
}

Object* python_mark_step(Object*, Object*) {
  const Api& api = *python::known_interpreter();
  const uint32_t step = torch_events::current_step().number;
  tensorscope_try_mark_step();
  remember_step_end(step);
  call_back(Gil::held(api));
  return python::new_none(api);
}

Object* python_stop_values(Object*, Object*) {
  tensorscope_try_stop_values();
  return python::new_none(*python::known_interpreter());
}
Object* python_start_values(Object*, Object*) {
  tensorscope_try_start_values();
  return python::new_none(*python::known_interpreter());
}

constexpr python::MethodDefinition kFunctions[] = {
    {"stop_values", python_stop_values, python::kNoArguments,
     "stop_values()\n--\n\nStops recording watched values and module calls until values_file::start_values()."},
    {"start_values", python_start_values, python::kNoArguments,
     "start_values()\n--\n\nResumes recording watched values and module calls."},
    {"save", python_save, python::kArguments,
     "save(name, value)\n--\n\nWrites a value (tensors, also in lists and dicts, numbers, strings) to the values file. "
     "Returns the value."},
    {"annotate", python_annotate, python::kOneArgument,
     "annotate(text)\n--\n\nWrites a note to the values file, with step, time, thread and line."},
    {"mark_step", python_mark_step, python::kNoArguments,
     "mark_step()\n--\n\nSays that a step of the program is over. From then on optimizers' steps are not counted."},
};

}  // namespace

void add_api_values_to_module() {
  for (const python::MethodDefinition& each : kFunctions) python::add_builtin_function(each);
  python::add_builtin_class("scope", embedded::kScope, {"use", use_scope, python::kOneArgument, nullptr});
}

}  // namespace tensorscope::watch

extern "C" {

__attribute__((visibility("default"))) int tensorscope_mark_step(void) {
  tensorscope::torch_events::mark_step();
  tensorscope::torch_events::tell_step_end();
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_stop_values(void) {
  tensorscope::values_file::stop_values();
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_start_values(void) {
  tensorscope::values_file::start_values();
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_annotate(const char* text) {
  using namespace tensorscope;
  if (!is_recording() || text == nullptr) return TENSORSCOPE_ABSENT;
  const InsideScope inside;
  const bool done = run_or_abandon_on_oom([&] {
    watch::start_for_api_values(nullptr);
    watch::note(text, {});
  });
  return done ? TENSORSCOPE_OK : TENSORSCOPE_FAILED;
}

__attribute__((visibility("default"))) int tensorscope_save(const char* name, const void* elements, int dtype,
                                                            const int64_t* sizes, int dimensions) {
  using namespace tensorscope;
  using namespace tensorscope::watch;
  if (!is_recording()) return TENSORSCOPE_ABSENT;
  tensor_values::TensorView view;
  view.data = elements;
  view.dtype = dtype;
  view.itemsize = torch::element_size(dtype);
  view.ndim = dimensions;
  view.sizes = sizes;
  view.numel = 1;
  view.contiguous = true;
  if (!name || *name == 0 || dimensions < 0 || dimensions > kMaxDimensions || view.itemsize == 0 ||
      (dimensions > 0 && !sizes)) {
    return TENSORSCOPE_FAILED;
  }
  int64_t strides[kMaxDimensions];
  for (int i = dimensions - 1; i >= 0; --i) {
    strides[i] = view.numel;
    if (sizes[i] < 0 || __builtin_mul_overflow(view.numel, sizes[i], &view.numel)) return TENSORSCOPE_FAILED;
  }
  view.strides = strides;
  if (view.numel != 0 && !elements) return TENSORSCOPE_FAILED;
  const InsideScope inside;
  const bool done = run_or_abandon_on_oom([&] {
    start_for_api_values(nullptr);
    Origin origin;
    origin.place = format::ValuePlace::saved;
    const uint32_t id = text_id(text_beginning(name, kLongestName));
    origin.index = next_index(id);
    take_elements(id, view, origin);
  });
  return done ? TENSORSCOPE_OK : TENSORSCOPE_FAILED;
}

}  // extern "C"
