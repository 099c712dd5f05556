// SPDX-License-Identifier: Apache-2.0
// What the short report of an out-of-memory dump needs of each tensor row, kept while the rows are written. A dump does
// not depend on it: where there is no memory for it, nothing is kept.
//
// Context: collector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "support/ids.h"
#include "support/pages.h"

namespace tensorscope::dump {

struct TensorFacts {
  Serial serial = 0;
  uint64_t address = 0;  // of the TensorImpl
  uint64_t storage_base = 0;
  uint64_t storage_nbytes = 0;
  uint64_t grad = 0;
  SiteId site = 0;
  uint32_t known = 0;  // format::TensorKnown
  uint32_t flags = 0;  // format::TensorFlag
  Device device{-1, -1};
  bool may_have_parts = false;  // sparse, or a wrapper
};

class TensorFactRows {
 public:
  TensorFactRows() = default;
  ~TensorFactRows() { unmap_pages(rows_, room_ * sizeof(TensorFacts)); }
  TensorFactRows(const TensorFactRows&) = delete;
  TensorFactRows& operator=(const TensorFactRows&) = delete;

  // Once, before the first row. False: no memory, and rows are dropped.
  bool reserve(size_t count) {
    rows_ = count != 0 ? static_cast<TensorFacts*>(map_pages(count * sizeof(TensorFacts))) : nullptr;
    room_ = rows_ != nullptr ? count : 0;
    return rows_ != nullptr || count == 0;
  }
  // Of more rows than there is room for, those of the largest storages stay.
  void add(const TensorFacts& facts) {
    if (size_ < room_) {
      rows_[size_++] = facts;
      return;
    }
    if (size_ == 0) return;
    if (!std::exchange(is_heap_, true)) std::make_heap(rows_, rows_ + size_, larger);
    if (!larger(facts, rows_[0])) return;
    std::pop_heap(rows_, rows_ + size_, larger);
    rows_[size_ - 1] = facts;
    std::push_heap(rows_, rows_ + size_, larger);
  }
  // After the last row: the largest, so many at most, in serial order.
  std::span<const TensorFacts> largest(size_t most) {
    if (most < size_) {
      std::nth_element(rows_, rows_ + most, rows_ + size_, larger);
      size_ = most;
    }
    std::sort(rows_, rows_ + size_, [](const TensorFacts& a, const TensorFacts& b) { return a.serial < b.serial; });
    return {rows_, size_};
  }
  size_t size() const { return size_; }

 private:
  static bool larger(const TensorFacts& a, const TensorFacts& b) {
    return a.storage_nbytes != b.storage_nbytes ? a.storage_nbytes > b.storage_nbytes : a.serial < b.serial;
  }
  TensorFacts* rows_ = nullptr;
  size_t room_ = 0, size_ = 0;
  bool is_heap_ = false;  // the smallest is the first
};

}  // namespace tensorscope::dump
