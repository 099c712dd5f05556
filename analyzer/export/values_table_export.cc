// CSV and Parquet: one row a value. Parquet is written plain and uncompressed: pages of optional columns, and at the
// end what they are, in Thrift's compact protocol.
#include <fmt/format.h>

#include "dump/reader.h"
#include "export/csv_field.h"
#include "export/value_table.h"
#include "export/values_export.h"
#include "support/printable.h"

namespace tensorscope::exports {

namespace {

using Type = TableField::Type;

// Thrift's compact protocol, as much of it as the footer needs.
class Thrift {
 public:
  const std::string& bytes() const { return bytes_; }
  void whole(int field, int64_t number, bool wide) {
    head(field, wide ? 6 : 5);
    varint((uint64_t(number) << 1) ^ uint64_t(number >> 63));
  }
  void text(int field, std::string_view value) {
    head(field, 8);
    bare(value);
  }
  void bare(std::string_view value) {
    varint(value.size());
    bytes_ += value;
  }
  void bare(int32_t number) { varint((uint64_t(uint32_t(number)) << 1)); }
  // `type`: of the elements, which follow.
  void list(int field, size_t count, int type) {
    head(field, 9);
    if (count < 15) {
      bytes_ += char(count << 4 | size_t(type));
    } else {
      bytes_ += char(0xf0 | type);
      varint(count);
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
  void varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += char(number | 0x80);
    bytes_ += char(number);
  }

  std::string bytes_;
  int last_ = 0;
  std::vector<int> outer_;
};

constexpr int kInt64 = 2, kDouble = 5, kByteArray = 6;
constexpr int kThriftStruct = 12, kThriftText = 8, kThriftWhole = 5;

int parquet_type(Type type) { return type == Type::whole ? kInt64 : type == Type::real ? kDouble : kByteArray; }

class ParquetWriter {
 public:
  explicit ParquetWriter(std::ostream& out) : out_(out), columns_(table_fields().size()) { put("PAR1"); }

  void row(const std::vector<TableCell>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      Waiting& column = columns_[i];
      const TableCell& cell = cells[i];
      const bool there = cell.index() != 0;
      column.levels.push_back(there);
      const size_t before = column.plain.size();
      if (const auto* whole = std::get_if<int64_t>(&cell)) append(column.plain, *whole);
      if (const auto* real = std::get_if<double>(&cell)) append(column.plain, *real);
      if (const auto* text = std::get_if<std::string>(&cell)) {
        const bool bytes = table_fields()[i].type == Type::elements;
        const std::string written = bytes ? *text : analyzer::printable(*text);
        append(column.plain, uint32_t(written.size()));
        column.plain += written;
      }
      waiting_ += column.plain.size() - before;
    }
    ++rows_waiting_;
    if (waiting_ > kGroupBytes || rows_waiting_ >= kGroupRows) end_group();
  }

  void finish() {
    end_group();
    Thrift meta;
    meta.begin();
    meta.whole(1, 1, false);
    const auto fields = table_fields();
    meta.list(2, fields.size() + 1, kThriftStruct);
    meta.begin();
    meta.text(4, "values");
    meta.whole(5, int64_t(fields.size()), false);
    meta.end();
    for (const TableField& field : fields) {
      meta.begin();
      meta.whole(1, parquet_type(field.type), false);
      meta.whole(3, 1, false);  // optional
      meta.text(4, field.name);
      if (field.type == Type::text) meta.whole(6, 0, false);  // UTF-8
      meta.end();
    }
    meta.whole(3, int64_t(rows_), true);
    meta.list(4, groups_.size(), kThriftStruct);
    for (const Group& group : groups_) put_group(meta, group);
    meta.text(6, "tensorscope");
    meta.end();
    put(meta.bytes());
    std::string length;
    append(length, uint32_t(meta.bytes().size()));
    put(length + "PAR1");
  }

 private:
  static constexpr size_t kGroupBytes = size_t{64} << 20, kGroupRows = 1 << 16, kMostPage = INT32_MAX;
  struct Waiting {
    std::vector<bool> levels;
    std::string plain;
  };
  struct Page {
    uint64_t offset = 0, bytes = 0;
  };
  struct Group {
    std::vector<Page> pages;
    uint64_t rows = 0, bytes = 0;
  };

  template <typename T>
  static void append(std::string& out, T number) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void put(std::string_view bytes) {
    out_.write(bytes.data(), std::streamsize(bytes.size()));
    at_ += bytes.size();
  }

  // Runs of which rows have a value.
  static std::string levels(const std::vector<bool>& there) {
    std::string runs;
    for (size_t i = 0; i < there.size();) {
      size_t end = i + 1;
      while (end < there.size() && there[end] == there[i]) ++end;
      for (uint64_t head = uint64_t(end - i) << 1;; head >>= 7) {
        if (head < 0x80) {
          runs += char(head);
          break;
        }
        runs += char(head | 0x80);
      }
      runs += char(there[i]);
      i = end;
    }
    std::string out;
    append(out, uint32_t(runs.size()));
    return out + runs;
  }

  void end_group() {
    if (rows_waiting_ == 0) return;
    Group group;
    group.rows = rows_waiting_;
    for (Waiting& column : columns_) {
      const std::string known = levels(column.levels);
      const uint64_t size = known.size() + column.plain.size();
      if (size > kMostPage) throw analyzer::BadInput("a value is too large for Parquet (2 GiB); use .npz or .h5.");
      Thrift head;
      head.begin();
      head.whole(1, 0, false);  // a data page
      head.whole(2, int64_t(size), false);
      head.whole(3, int64_t(size), false);
      head.begin(5);
      head.whole(1, int64_t(rows_waiting_), false);
      head.whole(2, 0, false);  // plain
      head.whole(3, 3, false);  // runs
      head.whole(4, 3, false);
      head.end();
      head.end();
      const uint64_t begin = at_;
      put(head.bytes());
      put(known);
      put(column.plain);
      group.pages.push_back({begin, at_ - begin});
      group.bytes += at_ - begin;
      column = {};
    }
    rows_ += rows_waiting_;
    rows_waiting_ = waiting_ = 0;
    groups_.push_back(std::move(group));
  }

  static void put_group(Thrift& meta, const Group& group) {
    const auto fields = table_fields();
    meta.begin();
    meta.list(1, fields.size(), kThriftStruct);
    for (size_t i = 0; i < fields.size(); ++i) {
      const Page& page = group.pages[i];
      meta.begin();
      meta.whole(2, int64_t(page.offset), true);
      meta.begin(3);
      meta.whole(1, parquet_type(fields[i].type), false);
      meta.list(2, 2, kThriftWhole);
      meta.bare(0);
      meta.bare(3);
      meta.list(3, 1, kThriftText);
      meta.bare(std::string_view(fields[i].name));
      meta.whole(4, 0, false);  // not compressed
      meta.whole(5, int64_t(group.rows), true);
      meta.whole(6, int64_t(page.bytes), true);
      meta.whole(7, int64_t(page.bytes), true);
      meta.whole(9, int64_t(page.offset), true);
      meta.end();
      meta.end();
    }
    meta.whole(2, int64_t(group.bytes), true);
    meta.whole(3, int64_t(group.rows), true);
    meta.end();
  }

  std::ostream& out_;
  uint64_t at_ = 0, rows_ = 0, rows_waiting_ = 0, waiting_ = 0;
  std::vector<Waiting> columns_;
  std::vector<Group> groups_;
};

}  // namespace

void export_values_csv(const values::ValueColumns& columns, std::ostream& out) {
  const auto fields = table_fields();
  for (size_t i = 0; i < fields.size(); ++i) out << (i == 0 ? "" : ",") << fields[i].name;
  out << "\r\n";
  for_each_table_row(columns, [&](const values::Column& column, const std::vector<TableCell>& row) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i != 0) out << ',';
      if (const auto* whole = std::get_if<int64_t>(&row[i])) out << *whole;
      if (const auto* real = std::get_if<double>(&row[i])) out << fmt::format("{}", *real);
      if (const auto* text = std::get_if<std::string>(&row[i])) {
        out << (fields[i].type == Type::elements ? elements_text(column.dtype, *text)
                                                 : csv_field(analyzer::printable(*text)));
      }
    }
    out << "\r\n";
  });
}

void export_values_parquet(const values::ValueColumns& columns, std::ostream& out) {
  ParquetWriter writer(out);
  for_each_table_row(columns, [&writer](const values::Column&, const std::vector<TableCell>& row) { writer.row(row); });
  writer.finish();
}

}  // namespace tensorscope::exports
