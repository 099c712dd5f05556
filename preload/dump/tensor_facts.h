// What the short report of an out-of-memory dump needs of each tensor row, kept while the rows are written. A dump does
// not depend on it: where there is no memory for it, nothing is kept.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <span>

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
  void add(const TensorFacts& facts) {
    if (size_ < room_) rows_[size_++] = facts;
  }
  std::span<const TensorFacts> rows() const { return {rows_, size_}; }  // in serial order

 private:
  TensorFacts* rows_ = nullptr;
  size_t room_ = 0, size_ = 0;
};

}  // namespace tensorscope::dump
