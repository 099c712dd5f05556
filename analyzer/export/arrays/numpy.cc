// SPDX-License-Identifier: Apache-2.0
// numpy's files: a short header, then the elements as they are. An .npz is a ZIP archive of them, not compressed.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "dump/reader.h"
#include "export/arrays/values_export.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

constexpr ArrayFormat kNumpy;
constexpr uint64_t kLargest32 = 0xffffffff;

const char* numpy_type(int dtype) {
  switch (dtype) {
    case values::kUint8:
      return "|u1";
    case values::kInt8:
      return "|i1";
    case values::kBool:
      return "|b1";
    case values::kInt16:
      return "<i2";
    case values::kInt32:
      return "<i4";
    case values::kInt64:
      return "<i8";
    case values::kUint16:
      return "<u2";
    case values::kUint32:
      return "<u4";
    case values::kUint64:
      return "<u8";
    case values::kFloat16:
      return "<f2";
    case values::kFloat32:
      return "<f4";
    case values::kFloat64:
      return "<f8";
    case values::kComplex64:
      return "<c8";
    default:
      return "<c16";
  }
}

std::string npy_header(const ValueArray& array) {
  std::string shape;
  for (uint64_t size : array.shape) shape += std::to_string(size) + ", ";
  if (array.shape.size() == 1) {
    shape.pop_back();
  } else if (!shape.empty()) {
    shape.resize(shape.size() - 2);
  }
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_type(array.dtype), shape);
  constexpr size_t kBefore = 10;  // magic, version, length
  while ((kBefore + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(text.size() & 0xff);
  header += char(text.size() >> 8);
  return header + text;
}

void put_npy(const ValueArray& array, const PutBytes& put) {
  put(npy_header(array));
  array.write(0, put);
}

void write_npy(const ValueArray& array, std::ostream& out) {
  put_npy(array, [&out](std::string_view bytes) { out.write(bytes.data(), std::streamsize(bytes.size())); });
}

// Members are stored, and found by the directory at the end. Sizes above 4 GiB are in extra fields (ZIP64).
class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  void add(const std::string& name, uint64_t size, const std::function<void(const PutBytes&)>& write) {
    Member member{name, uint64_t(out_.tellp()), size, 0};
    put_local(member);
    uint64_t written = 0;
    write([&](std::string_view bytes) {
      for (std::string_view rest = bytes; !rest.empty();) {
        const std::string_view some = rest.substr(0, 1u << 30);
        member.crc = uint32_t(crc32(member.crc, reinterpret_cast<const Bytef*>(some.data()), uInt(some.size())));
        rest.remove_prefix(some.size());
      }
      out_.write(bytes.data(), std::streamsize(bytes.size()));
      written += bytes.size();
    });
    if (written != size) throw analyzer::BadInput("the elements of " + name + " are not as many as their shapes say.");
    const auto end = out_.tellp();
    out_.seekp(std::streamoff(member.offset + kCrcAt));
    number(member.crc, 4);
    out_.seekp(end);
    members_.push_back(std::move(member));
  }

  void finish() {
    const uint64_t begin = uint64_t(out_.tellp());
    for (const Member& member : members_) put_central(member);
    const uint64_t end = uint64_t(out_.tellp()), size = end - begin, count = members_.size();
    number(0x06064b50, 4);
    number(44, 8);
    number(45, 2);
    number(45, 2);
    number(0, 8);
    number(count, 8);
    number(count, 8);
    number(size, 8);
    number(begin, 8);
    number(0x07064b50, 4);
    number(0, 4);
    number(end, 8);
    number(1, 4);
    number(0x06054b50, 4);
    number(0, 4);
    number(std::min<uint64_t>(count, 0xffff), 2);
    number(std::min<uint64_t>(count, 0xffff), 2);
    number(std::min(size, kLargest32), 4);
    number(std::min(begin, kLargest32), 4);
    number(0, 2);
  }

 private:
  static constexpr uint64_t kCrcAt = 14;
  static constexpr unsigned kUtf8 = 1u << 11;
  static constexpr unsigned kDate = (1 << 5) | 1;  // 1980-01-01: the archive of the same values has the same bytes
  struct Member {
    std::string name;
    uint64_t offset, size;
    uint32_t crc;
  };

  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_.put(char(value >> (8 * i)));
  }
  void put_common(const Member& member) {
    number(45, 2);
    number(kUtf8, 2);
    number(0, 2);  // stored
    number(0, 2);
    number(kDate, 2);
    number(member.crc, 4);
    number(kLargest32, 4);
    number(kLargest32, 4);
    number(member.name.size(), 2);
  }
  void put_local(const Member& member) {
    number(0x04034b50, 4);
    put_common(member);
    number(20, 2);
    out_ << member.name;
    number(1, 2);
    number(16, 2);
    number(member.size, 8);
    number(member.size, 8);
  }
  void put_central(const Member& member) {
    number(0x02014b50, 4);
    number(45, 2);
    put_common(member);
    number(28, 2);
    number(0, 2);  // comment
    number(0, 2);  // disk
    number(0, 2);
    number(0, 4);
    number(kLargest32, 4);
    out_ << member.name;
    number(1, 2);
    number(24, 2);
    number(member.size, 8);
    number(member.size, 8);
    number(member.offset, 8);
  }

  std::ostream& out_;
  std::vector<Member> members_;
};

}  // namespace

void ExportNotes::take(const values::Column& column, const ColumnArrays& arrays) {
  if (!arrays.converted.empty()) converted.push_back(column.key + ": " + arrays.converted);
  if (arrays.without_pad) without_pad.push_back(column.key);
}

void export_npz(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes) {
  ZipWriter zip(out);
  for (const values::Column& column : columns.columns()) {
    const ColumnArrays arrays = arrays_of(columns, column, kNumpy);
    notes.take(column, arrays);
    for (const ValueArray& array : arrays.arrays) {
      zip.add(array_path(column.key) + "/" + array_path(array.name) + ".npy", npy_header(array).size() + array.bytes(),
              [&array](const PutBytes& put) { put_npy(array, put); });
    }
  }
  zip.finish();
}

void export_npy(const values::ValueColumns& columns, const FileOf& file, ExportNotes& notes) {
  for (const values::Column& column : columns.columns()) {
    const ColumnArrays arrays = arrays_of(columns, column, kNumpy);
    notes.take(column, arrays);
    for (const ValueArray& array : arrays.arrays) {
      file(array_path(column.key) + "/" + array_path(array.name) + ".npy",
           [&array](std::ostream& out) { write_npy(array, out); });
    }
  }
}

void export_one_npy(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes) {
  const values::Column& column = columns.columns().front();
  const ColumnArrays arrays = arrays_of(columns, column, kNumpy);
  notes.take(column, arrays);
  const auto found = std::find_if(arrays.arrays.begin(), arrays.arrays.end(),
                                  [](const ValueArray& array) { return array.name == "values"; });
  if (found == arrays.arrays.end()) {
    throw analyzer::BadInput(column.key + " has no array of values that fits one .npy; export into a folder: OUT/");
  }
  write_npy(*found, out);
}

}  // namespace tensorscope::exports
