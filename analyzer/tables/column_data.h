// SPDX-License-Identifier: Apache-2.0
// One column of some rows, in the memory layout of Arrow: numbers side by side, a bit each for "has a value".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensorscope::tables {

enum class Type : uint8_t {
  int64,      // int64
  float64,    // double
  boolean,    // bool
  text,       // UTF-8, a text of its own in most rows
  dictionary  // UTF-8, few different ones: kept once each
};
constexpr bool is_text(Type type) { return type == Type::text || type == Type::dictionary; }

class ColumnData {
 public:
  explicit ColumnData(Type type) : type_(type), ends_(is_text(type) ? 1 : 0) {}

  // Values of row rows(); one of them, or none for null, before end_row(). Numbers beyond a signed one wrap.
  void int64(uint64_t value);
  void float64(double value);
  void boolean(bool value);
  void text(std::string_view value);  // made printable
  void end_row();

  Type type() const { return type_; }
  size_t rows() const { return rows_; }
  size_t nulls() const { return nulls_; }
  bool is_null(size_t row) const { return (valid_[row / 8] >> (row % 8) & 1) == 0; }
  int64_t int64_at(size_t row) const { return int64s_[row]; }
  double float64_at(size_t row) const { return float64s_[row]; }
  bool boolean_at(size_t row) const { return (bits_[row / 8] >> (row % 8) & 1) != 0; }
  std::string_view text_at(size_t row) const;
  size_t text_bytes() const { return bytes_.size(); }

  // The parts as Arrow has them.
  const std::vector<uint8_t>& valid() const { return valid_; }
  const std::vector<uint8_t>& bits() const { return bits_; }
  const std::vector<int64_t>& int64s() const { return int64s_; }
  const std::vector<double>& float64s() const { return float64s_; }
  const std::vector<int32_t>& words() const { return words_; }  // of type dictionary: which text each row has
  const std::vector<int32_t>& ends() const { return ends_; }    // 0, then where each text ends
  const std::string& bytes() const { return bytes_; }

 private:
  void add_text(std::string_view value);

  Type type_;
  bool given_ = false;
  size_t rows_ = 0, nulls_ = 0;
  std::vector<uint8_t> valid_, bits_;
  std::vector<int64_t> int64s_;
  std::vector<double> float64s_;
  std::vector<int32_t> words_, ends_;
  std::string bytes_;
  std::unordered_map<std::string, int32_t> known_;
};

}  // namespace tensorscope::tables
