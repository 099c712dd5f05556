// SPDX-License-Identifier: Apache-2.0
#include "find_nan/storage_marks.h"

namespace tensorscope::find_nan {

Mark StorageMarks::get(const tensor_values::TensorView& view) {
  if (!any()) return {};
  const uint64_t wanted = key(view);
  const SpinGuard guard(lock_);
  if (!guard) return {};
  for (const Entry& entry : entries_[wanted >> 54]) {
    if (entry.key == wanted) return entry.mark;
  }
  return {};
}

void StorageMarks::set(const tensor_values::TensorView& view, const Mark& mark) {
  if (mark.flags == 0 && !any()) return;
  const uint64_t wanted = key(view);
  const SpinGuard guard(lock_);
  if (!guard) return;
  Entry* place = nullptr;
  for (Entry& entry : entries_[wanted >> 54]) {
    if (entry.key == wanted) {
      place = &entry;
      break;
    }
    if (place == nullptr || entry.mark.flags == 0 || (place->mark.flags != 0 && entry.age < place->age)) place = &entry;
  }
  const bool same = place->key == wanted;
  if (mark.flags == 0 && !same) return;
  const bool was = place->mark.flags != 0;
  *place = {wanted, ++now_, mark};
  if (mark.flags != 0 && !was) marked_.fetch_add(1, std::memory_order_relaxed);
  if (mark.flags == 0 && was) marked_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tensorscope::find_nan
