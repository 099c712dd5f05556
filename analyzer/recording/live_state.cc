// SPDX-License-Identifier: Apache-2.0
#include "recording/live_state.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

DeviceTotal device_total(const format::DeviceTotal& row) {
  return {device_of(row.device_type(), row.device_index()),
          row.live_bytes(),
          row.peak_bytes(),
          row.live_count(),
          row.total_count(),
          row.total_bytes(),
          row.allocator_allocated(),
          row.allocator_reserved(),
          row.allocator_reserved_peak()};
}

}  // namespace

void LiveState::begin(const format::RecordingSegment& segment) {
  *this = {};
  begin_serial_ = serial = segment.serial();
  ns = segment.begin_ns();
  tensors_total = segment.tensors_total();
  if (segment.sites()) {
    for (const format::Site* s : *segment.sites()) {
      sites.emplace(uint32_t(sites.size()),
                    Site{s->tensors_live(), s->tensors_total(), s->allocations_live(), s->allocations_total(),
                         s->bytes_live(), s->bytes_total(), s->bytes_peak(), 0, 0});
    }
  }
  if (segment.devices()) {
    for (const format::DeviceTotal* row : *segment.devices()) {
      const DeviceTotal total = device_total(*row);
      devices[total.device] = total;
    }
  }
}

void LiveState::add(const format::Allocation& row) {
  allocations[row.serial()] = {
      row.pointer(),       row.nbytes(),         row.created_ns(),
      row.node(),          row.site(),           row.thread(),
      uint8_t(row.kind()), row.inherited() != 0, device_of(row.device_type(), row.device_index())};
}

void LiveState::add(const format::Tensor& row) {
  const bool released = (row.flags() & uint32_t(format::TensorFlag::released)) != 0;
  tensors[row.serial()] = {row.address(), row.created_ns(), row.site(), row.thread(), released};
}

void LiveState::add(const format::RuntimeBlock& row) {
  runtime_blocks[row.serial()] = {
      row.pointer(), row.nbytes(),        row.created_ns(),    row.site(),
      row.thread(),  uint8_t(row.kind()), row.by_torch() != 0, device_of(row.device_type(), row.device_index())};
}

void LiveState::allocated(uint64_t made_serial, const RecordedAllocation& made) {
  if (early_frees_.erase(made_serial) != 0) return;
  allocations[made_serial] = made;
  DeviceTotal& total = devices[made.device];
  total.device = made.device;
  total.live_bytes += made.nbytes;
  total.peak_bytes = std::max(total.peak_bytes, total.live_bytes);
  total.live_count += 1;
  total.total_count += 1;
  total.total_bytes += made.nbytes;
  Site& of = sites[made.site];
  of.allocations_live += 1;
  of.allocations_total += 1;
  of.bytes_live += made.nbytes;
  of.bytes_total += made.nbytes;
  of.bytes_peak = std::max(of.bytes_peak, of.bytes_live);
}

void LiveState::gone(uint64_t gone_serial) {
  const auto found = allocations.find(gone_serial);
  if (found == allocations.end()) {
    if (gone_serial > begin_serial_) early_frees_.insert(gone_serial);
    return;
  }
  freed = found->second;
  DeviceTotal& total = devices[freed->device];
  total.live_bytes -= std::min(total.live_bytes, freed->nbytes);
  total.live_count -= total.live_count != 0;
  Site& of = sites[freed->site];
  of.allocations_live -= of.allocations_live != 0;
  of.bytes_live -= std::min(of.bytes_live, freed->nbytes);
  allocations.erase(found);
}

bool LiveState::apply(const format::RecordedEvent& event) {
  freed.reset();
  if (event.makes() && event.serial <= begin_serial_) return false;
  ns = std::max(ns, event.ns);
  serial = std::max(serial, event.order);
  switch (event.type) {
    case format::EventType::allocated:
      allocated(event.serial, {event.pointer, event.nbytes, event.ns, event.node, event.site, event.thread,
                               event.memory_kind, false, device_of(event.device_type, event.device_index)});
      return true;
    case format::EventType::freed:
      gone(event.serial);
      return freed.has_value();
    case format::EventType::runtime_allocated:
      if (early_blocks_.erase(event.serial) != 0) return true;
      runtime_blocks[event.serial] = {
          event.pointer, event.nbytes,      event.ns,       event.site,
          event.thread,  event.memory_kind, event.by_torch, device_of(event.device_type, event.device_index)};
      return true;
    case format::EventType::runtime_freed:
      if (runtime_blocks.erase(event.serial) != 0) return true;
      if (event.serial > begin_serial_) early_blocks_.insert(event.serial);
      return false;
    case format::EventType::tensor_made:
      if (early_ends_.erase(event.serial) != 0) return true;
      tensors[event.serial] = {event.pointer, event.ns, event.site, event.thread, false};
      tensors_total += 1;
      sites[event.site].tensors_live += 1;
      sites[event.site].tensors_total += 1;
      return true;
    case format::EventType::tensor_released:
      if (const auto found = tensors.find(event.serial); found != tensors.end()) found->second.released = true;
      return true;
    case format::EventType::tensor_gone:
    case format::EventType::disregarded: {
      const auto found = tensors.find(event.serial);
      if (found == tensors.end()) {
        if (event.serial > begin_serial_) early_ends_.insert(event.serial);
        return false;
      }
      Site& of = sites[found->second.site];
      of.tensors_live -= of.tensors_live != 0;
      if (event.type == format::EventType::disregarded) {
        of.tensors_total -= of.tensors_total != 0;
        tensors_total -= tensors_total != 0;
      }
      tensors.erase(found);
      return true;
    }
    case format::EventType::device_reported: {
      DeviceTotal& total = devices[device_of(event.device_type, event.device_index)];
      total.device = device_of(event.device_type, event.device_index);
      total.allocator_allocated = event.number;
      total.allocator_reserved = event.pass;
      total.allocator_reserved_peak = std::max(total.allocator_reserved_peak, event.pass);
      return true;
    }
    case format::EventType::tensor_seen:
    case format::EventType::step:
    case format::EventType::failure:
      return true;
  }
  return false;
}

}  // namespace tensorscope::analyzer
