// SPDX-License-Identifier: Apache-2.0
#include "recording/tensor_facts.h"

#include "recording/tensor_row.h"
#include "tensorscope/event_stream.h"
#include "tensorscope/rules/element_size.h"

namespace tensorscope::analyzer {

namespace {

// The strides of a dense tensor in the usual order, where the event has none.
void add_strides(const format::RecordedEvent& event, std::vector<int64_t>& dims) {
  if (event.with_strides) {
    dims.insert(dims.end(), event.sizes + event.ndim, event.sizes + event.extents());
    return;
  }
  dims.resize(2 * event.ndim);
  rules::usual_strides(event.sizes, event.ndim, dims.data() + event.ndim);
}

}  // namespace

const TensorFacts* TensorFactsAt::of(uint64_t serial) const {
  const auto found = facts_.find(serial);
  return found == facts_.end() ? nullptr : &found->second;
}

// Before the moment the last look counts; of `later` ones the first, where there was none before or what it saw has
// another storage by now.
void TensorFactsAt::note(uint64_t serial, TensorFacts facts, bool later) {
  if (!later) {
    facts_.insert_or_assign(serial, std::move(facts));
    return;
  }
  if (!state_.tensors.contains(serial)) return;
  facts.storage_is_later = later_memory_.contains(facts.row.storage_base());
  const auto [known, is_new] = facts_.try_emplace(serial, facts);
  if (!is_new && has_another_storage(known->second) && !facts.storage_is_later &&
      is_live_memory(facts.row.storage_base())) {
    known->second = std::move(facts);
  }
}

void TensorFactsAt::note(const format::RecordedEvent& event, bool later) {
  using format::TensorFlag;
  using format::TensorKnown;
  const bool seen = event.type == format::EventType::tensor_seen;
  if (!event.known || (!seen && event.type != format::EventType::tensor_released)) return;
  const auto tensor = state_.tensors.find(event.serial);
  if (tensor == state_.tensors.end()) return;
  uint32_t known = uint32_t(TensorKnown::sizes) | uint32_t(TensorKnown::dtype) | uint32_t(TensorKnown::device) |
                   uint32_t(TensorKnown::storage);
  uint32_t flags = 0;
  std::vector<int64_t> dims(event.sizes, event.sizes + event.ndim);
  if (seen) {
    known |= uint32_t(TensorKnown::strides) | uint32_t(TensorKnown::layout);
    known |= event.tensor_known & (uint32_t(TensorKnown::requires_grad) | uint32_t(TensorKnown::leaf));
    flags = event.tensor_flags & (uint32_t(TensorFlag::requires_grad) | uint32_t(TensorFlag::leaf) |
                                  uint32_t(TensorFlag::view) | uint32_t(TensorFlag::inherited));
    add_strides(event, dims);
  }
  int64_t numel = 1;
  for (size_t i = 0; i < event.ndim; ++i) numel = __builtin_mul_overflow(numel, event.sizes[i], &numel) ? 0 : numel;
  const TensorRow row = {.serial = event.serial,
                         .address = tensor->second.address,
                         .created_ns = tensor->second.created_ns,
                         .storage_base = event.pointer,
                         .storage_nbytes = event.nbytes,
                         .storage_offset = event.offset,
                         .numel = numel,
                         .known = known,
                         .flags = flags,
                         .site = tensor->second.site,
                         .thread = tensor->second.thread,
                         .itemsize = uint16_t(rules::element_size(event.dtype)),
                         .ndim = uint8_t(event.ndim),
                         .device_type = event.device_type,
                         .device_index = event.device_index,
                         .dtype = event.dtype,
                         .layout = int8_t(seen ? 0 : -1)};
  note(event.serial, {.row = row.row(), .dims = std::move(dims), .ns = event.ns, .plain = true}, later);
}

bool TensorFactsAt::is_live_memory(uint64_t pointer) const {
  if (live_memory_.empty()) {
    for (const auto& [serial, a] : state_.allocations) live_memory_.insert(a.pointer);
  }
  return live_memory_.contains(pointer);
}

// The memory that it had was freed before the moment, and nothing lies there: it was given other memory, or none. Or it
// got it after the moment.
bool TensorFactsAt::has_another_storage(const TensorFacts& facts) const {
  if (facts.storage_is_later) return true;
  const auto freed = freed_ns_.find(facts.row.storage_base());
  return freed != freed_ns_.end() && freed->second >= facts.ns && !is_live_memory(facts.row.storage_base());
}

}  // namespace tensorscope::analyzer
