// SPDX-License-Identifier: Apache-2.0
#include "recording/tensor_facts.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "support/fresh_in_child.h"
#include "tensorscope/rules/plain_tensor.h"
#include "torch/metadata/safe_reads.h"
#include "torch/metadata/tensor_layout.h"

namespace tensorscope::recording {

namespace {

struct Forms {
  torch::TensorLayout layout;
  uint64_t tensor_vtable = 0, storage_vtable = 0;
};
Forms g_forms;
std::atomic<bool> g_forms_known{false};
constinit std::atomic<void (*)()> g_call{nullptr};
struct Calls {
  std::atomic<uint64_t> count{0};
};
constinit Calls g_calls;
FreshInChild g_fresh_calls{g_calls};

[[gnu::noinline, gnu::cold]] size_t want_facts() {
  void (*wanted)() = g_call.load(std::memory_order_relaxed);
  if (std::has_single_bit(g_calls.count.fetch_add(1, std::memory_order_relaxed) + 1) && wanted != nullptr) wanted();
  return 0;
}

constexpr size_t kMaxLooks = 2048;

// Returns whether this is a plain tensor with memory, whose forms are found then.
bool read_forms(const live::TensorEntry& entry, torch::MetadataReader& reader, Forms& found) {
  if (entry.released) return false;
  torch::Metadata facts;
  reader.read(entry.impl, false, facts);
  if (facts.storage_base == 0 || strcmp(facts.class_name, rules::kPlainTensorClass) != 0) return false;
  const uint64_t storage = torch::word_at(entry.impl, size_t(reader.layout().storage()));
  found = {reader.layout(), torch::word_at(entry.impl, 0), torch::word_at(reinterpret_cast<const void*>(storage), 0)};
  return true;
}

constexpr uint64_t kShort = 1 << 16;

// Four short sizes in one word, else three in each event that follows. How many events; 0: they do not fit.
size_t put_sizes(const torch::TensorFields& fields, live::Event* out) {
  const auto is_short = [](int64_t size) { return uint64_t(size) < kShort; };
  if (fields.ndim <= 4 && std::all_of(fields.sizes, fields.sizes + fields.ndim, is_short)) {
    for (uint64_t i = 0; i < fields.ndim; ++i) out[0].c |= uint64_t(fields.sizes[i]) << (16 * i);
    return 1;
  }
  if (fields.ndim > 3 * (live::kMaxFacts - 1)) return 0;
  out[0].aux |= 0x80;
  for (uint64_t i = 0; i < fields.ndim; ++i) {
    live::Event& event = out[1 + i / 3];
    if (i % 3 == 0) event = live::Event{};
    (i % 3 == 0 ? event.a : i % 3 == 1 ? event.b : event.c) = uint64_t(fields.sizes[i]);
  }
  return 1 + (fields.ndim + 2) / 3;
}

}  // namespace

void learn_facts(const live::SnapshotView& view, torch::MetadataReader& reader) {
  if (g_forms_known.load(std::memory_order_relaxed) || !reader.layout_known()) return;
  Forms found;
  bool done = false;
  live::look_at_live(view.tensors, 0, std::min(view.tensors.size, kMaxLooks),
                     [&](size_t index) { done = done || read_forms(view.tensors[index], reader, found); });
  if (!done) return;
  g_forms = found;
  g_forms_known.store(true, std::memory_order_release);
}

void call_for_facts(void (*wanted)()) { g_call.store(wanted, std::memory_order_relaxed); }

bool facts_are_known() { return g_forms_known.load(std::memory_order_relaxed); }

size_t read_facts(const void* impl, live::Event* out) {
  if (__builtin_expect(!g_forms_known.load(std::memory_order_acquire), false)) return want_facts();
  if (torch::word_at(impl, 0) != g_forms.tensor_vtable) return 0;
  torch::TensorFields fields;
  if (!torch::read_fields(g_forms.layout, impl, fields) || !fields.consistent()) return 0;
  if ((fields.key_set & (g_forms.layout.python_keys | g_forms.layout.sparse_keys)) != 0) return 0;
  const uint64_t storage = torch::word_at(impl, size_t(g_forms.layout.storage()));
  const void* const object = reinterpret_cast<const void*>(storage);
  if (storage == 0 || torch::word_at(object, 0) != g_forms.storage_vtable) return 0;
  out[0] = live::Event{};
  out[0].a = torch::word_at(object, size_t(g_forms.layout.data()));
  out[0].b = torch::word_at(object, size_t(g_forms.layout.nbytes()));
  out[0].aux = uint32_t(fields.ndim) | uint32_t(uint8_t(fields.dtype)) << 8 |
               uint32_t(uint8_t(fields.device_type)) << 16 | uint32_t(uint8_t(fields.device_index)) << 24;
  return put_sizes(fields, out);
}

}  // namespace tensorscope::recording
