// SPDX-License-Identifier: Apache-2.0
// A Parquet file, plain and uncompressed: pages of optional columns, and at the end what they are, in Thrift's compact
// protocol. Texts that repeat stand in a dictionary.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensorscope::tables {

struct ParquetField {
  enum class Kind : uint8_t {
    int64,
    float64,
    boolean,
    text,
    dictionary,
    bytes
  } kind;  // dictionary: a text that repeats
  std::string name;
};

class ParquetWriter {
 public:
  // `name`: of the whole. A stream that fails is the caller's to see.
  ParquetWriter(std::ostream& out, std::string name, std::vector<ParquetField> fields);

  // The cells of a row, one for each field. Texts are valid UTF-8.
  void null();
  void int64(int64_t value);
  void float64(double value);
  void boolean(bool value);
  void text(std::string_view value);  // also bytes
  // Throws analyzer::BadInput where a page would be too large.
  void end_row();
  void finish();

 private:
  struct Waiting {
    std::vector<bool> there;
    std::vector<bool> truths;
    std::string plain;
    std::unordered_map<std::string, uint32_t> words;
    std::vector<uint32_t> numbers;
  };
  struct Page {
    uint64_t dictionary = 0, offset = 0, bytes = 0;  // dictionary: offset, 0 for none
  };
  struct Group {
    std::vector<Page> pages;
    uint64_t rows = 0, bytes = 0;
  };
  class Thrift;

  void put(std::string_view bytes);
  void put_page(int encoding, size_t values, const std::string& content);
  void put_dictionary(const Waiting& column);
  void put_group(Thrift& meta, const Group& group) const;
  void end_group();

  std::ostream& out_;
  const std::string name_;
  const std::vector<ParquetField> fields_;
  uint64_t at_ = 0, rows_ = 0, rows_waiting_ = 0, waiting_ = 0;
  size_t field_ = 0;  // of the next cell
  std::vector<Waiting> columns_;
  std::vector<Group> groups_;
};

}  // namespace tensorscope::tables
