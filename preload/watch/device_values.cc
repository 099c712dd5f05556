// SPDX-License-Identifier: Apache-2.0
#include "watch/device_values.h"

#include <math.h>
#include <string.h>

#include <iterator>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "python/unseen_work.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/loaded_object.h"
#include "support/message.h"
#include "support/options.h"
#include "support/state.h"
#include "tensor_values/element_numbers.h"
#include "tensor_values/reducers.h"
#include "torch/metadata/tensor_layout.h"
#include "values_file/value_store.h"
#include "watch/device_values.py.h"

namespace tensorscope::watch {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;
using tensor_values::Readable;
using tensor_values::Statistics;
using tensor_values::TensorView;
using values_file::ValueParts;

// What tensorscope_take() answers.
enum class Answer : int8_t { taken, no_room, no_buffers, too_large, not_now, off };

Status status_of(Answer answer) {
  switch (answer) {
    case Answer::taken:
      return Status::done();
    case Answer::no_room:
      return Status::failed("copies from the device are slower than the program");
    case Answer::too_large:
      return Status::failed("larger than the buffer for values of devices (32 MiB)");
    case Answer::not_now:
      return Status::failed("while a CUDA graph was captured, or inside vmap or a dispatch mode");
    default:
      return Status::failed("values on devices could not be taken");
  }
}

// A value on its way, with sizes of its own.
struct OnTheWay {
  DeviceValue value;
  TensorView view, kept;
  std::vector<int64_t> sizes, kept_sizes;
};

enum class Registered : uint8_t { no, yes, failed };

// The GIL is its lock.
struct DeviceWay {
  Registered registered = Registered::no;
  Object* take = nullptr;
  Object* prepare = nullptr;
  Object* (*wrap)(const void* const* tensor) = nullptr;  // THPVariable_Wrap(const at::TensorBase&)
  uint64_t next = 1;
  std::unordered_map<uint64_t, OnTheWay> values;
};
DeviceWay* g_device_way = nullptr;
// Nothing of a device can be used in a forked child; what was under way is the parent's.
FreshInChild g_fresh_way{[] { g_device_way = nullptr; }};
constinit thread_local bool t_prepares = false;

constexpr int kNumbers = 10;  // that tensorscope_reduce() writes

Statistics statistics_of_numbers(const double* numbers, uint64_t count) {
  tensor_values::Reduced reduced;
  if (count == 0) return {};
  reduced.finite = uint64_t(numbers[0]);
  reduced.nan = uint64_t(numbers[1]);
  reduced.positive_infinity = uint64_t(numbers[2]);
  reduced.zeros = uint64_t(numbers[3]);
  reduced.sum = numbers[4];
  reduced.squares = numbers[5];
  reduced.l1 = numbers[6];
  reduced.minimum = numbers[7];
  reduced.maximum = numbers[8];
  reduced.shift = numbers[9];
  return tensor_values::statistics_from(reduced, count);
}

// Norms, quantiles and histogram, as tensorscope_compute() writes them; the last two of finite elements.
size_t series_of(const OnTheWay& arrived, const double* series, bool any_finite, ValueParts::Series (&out)[3]) {
  const DeviceValue& value = arrived.value;
  size_t count = 0;
  const auto add = [&](bool wanted, bool there, const char* what, size_t size) {
    if (wanted && there && size != 0) out[count++] = {what, series, size};
    if (wanted) series += size;
  };
  add(value.norms, true, tensor_values::kNorms, arrived.sizes.empty() ? 1 : size_t(arrived.sizes[0]));
  add(value.quantiles, any_finite, tensor_values::kQuantiles, std::size(tensor_values::kQuantilePoints));
  add(value.histogram, any_finite, tensor_values::kHistogram, 2 + tensor_values::kBins);
  return count;
}

struct ArrivedParts {
  const double* numbers;
  const void* elements;
  const void* bytes;  // for a hash, where they are not the elements
};

void store_arrived(OnTheWay& arrived, const ArrivedParts& there) {
  DeviceValue& value = arrived.value;
  ValueParts parts;
  arrived.view.sizes = arrived.sizes.data();
  arrived.view.contiguous = true;
  parts.view = &arrived.view;
  const Statistics statistics = value.statistics || value.quantiles || value.histogram
                                    ? statistics_of_numbers(there.numbers, uint64_t(arrived.view.numel))
                                    : Statistics();
  if (value.statistics) parts.statistics = &statistics;
  ValueParts::Series series[3];
  parts.series = {series, series_of(arrived, there.numbers + kNumbers, statistics.finite() != 0, series)};
  if (value.hash) {
    TensorView whole = arrived.view;
    whole.data = there.bytes ? there.bytes : there.elements;
    parts.hash = tensor_values::hash_of(whole);
  }
  const void* const elements = there.elements;
  if (elements) {
    TensorView& kept = value.sliced ? arrived.kept : arrived.view;
    kept.sizes = value.sliced ? arrived.kept_sizes.data() : arrived.sizes.data();
    kept.data = elements;
    kept.dtype = value.row.stored_dtype();
    kept.itemsize = torch::element_size(kept.dtype);
    kept.contiguous = true;
    if (value.sliced) parts.kept = &kept;
    parts.elements = true;
  }
  const uint64_t serial = values_file::add_value(value.row, parts);
  if (serial != 0 && elements && value.written) value.written(value.context, serial);
}

// number, addresses of numbers, elements or 0, bytes or 0
Object* value_arrived(Object*, Object* arguments) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  const InsideScope inside;
  constexpr ptrdiff_t kArgumentsOfArrived = 4;
  if (g_device_way && gil->PyTuple_Size(arguments) == kArgumentsOfArrived) {
    uint64_t all[kArgumentsOfArrived];
    for (ptrdiff_t i = 0; i < kArgumentsOfArrived; ++i) {
      all[i] = uint64_t(gil->PyLong_AsLongLong(gil->PyTuple_GetItem(arguments, i)));
    }
    if (auto found = g_device_way->values.extract(all[0])) {
      store_arrived(found.mapped(), {reinterpret_cast<const double*>(all[1]), reinterpret_cast<const void*>(all[2]),
                                     reinterpret_cast<const void*>(all[3])});
    }
  }
  return python::new_none(api);
}

Object* taking_failed(Object*, Object* text) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  say("values on devices are no longer taken: %s", std::string(python::text_of(gil, text)).c_str());
  return python::new_none(api);
}

python::MethodDefinition g_arrived_method = {"arrived", value_arrived, python::kArguments, nullptr};
python::MethodDefinition g_taking_failed_method = {"failed", taking_failed, python::kOneArgument, nullptr};

bool register_device_way(const Gil& gil, DeviceWay& way) {
  constexpr char kWrap[] = "_Z16THPVariable_WrapRKN2at10TensorBaseE";
  const LoadedObject library = find_object("libtorch_python.so");
  way.wrap = library ? reinterpret_cast<decltype(way.wrap)>(library.find(kWrap)) : nullptr;
  if (!way.wrap) return false;
  Object* const globals = python::run_own_source(
      gil, embedded::kDeviceValues,
      {&g_arrived_method, &g_taking_failed_method, &python::g_unseen_begins, &python::g_unseen_ends},
      {{"torch", python::loaded_module(gil, "torch")}});  // kept: its functions are called until the end
  if (!globals) return false;
  way.take = python::entry(gil, globals, "tensorscope_take");
  way.prepare = python::entry(gil, globals, "tensorscope_prepare");
  return way.take && way.prepare;
}

// "4,2,;8,1,;0,": sizes, strides and offset of a part, in elements.
std::string part_text(const TensorView& whole, const TensorView& part) {
  std::string text;
  for (const int64_t* numbers : {part.sizes, part.strides}) {
    for (int dim = 0; dim < part.ndim; ++dim) text += std::to_string(numbers[dim]) + ",";
    text += ";";
  }
  const ptrdiff_t bytes = static_cast<const char*>(part.data) - static_cast<const char*>(whole.data);
  return text + std::to_string(part.numel == 0 ? 0 : bytes / whole.itemsize) + ",";
}

Answer call_take(const Gil& gil, DeviceWay& way, Object* tensor, uint64_t number, const DeviceValue& value) {
  const Owned count(gil, gil->PyLong_FromLongLong(int64_t(number)));
  const Owned statistics(gil, gil->PyBool_FromLong(value.statistics ? 1 : 0));
  const Owned part(
      gil, value.kept ? gil->PyUnicode_DecodeFSDefault(value.sliced ? part_text(*value.view, *value.kept).c_str() : "")
                      : nullptr);
  const bool converted = value.kept && value.row.stored_dtype() != value.row.dtype();
  const Owned dtype(gil, gil->PyUnicode_DecodeFSDefault(converted ? rules::dtype_name(value.row.stored_dtype()) : ""));
  const Owned kinds(gil, gil->PyLong_FromLongLong(int(value.norms) | int(value.quantiles) << 1 |
                                                  int(value.histogram) << 2 | int(value.hash) << 3));
  const Owned flush(gil, gil->PyLong_FromLongLong(int64_t(values_file::flush_interval_ms())));
  const Owned wait(gil, gil->PyBool_FromLong(values_file::waits_when_full() ? 1 : 0));
  const Owned answer(gil, gil->PyObject_CallFunctionObjArgs(way.take, tensor, count.get(), statistics.get(),
                                                            part ? part.get() : gil->_Py_NoneStruct, dtype.get(),
                                                            kinds.get(), flush.get(), wait.get(), nullptr));
  return answer ? Answer(gil->PyLong_AsLongLong(answer.get())) : Answer::off;
}

// The buffers are memory that the profiler shows.
bool prepare_buffers(const Gil& gil, DeviceWay& way, Object* tensor, bool elements) {
  const Owned large(gil, gil->PyBool_FromLong(elements ? 1 : 0));
  --t_inside;
  t_prepares = true;
  const Owned done(gil, gil->PyObject_CallFunctionObjArgs(way.prepare, tensor, large.get(), nullptr));
  t_prepares = false;
  ++t_inside;
  return done && Answer(gil->PyLong_AsLongLong(done.get())) == Answer::taken;
}

OnTheWay on_the_way(const DeviceValue& value) {
  OnTheWay made = {value, *value.view, {}, {}, {}};
  made.sizes.assign(value.view->sizes, value.view->sizes + value.view->ndim);
  if (value.sliced && value.kept) {
    made.kept = *value.kept;
    made.kept_sizes.assign(value.kept->sizes, value.kept->sizes + value.kept->ndim);
  }
  return made;
}

Answer take_with(const Gil& gil, DeviceWay& way, const DeviceValue& value) {
  const Owned tensor(gil, way.wrap(&value.impl));
  if (!tensor) return Answer::off;
  const uint64_t number = way.next++;
  // Before the call: what waits for the device arrives within it.
  way.values.emplace(number, on_the_way(value));
  Answer answer = call_take(gil, way, tensor.get(), number, value);
  if (answer == Answer::no_buffers) {
    answer = prepare_buffers(gil, way, tensor.get(), value.kept != nullptr || value.hash)
                 ? call_take(gil, way, tensor.get(), number, value)
                 : Answer::off;
  }
  if (answer != Answer::taken) way.values.erase(number);
  return answer;
}

}  // namespace

bool is_taken_on_device(Readable readable, const TensorView& view) {
  constexpr int8_t kCuda = 1;  // c10/core/DeviceType.h; ROCm's too
  return readable == Readable::device ? view.device_type == kCuda
                                      : readable == Readable::yes && options().watch_as_device;
}

bool prepares_buffers() { return t_prepares; }

Status take_on_device(const Gil& gil, DeviceValue value) {
  if (!g_device_way) g_device_way = new (std::nothrow) DeviceWay;
  if (!g_device_way) return Status::failed("not enough memory");
  DeviceWay& way = *g_device_way;
  Object *error = nullptr, *what = nullptr, *traceback = nullptr;
  gil->PyErr_Fetch(&error, &what, &traceback);
  if (way.registered == Registered::no) {
    way.registered = register_device_way(gil, way) ? Registered::yes : Registered::failed;
    if (way.registered == Registered::failed) say("values on devices are not taken: this torch lacks what is needed");
  }
  Answer answer = Answer::off;
  if (way.registered == Registered::yes) {
    const python::UnseenWork unseen(*gil.operator->());
    value.row.mutate_thread(values_file::thread_number());
    answer = take_with(gil, way, value);
    gil->PyErr_Clear();
  }
  if (error) gil->PyErr_Restore(error, what, traceback);
  return status_of(answer);
}

}  // namespace tensorscope::watch
