// SPDX-License-Identifier: Apache-2.0
#include "tables/column_data.h"

#include "support/printable.h"

namespace tensorscope::tables {

void ColumnData::int64(uint64_t value) {
  int64s_.push_back(int64_t(value));
  given_ = true;
}

void ColumnData::float64(double value) {
  float64s_.push_back(value);
  given_ = true;
}

void ColumnData::boolean(bool value) {
  if (rows_ % 8 == 0) bits_.push_back(0);
  if (value) bits_.back() |= uint8_t(1 << (rows_ % 8));
  given_ = true;
}

void ColumnData::add_text(std::string_view value) {
  bytes_ += value;
  ends_.push_back(int32_t(bytes_.size()));
}

void ColumnData::text(std::string_view value) {
  given_ = true;
  const std::string clean = analyzer::printable(value);
  if (type_ == Type::text) return add_text(clean);
  const auto [found, fresh] = known_.try_emplace(clean, int32_t(known_.size()));
  if (fresh) add_text(clean);
  words_.push_back(found->second);
}

void ColumnData::end_row() {
  if (rows_ % 8 == 0) valid_.push_back(0);
  if (given_) {
    valid_.back() |= uint8_t(1 << (rows_ % 8));
  } else {
    ++nulls_;
    switch (type_) {
      case Type::int64:
        int64s_.push_back(0);
        break;
      case Type::float64:
        float64s_.push_back(0);
        break;
      case Type::boolean:
        if (rows_ % 8 == 0) bits_.push_back(0);
        break;
      case Type::text:
        ends_.push_back(int32_t(bytes_.size()));
        break;
      case Type::dictionary:
        words_.push_back(0);
        break;
    }
  }
  given_ = false;
  ++rows_;
}

std::string_view ColumnData::text_at(size_t row) const {
  const size_t at = type_ == Type::dictionary ? size_t(words_[row]) : row;
  return std::string_view(bytes_).substr(size_t(ends_[at]), size_t(ends_[at + 1] - ends_[at]));
}

}  // namespace tensorscope::tables
