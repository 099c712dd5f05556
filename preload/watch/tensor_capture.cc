// SPDX-License-Identifier: Apache-2.0
#include "watch/tensor_capture.h"

#include <string.h>

#include <new>

#include "live/tensor_table.h"
#include "python/bridge.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/locks/mutex.h"
#include "support/page_array.h"
#include "tensor_values/element_numbers.h"
#include "tensor_values/reducers.h"
#include "tensor_values/statistics.h"
#include "tensor_values/tensor_slice.h"
#include "tensor_values/tensor_view.h"
#include "tensorscope/rules/dtypes.h"
#include "tensorscope/values_format.h"
#include "torch/metadata/tensor_layout.h"
#include "values_file/value_store.h"
#include "values_file/values_switch.h"
#include "watch/device_values.h"

namespace tensorscope::watch {

using enum rules::Dtype;

namespace {

using format::ValueFlag;
using rules::WatchMode;
using rules::WatchSpec;
using tensor_values::is_known_dtype;
using tensor_values::kNorms;
using tensor_values::kQuantiles;
using tensor_values::Readable;
using tensor_values::readable_text;
using tensor_values::Statistics;
using tensor_values::statistics_of;
using tensor_values::TensorSlice;
using tensor_values::TensorView;
using tensor_values::version_of;
using tensor_values::view_tensor;
using torch_events::current_step;
using torch_events::Mode;
using torch_events::OptimizerStep;
using values_file::add_value;
using values_file::count_loss;
using values_file::text_id;
using values_file::ValueParts;

// What stays as it is while nobody changes a tensor. Another tensor may get its address, version and size.
struct Contents {
  uint64_t tensor;  // its serial; 0: not known
  const void* data;
  int64_t numel;
  uint64_t hash;  // 0: not asked for
  uint32_t version;
  int dtype;
  bool known() const { return tensor != 0 && version != 0; }
  bool operator==(const Contents&) const = default;
};

// What was kept last of a name for a watch, so that a tensor nobody changed is kept once.
struct LastKept {
  Contents contents;
  uint64_t value;  // its serial; 0: none yet
  uint32_t watch;
  uint32_t next;  // of the same name: index + 1
};

struct OfName {
  uint32_t pass, values;  // in this pass
  uint32_t kept;          // index + 1
};

// The statistics of a tensor that several modules return in one pass.
struct RecentStatistics {
  Contents contents;
  uint64_t form;  // of sizes and strides: in place they change without the version
  OptimizerStep step;
  Statistics statistics;
};
constexpr size_t kRecent = 16;
constexpr int64_t kWorthKeeping = 1024;  // elements: fewer are read as fast as looked for

struct Known {
  Mutex lock;
  RecentStatistics recent[kRecent] GUARDED_BY(lock) = {};
  size_t next_recent GUARDED_BY(lock) = 0;
  PageArray<OfName> names GUARDED_BY(lock);  // by text_id()
  PageArray<LastKept> kept GUARDED_BY(lock);
};
Known* g_known = nullptr;
// The old one may have been left in the middle of a change: it is given up, not freed.
FreshInChild g_fresh_known{[] {
  if (g_known) start_tensor_capture();
}};

OfName* of_name(uint32_t name) REQUIRES(g_known->lock) {
  PageArray<OfName>& names = g_known->names;
  if (name >= names.size() && !names.resize(name + 1)) return nullptr;
  return &names[name];
}

LastKept* last_kept(uint32_t watch, uint32_t name) REQUIRES(g_known->lock) {
  OfName* const own = of_name(name);
  if (!own) return nullptr;
  for (uint32_t at = own->kept; at != 0; at = g_known->kept[at - 1].next) {
    if (g_known->kept[at - 1].watch == watch) return &g_known->kept[at - 1];
  }
  LastKept none = {};
  none.watch = watch;
  none.next = own->kept;
  if (!g_known->kept.push(none)) return nullptr;
  own->kept = uint32_t(g_known->kept.size());
  return &g_known->kept.back();
}

// The value that has these elements already; 0: none.
uint64_t kept_before(uint32_t watch, uint32_t name, const Contents& contents) {
  if (!contents.known() || !g_known) return 0;
  const MutexGuard guard(g_known->lock);
  const LastKept* const last = last_kept(watch, name);
  return last && last->contents == contents ? last->value : 0;
}

void remember(uint32_t watch, uint32_t name, const Contents& contents, uint64_t value) {
  if (!contents.known() || !g_known) return;
  const MutexGuard guard(g_known->lock);
  if (LastKept* const last = last_kept(watch, name)) *last = {contents, value, watch, last->next};
}

uint64_t serial_of(const python::LiveTensor& tensor) {
  return tensor.serial != 0 ? tensor.serial : live::g_tensors.serial(tensor.impl);
}

uint64_t form_of(const TensorView& view) {
  const size_t bytes = size_t(view.ndim) * sizeof(int64_t);
  return XXH3_64bits_withSeed(view.sizes, bytes, XXH3_64bits(view.strides, bytes));
}

bool is_same_pass(const OptimizerStep& one, const OptimizerStep& other) {
  return one.number == other.number && one.pass == other.pass && one.mode == other.mode;
}

// Statistics of one tensor that nobody has changed are taken once a pass.
bool statistics_once(const TensorView& view, const Contents& contents, Statistics& out) {
  if (!g_known || !contents.known() || view.numel < kWorthKeeping) return statistics_of(view, out);
  const OptimizerStep step = current_step();
  const uint64_t form = form_of(view);
  {
    const MutexGuard guard(g_known->lock);
    for (const RecentStatistics& each : g_known->recent) {
      if (each.contents == contents && each.form == form && is_same_pass(each.step, step)) {
        out = each.statistics;
        return true;
      }
    }
  }
  if (!statistics_of(view, out)) return false;
  const MutexGuard guard(g_known->lock);
  g_known->recent[g_known->next_recent++ % kRecent] = {contents, form, step, out};
  return true;
}

int stored_dtype(const WatchSpec& watch, int dtype) {
  const bool complex = dtype == kComplex32 || dtype == kComplex64 || dtype == kComplex128;
  return watch.store >= 0 && !complex && is_known_dtype(dtype) ? watch.store : dtype;
}

bool wants_elements(const WatchSpec& watch, const TensorView& view, TensorSlice& slice, ValueParts& parts) {
  if (!watch.slice.empty()) {
    if (!slice.take(view, watch.slice)) {
      count_loss("elements", "the slice lies outside the tensor");
      return false;
    }
    parts.kept = &slice.view();
  }
  const TensorView& kept = parts.kept ? *parts.kept : view;
  const uint64_t bytes = uint64_t(kept.numel) * uint64_t(torch::element_size(stored_dtype(watch, view.dtype)));
  if (bytes > watch.most_bytes) count_loss("elements", "larger than max_bytes");
  return bytes <= watch.most_bytes;
}

struct LongSeries {
  PageArray<double> norms, quantiles, histogram;
  ValueParts::Series all[3];
};

void add_series(const WatchSpec& watch, const TensorView& view, const Statistics& statistics, LongSeries& series,
                ValueParts& parts) {
  if (!watch.norms && !watch.quantiles && !watch.histogram) return;
  size_t count = 0;
  const auto add = [&](bool done, const char* what, const PageArray<double>& numbers) {
    if (!done) return count_loss(what, "not enough memory, or more than 65536 items");
    if (!numbers.empty()) series.all[count++] = {what, numbers.data(), numbers.size()};
  };
  if (watch.norms) add(tensor_values::norms_of(view, series.norms), kNorms, series.norms);
  if (watch.quantiles) add(tensor_values::quantiles_of(view, series.quantiles), kQuantiles, series.quantiles);
  if (watch.histogram)
    add(tensor_values::histogram_of(view, statistics, series.histogram), tensor_values::kHistogram, series.histogram);
  parts.series = {series.all, count};
}

void want_series(const WatchSpec& watch, const TensorView& view, DeviceValue& out) {
  if (!is_known_dtype(view.dtype)) return;
  const bool many_items = view.ndim > 0 && view.sizes[0] > tensor_values::kMaxItems, large = view.numel > kMaxSorted;
  if (watch.norms && many_items) count_loss(kNorms, "not enough memory, or more than 65536 items");
  if (watch.quantiles && large) count_loss(kQuantiles, "on a device, of more than 8388608 elements");
  out.statistics = watch.statistics;
  out.norms = watch.norms && !many_items;
  out.quantiles = watch.quantiles && !large;
  out.histogram = watch.histogram;
  out.hash = watch.hash && watch.statistics;
}

void remember_from_device(const DeviceValue::Context& context, uint64_t serial) {
  const auto& [watch, name, tensor, data, numel, version, dtype, unused] = context.words;
  remember(uint32_t(watch), uint32_t(name),
           {tensor, reinterpret_cast<const void*>(data), int64_t(numel), 0, uint32_t(version), int(dtype)}, serial);
}

// Done: it comes later. Else nothing has been added.
Status take_later(const WatchSpec& watch, uint32_t name, const void* impl, const TensorView& view, const Origin& origin,
                  format::ValueRow& row) {
  const Contents contents = {row.tensor(), view.data, view.numel, 0, version_of(impl), view.dtype};
  TensorSlice slice;
  ValueParts wanted;
  bool elements = watch.full && wants_elements(watch, view, slice, wanted);
  // Bytes that change without the version are seen by a hash, which is not known yet.
  const bool may_be_kept = elements && !watch.hash;
  if (const uint64_t before = may_be_kept ? kept_before(row.watch(), name, contents) : 0; before != 0) {
    elements = false;
    row.mutate_same_as(before);
    row.mutate_flags(uint16_t(row.flags() | uint16_t(ValueFlag::unchanged)));
  }
  const python::RetakenGil again;
  if (!again) return Status::failed("on a thread that Python does not know");
  const python::Gil gil = python::Gil::held(*python::known_interpreter());
  DeviceValue value = {row, impl, &view};
  want_series(watch, view, value);
  if (elements) {
    value.row.mutate_stored_dtype(int8_t(stored_dtype(watch, view.dtype)));
    value.sliced = wanted.kept != nullptr;
    value.kept = wanted.kept ? wanted.kept : &view;
    value.written = remember_from_device;
    value.context = {{row.watch(), name, contents.tensor, reinterpret_cast<uint64_t>(contents.data),
                      uint64_t(contents.numel), contents.version, uint64_t(contents.dtype), 0}};
  }
  Status taken = take_on_device(gil, value);
  if (!taken && elements) {
    count_loss("elements", taken.why());
    value.row = row;
    value.kept = nullptr;
    taken = take_on_device(gil, value);
  }
  if (!taken && value.hash) {
    count_loss("hash", taken.why());
    value.hash = false;
    taken = take_on_device(gil, value);
  }
  return taken;
}

}  // namespace

bool is_due(const WatchSpec& watch, const OptimizerStep& step) {
  if (!values_file::values_are_on()) return false;
  if (watch.mode == WatchMode::train && step.mode == Mode::eval) return false;
  if (watch.mode == WatchMode::eval && step.mode != Mode::eval) return false;
  return step.number >= watch.first_step && step.number <= watch.last_step &&
         (step.number - watch.first_step) % watch.every == 0;
}

format::ValueRow row_of(format::ValueKind kind, uint32_t name, const Origin& origin) {
  const OptimizerStep step = origin.has_step ? origin.step : current_step();
  format::ValueRow row;
  memset(static_cast<void*>(&row), 0, sizeof row);
  row.mutate_time_ns(monotonic_ns());
  row.mutate_call(origin.call);
  row.mutate_name(name);
  row.mutate_module_(origin.module);
  row.mutate_operation(origin.operation);
  row.mutate_site(origin.site);
  row.mutate_step(step.number);
  row.mutate_pass(step.pass);
  row.mutate_index(origin.index);
  row.mutate_mode(format::StepMode(step.mode));
  row.mutate_kind(kind);
  row.mutate_place(origin.place);
  row.mutate_watch(UINT32_MAX);
  row.mutate_dtype(-1);
  row.mutate_stored_dtype(-1);
  row.mutate_device_type(-1);
  row.mutate_device_index(-1);
  return row;
}

bool has_wanted_dtype(const WatchSpec& watch, const python::LiveTensor& tensor) {
  if (watch.dtype.empty()) return true;
  TensorView view;
  const Readable readable = view_tensor(tensor.impl, view);
  return (readable == Readable::yes || readable == Readable::device) && watch.dtype == rules::dtype_name(view.dtype);
}

bool take_tensor(const WatchSpec& watch, uint32_t watch_number, uint32_t name, const python::LiveTensor& tensor,
                 const Origin& origin) {
  TensorView view;
  const Readable readable = view_tensor(tensor.impl, view);
  const bool has_form = readable == Readable::yes || readable == Readable::device;
  if (!watch.dtype.empty() && (!has_form || watch.dtype != rules::dtype_name(view.dtype))) return false;
  format::ValueRow row = row_of(format::ValueKind::tensor, name, origin);
  row.mutate_watch(watch_number);
  const uint64_t serial = serial_of(tensor);
  row.mutate_tensor(serial);
  row.mutate_dtype(has_form ? int8_t(view.dtype) : int8_t(-1));
  row.mutate_stored_dtype(row.dtype());
  row.mutate_device_type(view.device_type);
  row.mutate_device_index(view.device_index);
  Statistics statistics;
  ValueParts parts;
  TensorSlice slice;
  LongSeries series;
  if (has_form) parts.view = &view;
  Contents contents = {};
  if (is_taken_on_device(readable, view)) {
    const Status taken = take_later(watch, name, tensor.impl, view, origin, row);
    if (taken) return true;
    row.mutate_flags(uint16_t(ValueFlag::not_read));
    row.mutate_note(text_id(taken.why()));
    count_loss("values", taken.why());
  } else if (readable == Readable::yes) {
    contents = {serial, view.data, view.numel, 0, version_of(tensor.impl), view.dtype};
    if (watch.hash) {
      if (watch.statistics && statistics_of(view, statistics)) parts.statistics = &statistics;
      if (parts.statistics) contents.hash = parts.hash = tensor_values::hash_of(view);
    } else if (watch.statistics && statistics_once(view, contents, statistics)) {
      parts.statistics = &statistics;
    }
    add_series(watch, view, statistics, series, parts);
    parts.elements = watch.full && wants_elements(watch, view, slice, parts);
    if (parts.elements) row.mutate_stored_dtype(int8_t(stored_dtype(watch, view.dtype)));
  } else {
    row.mutate_flags(uint16_t(ValueFlag::not_read));
    row.mutate_note(text_id(readable_text(readable)));
    count_loss("elements", readable_text(readable));
  }
  if (parts.elements) {
    if (const uint64_t before = kept_before(watch_number, name, contents); before != 0) {
      parts.elements = false;
      row.mutate_same_as(before);
      row.mutate_flags(uint16_t(row.flags() | uint16_t(ValueFlag::unchanged)));
    }
  }
  const uint64_t value = add_value(row, parts);
  if (value != 0 && parts.elements) remember(watch_number, name, contents, value);
  return true;
}

void take_elements(uint32_t name, const TensorView& view, const Origin& origin) {
  format::ValueRow row = row_of(format::ValueKind::tensor, name, origin);
  row.mutate_dtype(int8_t(view.dtype));
  row.mutate_stored_dtype(row.dtype());
  row.mutate_device_type(0);
  Statistics statistics;
  ValueParts parts;
  parts.view = &view;
  parts.elements = true;
  if (statistics_of(view, statistics)) parts.statistics = &statistics;
  add_value(row, parts);
}

uint32_t next_index(uint32_t name) {
  if (!g_known) return 0;
  const uint32_t pass = current_step().pass;
  const MutexGuard guard(g_known->lock);
  OfName* const own = of_name(name);
  if (!own) return 0;
  if (own->pass != pass) own->pass = pass, own->values = 0;
  return own->values++;
}

void start_tensor_capture() { g_known = new (std::nothrow) Known; }

}  // namespace tensorscope::watch
