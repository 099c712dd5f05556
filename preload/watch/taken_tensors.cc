#include "watch/taken_tensors.h"

#include <string.h>

#include <new>
#include <unordered_map>

#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/mutex.h"
#include "tensorscope/values_format.h"
#include "watch/statistics.h"
#include "watch/tensor_view.h"
#include "watch/value_store.h"

namespace tensorscope::watch {

namespace {

using format::ValueFlag;
using rules::WatchMode;
using rules::WatchSpec;

// What was kept last of a name, so that a tensor nobody changed is kept once.
struct LastKept {
  const void* data;
  uint32_t version;
  int64_t numel;
  int dtype;
  uint64_t serial;
};

struct Kept {
  Mutex lock;
  std::unordered_map<uint64_t, LastKept> by_name;  // watch and name
};
Kept* g_kept = nullptr;

uint64_t kept_key(uint32_t watch, uint32_t name) { return uint64_t(watch) << 32 | name; }

uint64_t kept_before(uint64_t key, const TensorView& view, uint32_t version) {
  if (version == 0 || !g_kept) return 0;
  const MutexGuard guard(g_kept->lock);
  const auto last = g_kept->by_name.find(key);
  if (last == g_kept->by_name.end()) return 0;
  const LastKept& kept = last->second;
  const bool same =
      kept.data == view.data && kept.version == version && kept.numel == view.numel && kept.dtype == view.dtype;
  return same ? kept.serial : 0;
}

void remember(uint64_t key, const LastKept& kept) {
  if (!g_kept) return;
  run_if_memory_lasts([&] {
    const MutexGuard guard(g_kept->lock);
    g_kept->by_name[key] = kept;
  });
}

uint64_t hash_of(const TensorView& view) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  struct Context {
    XXH3_state_t* state;
    size_t itemsize;
  } context = {&state, size_t(view.itemsize)};
  each_piece(
      view,
      [](const void* elements, int64_t count, void* pointer) {
        const auto* context = static_cast<Context*>(pointer);
        XXH3_64bits_update(context->state, elements, size_t(count) * context->itemsize);
      },
      &context);
  return XXH3_64bits_digest(&state);
}

}  // namespace

bool is_due(const WatchSpec& watch, const Step& step) {
  if (watch.mode == WatchMode::train && step.mode == Mode::eval) return false;
  if (watch.mode == WatchMode::eval && step.mode != Mode::eval) return false;
  return step.number >= watch.first_step && step.number <= watch.last_step &&
         (step.number - watch.first_step) % watch.every == 0;
}

format::ValueRow row_of(format::ValueKind kind, uint32_t name, const Origin& origin) {
  const Step step = current_step();
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
  row.mutate_dtype(-1);
  row.mutate_stored_dtype(-1);
  row.mutate_device_type(-1);
  row.mutate_device_index(-1);
  return row;
}

bool take_tensor(const WatchSpec& watch, uint32_t watch_number, uint32_t name, const python::LiveTensor& tensor,
                 const Origin& origin) {
  TensorView view;
  const Readable readable = view_tensor(tensor.impl, view);
  const bool has_form = readable == Readable::yes || readable == Readable::device;
  if (!watch.dtype.empty() && (!has_form || watch.dtype != dtype_name(view.dtype))) return false;
  format::ValueRow row = row_of(format::ValueKind::tensor, name, origin);
  row.mutate_watch(watch_number);
  row.mutate_tensor(tensor.serial);
  row.mutate_dtype(has_form ? int8_t(view.dtype) : int8_t(-1));
  row.mutate_stored_dtype(row.dtype());
  row.mutate_device_type(view.device_type);
  row.mutate_device_index(view.device_index);
  Statistics statistics;
  ValueParts parts;
  if (has_form) parts.view = &view;
  uint32_t version = 0;
  if (readable == Readable::yes) {
    version = version_of(tensor.impl);
    if (watch.statistics && statistics_of(view, statistics)) {
      parts.statistics = &statistics;
      if (watch.hash) parts.hash = hash_of(view);
    }
    parts.elements = watch.full && uint64_t(view.numel) * uint64_t(view.itemsize) <= watch.most_bytes;
    if (watch.full && !parts.elements) count_loss("elements", "larger than max_bytes");
  } else {
    row.mutate_flags(uint16_t(ValueFlag::not_read));
    row.mutate_note(text_id(readable_text(readable)));
    count_loss("elements", readable_text(readable));
  }
  const uint64_t key = kept_key(watch_number, name);
  if (parts.elements) {
    if (const uint64_t before = kept_before(key, view, version); before != 0) {
      parts.elements = false;
      row.mutate_same_as(before);
      row.mutate_flags(uint16_t(row.flags() | uint16_t(ValueFlag::unchanged)));
    }
  }
  const uint64_t serial = add_value(row, parts);
  if (serial != 0 && parts.elements) remember(key, {view.data, version, view.numel, view.dtype, serial});
  return true;
}

// The old one may have been left in the middle of a change: it is given up, not freed.
void reset_taken_tensors() { g_kept = new (std::nothrow) Kept; }

}  // namespace tensorscope::watch
