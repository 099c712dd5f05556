// SPDX-License-Identifier: Apache-2.0
#include "tables/parquet_writer.h"

#include <bit>
#include <utility>

#include "dump/reader.h"

namespace tensorscope::tables {

namespace {

using Kind = ParquetField::Kind;

constexpr int kBoolean = 0, kInt64 = 2, kDouble = 5, kByteArray = 6;
constexpr int kPlain = 0, kRuns = 3, kDictionary = 8;
constexpr int kThriftStruct = 12, kThriftText = 8, kThriftWhole = 5;
constexpr size_t kGroupBytes = size_t{64} << 20, kGroupRows = 1 << 16, kMaxPage = INT32_MAX;

int parquet_type(Kind kind) {
  switch (kind) {
    case Kind::int64:
      return kInt64;
    case Kind::float64:
      return kDouble;
    case Kind::boolean:
      return kBoolean;
    default:
      return kByteArray;
  }
}

template <typename T>
void append(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += char(number | 0x80);
  out += char(number);
}

// Runs of which rows have a value.
std::string levels(const std::vector<bool>& there) {
  std::string runs;
  for (size_t i = 0; i < there.size();) {
    size_t end = i + 1;
    while (end < there.size() && there[end] == there[i]) ++end;
    append_varint(runs, uint64_t(end - i) << 1);
    runs += char(there[i]);
    i = end;
  }
  std::string out;
  append(out, uint32_t(runs.size()));
  return out + runs;
}

std::string packed(const std::vector<bool>& bits) {
  std::string out((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i) out[i / 8] = char(uint8_t(out[i / 8]) | uint8_t(bits[i]) << (i % 8));
  return out;
}

// Numbers below `count`, each in as few bits as do for all, groups of eight.
std::string packed(const std::vector<uint32_t>& numbers, size_t count) {
  const unsigned width = count < 3 ? 1 : unsigned(std::bit_width(count - 1));
  std::string out(1, char(width));
  const size_t groups = (numbers.size() + 7) / 8;
  append_varint(out, groups << 1 | 1);
  uint64_t bits = 0;
  unsigned held = 0;
  for (size_t i = 0; i < groups * 8; ++i) {
    bits |= uint64_t(i < numbers.size() ? numbers[i] : 0) << held;
    for (held += width; held >= 8; held -= 8) {
      out += char(bits);
      bits >>= 8;
    }
  }
  return out;
}

}  // namespace

// Thrift's compact protocol, as much of it as pages and the footer need.
class ParquetWriter::Thrift {
 public:
  const std::string& bytes() const { return bytes_; }
  void int64(int field, int64_t number, bool wide) {
    head(field, wide ? 6 : 5);
    append_varint(bytes_, (uint64_t(number) << 1) ^ uint64_t(number >> 63));
  }
  void text(int field, std::string_view value) {
    head(field, 8);
    bare(value);
  }
  void bare(std::string_view value) {
    append_varint(bytes_, value.size());
    bytes_ += value;
  }
  void bare(int32_t number) { append_varint(bytes_, uint64_t(uint32_t(number)) << 1); }
  // `type`: of the elements, which follow.
  void list(int field, size_t count, int type) {
    head(field, 9);
    if (count < 15) {
      bytes_ += char(count << 4 | size_t(type));
    } else {
      bytes_ += char(0xf0 | type);
      append_varint(bytes_, count);
    }
  }
  void begin(int field) {
    head(field, 12);
    begin();
  }
  void begin() {  // of an element of a list, or the outermost
    outer_.push_back(last_);
    last_ = 0;
  }
  void end() {
    bytes_ += '\0';
    last_ = outer_.back();
    outer_.pop_back();
  }

 private:
  void head(int field, int type) {  // fields rise by less than 16
    bytes_ += char((field - last_) << 4 | type);
    last_ = field;
  }

  std::string bytes_;
  int last_ = 0;
  std::vector<int> outer_;
};

ParquetWriter::ParquetWriter(std::ostream& out, std::string name, std::vector<ParquetField> fields)
    : out_(out), name_(std::move(name)), fields_(std::move(fields)), columns_(fields_.size()) {
  put("PAR1");
}

void ParquetWriter::null() { columns_[field_++].there.push_back(false); }

void ParquetWriter::int64(int64_t value) {
  Waiting& column = columns_[field_++];
  column.there.push_back(true);
  append(column.plain, value);
  waiting_ += sizeof value;
}

void ParquetWriter::float64(double value) {
  Waiting& column = columns_[field_++];
  column.there.push_back(true);
  append(column.plain, value);
  waiting_ += sizeof value;
}

void ParquetWriter::boolean(bool value) {
  Waiting& column = columns_[field_++];
  column.there.push_back(true);
  column.truths.push_back(value);
}

void ParquetWriter::text(std::string_view value) {
  const bool dictionary = fields_[field_].kind == Kind::dictionary;
  Waiting& column = columns_[field_++];
  column.there.push_back(true);
  if (dictionary) {
    const auto [found, fresh] = column.words.try_emplace(std::string(value), uint32_t(column.words.size()));
    column.numbers.push_back(found->second);
    if (!fresh) return;
  }
  append(column.plain, uint32_t(value.size()));
  column.plain += value;
  waiting_ += value.size() + sizeof(uint32_t);
}

void ParquetWriter::end_row() {
  field_ = 0;
  ++rows_waiting_;
  if (waiting_ > kGroupBytes || rows_waiting_ >= kGroupRows) end_group();
}

void ParquetWriter::put(std::string_view bytes) {
  out_.write(bytes.data(), std::streamsize(bytes.size()));
  at_ += bytes.size();
}

void ParquetWriter::put_page(int encoding, size_t values, const std::string& content) {
  if (content.size() > kMaxPage) {
    throw analyzer::BadInput("a value is too large for Parquet (2 GiB); use .npz or .h5.");
  }
  Thrift head;
  head.begin();
  head.int64(1, 0, false);  // a data page
  head.int64(2, int64_t(content.size()), false);
  head.int64(3, int64_t(content.size()), false);
  head.begin(5);
  head.int64(1, int64_t(values), false);
  head.int64(2, encoding, false);
  head.int64(3, kRuns, false);
  head.int64(4, kRuns, false);
  head.end();
  head.end();
  put(head.bytes());
  put(content);
}

void ParquetWriter::put_dictionary(const Waiting& column) {
  Thrift head;
  head.begin();
  head.int64(1, 2, false);  // a dictionary page
  head.int64(2, int64_t(column.plain.size()), false);
  head.int64(3, int64_t(column.plain.size()), false);
  head.begin(7);
  head.int64(1, int64_t(column.words.size()), false);
  head.int64(2, kPlain, false);
  head.end();
  head.end();
  put(head.bytes());
  put(column.plain);
}

void ParquetWriter::end_group() {
  if (rows_waiting_ == 0) return;
  Group group;
  group.rows = rows_waiting_;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Waiting column = std::exchange(columns_[i], {});
    Page page;
    const uint64_t begin = at_;
    const bool words = !column.words.empty();
    if (words) {
      page.dictionary = at_;
      put_dictionary(column);
    }
    page.offset = at_;
    put_page(words ? kDictionary : kPlain, rows_waiting_,
             levels(column.there) + (words                              ? packed(column.numbers, column.words.size())
                                     : fields_[i].kind == Kind::boolean ? packed(column.truths)
                                                                        : column.plain));
    page.bytes = at_ - begin;
    group.bytes += page.bytes;
    group.pages.push_back(page);
  }
  rows_ += rows_waiting_;
  rows_waiting_ = waiting_ = 0;
  groups_.push_back(std::move(group));
}

void ParquetWriter::put_group(Thrift& meta, const Group& group) const {
  meta.begin();
  meta.list(1, fields_.size(), kThriftStruct);
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Page& page = group.pages[i];
    meta.begin();
    meta.int64(2, int64_t(page.dictionary != 0 ? page.dictionary : page.offset), true);
    meta.begin(3);
    meta.int64(1, parquet_type(fields_[i].kind), false);
    meta.list(2, page.dictionary != 0 ? 3 : 2, kThriftWhole);
    meta.bare(kPlain);
    meta.bare(kRuns);
    if (page.dictionary != 0) meta.bare(kDictionary);
    meta.list(3, 1, kThriftText);
    meta.bare(std::string_view(fields_[i].name));
    meta.int64(4, 0, false);  // not compressed
    meta.int64(5, int64_t(group.rows), true);
    meta.int64(6, int64_t(page.bytes), true);
    meta.int64(7, int64_t(page.bytes), true);
    meta.int64(9, int64_t(page.offset), true);
    if (page.dictionary != 0) meta.int64(11, int64_t(page.dictionary), true);
    meta.end();
    meta.end();
  }
  meta.int64(2, int64_t(group.bytes), true);
  meta.int64(3, int64_t(group.rows), true);
  meta.end();
}

void ParquetWriter::finish() {
  end_group();
  Thrift meta;
  meta.begin();
  meta.int64(1, 1, false);
  meta.list(2, fields_.size() + 1, kThriftStruct);
  meta.begin();
  meta.text(4, name_);
  meta.int64(5, int64_t(fields_.size()), false);
  meta.end();
  for (const ParquetField& field : fields_) {
    meta.begin();
    meta.int64(1, parquet_type(field.kind), false);
    meta.int64(3, 1, false);  // optional
    meta.text(4, field.name);
    if (field.kind == Kind::text || field.kind == Kind::dictionary) meta.int64(6, 0, false);  // UTF-8
    meta.end();
  }
  meta.int64(3, int64_t(rows_), true);
  meta.list(4, groups_.size(), kThriftStruct);
  for (const Group& group : groups_) put_group(meta, group);
  meta.text(6, "tensorscope");
  meta.end();
  put(meta.bytes());
  std::string length;
  append(length, uint32_t(meta.bytes().size()));
  put(length + "PAR1");
}

}  // namespace tensorscope::tables
