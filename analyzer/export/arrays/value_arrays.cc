// SPDX-License-Identifier: Apache-2.0
#include "export/arrays/value_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "dump/reader.h"
#include "dump/type_names.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

using values::Column;
using values::ColumnRow;
using values::Value;
using values::ValueColumns;
using Shape = std::vector<int64_t>;

constexpr uint64_t kMaxPadded = uint64_t{1} << 30;  // bytes; a larger array only where that is not mostly padding
constexpr uint64_t kMaxPadding = 4;                 // times the elements

template <typename T>
std::string_view bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// One number a row.
template <typename T>
ValueArray numbers(const std::string& name, int dtype, const Column& column, std::function<T(const ColumnRow&)> of) {
  ValueArray array{name, dtype, {column.rows.size()}, {}};
  array.write = [&column, of = std::move(of)](uint64_t first, const PutBytes& put) {
    std::vector<T> some;
    for (uint64_t i = first; i < column.rows.size(); ++i) {
      some.push_back(of(column.rows[i]));
      if (some.size() < 8192 && i + 1 < column.rows.size()) continue;
      put(bytes_of(some));
      some.clear();
    }
  };
  return array;
}

uint64_t size_of(const Shape& shape) { return values::element_count(shape); }

Shape padded_shape(const Column& column) {
  size_t ndim = 0;
  for (const ColumnRow& row : column.rows) ndim = std::max(ndim, row.value.kept_shape.size());
  Shape largest(ndim, 0);
  for (const ColumnRow& row : column.rows) {
    const Shape& shape = row.value.kept_shape;
    const size_t missing = ndim - shape.size();
    for (size_t i = 0; i < ndim; ++i) largest[i] = std::max(largest[i], i < missing ? 1 : shape[i - missing]);
  }
  return largest;
}

// A C-ordered array of `shape` into one of `largest`, which has no fewer dimensions and is zero at the ends.
std::string padded(const std::string& elements, Shape shape, const Shape& largest, size_t item) {
  shape.insert(shape.begin(), largest.size() - shape.size(), 1);
  if (shape == largest) return elements;
  std::string out(size_t(size_of(largest)) * item, 0);
  if (elements.empty()) return out;
  const size_t run = size_t(shape.back()) * item;
  Shape at(shape.size(), 0);
  for (size_t from = 0; from < elements.size(); from += run) {
    size_t to = 0;
    for (size_t i = 0; i + 1 < shape.size(); ++i) to = (to + size_t(at[i])) * size_t(largest[i + 1]);
    std::memcpy(out.data() + to * item, elements.data() + from, run);
    for (size_t i = shape.size() - 1; i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

int held_dtype(int dtype, const ArrayFormat& format) {
  switch (dtype) {
    case values::kBfloat16:
      return format.bfloat16 ? dtype : values::kFloat32;
    case values::kFloat8E5M2:
    case values::kFloat8E4M3:
    case values::kFloat8E8M0:
      return format.float8 ? dtype : values::kFloat32;
    case values::kFloat8E5M2Fnuz:
    case values::kFloat8E4M3Fnuz:
      return values::kFloat32;
    case values::kComplex32:
      return format.complex32 ? dtype : values::kComplex64;
    default:
      return dtype;
  }
}

// Every number of the narrower dtype is one of the wider.
std::string widened(std::string elements, int dtype, int held) {
  if (dtype == held) return elements;
  const size_t item = values::element_size(dtype), count = elements.size() / item;
  std::vector<uint32_t> bits;
  const auto add = [&bits](double number) {
    const float narrow = float(number);
    bits.emplace_back();
    std::memcpy(&bits.back(), &narrow, sizeof narrow);
  };
  for (size_t i = 0; i < count; ++i) {
    if (dtype == values::kBfloat16) {  // as they are, so that a NaN keeps its bits
      uint16_t half = 0;
      std::memcpy(&half, elements.data() + i * item, sizeof half);
      bits.push_back(uint32_t{half} << 16);
      continue;
    }
    add(values::real_of(dtype, elements.data(), i));
    if (values::is_complex(dtype)) add(values::imaginary_of(dtype, elements.data(), i));
  }
  return std::string(bytes_of(bits));
}

// The elements of a column as a format holds them.
struct Held {
  const ValueColumns& columns;
  const Column& column;
  int dtype;

  size_t item() const { return values::element_size(dtype); }
  std::string elements(const ColumnRow& row) const {
    std::optional<values::Elements> found = columns.files()[row.file]->elements_of(row.value);
    if (!found) throw analyzer::BadInput("the elements of " + std::string(row.value.name) + " are missing.");
    return widened(std::move(found->bytes), column.dtype, dtype);
  }
};

ValueArray padded_array(const Held& held, const Shape& largest) {
  ValueArray array{"values", held.dtype, {held.column.rows.size()}, {}};
  array.shape.insert(array.shape.end(), largest.begin(), largest.end());
  array.write = [held, largest](uint64_t first, const PutBytes& put) {
    for (uint64_t i = first; i < held.column.rows.size(); ++i) {
      const ColumnRow& row = held.column.rows[i];
      put(padded(held.elements(row), row.value.kept_shape, largest, held.item()));
    }
  };
  return array;
}

ValueArray whole_numbers(const std::string& name, std::vector<int64_t> numbers) {
  ValueArray array{name, values::kInt64, {numbers.size()}, {}};
  array.write = [numbers = std::move(numbers)](uint64_t first, const PutBytes& put) {
    put(bytes_of(numbers).substr(size_t(first) * sizeof(int64_t)));
  };
  return array;
}

// All elements one after the other, where each value's begin, and its shape.
void add_ragged(const Held& held, size_t ndim, std::vector<ValueArray>& out) {
  std::vector<int64_t> offsets{0};
  for (const ColumnRow& row : held.column.rows) {
    offsets.push_back(offsets.back() + int64_t(size_of(row.value.kept_shape)));
  }
  ValueArray flat{"flat", held.dtype, {uint64_t(offsets.back())}, {}};
  flat.write = [held, offsets](uint64_t first, const PutBytes& put) {
    for (uint64_t i = 0; i < held.column.rows.size(); ++i) {
      if (uint64_t(offsets[i]) >= first) put(held.elements(held.column.rows[i]));
    }
  };
  out.push_back(std::move(flat));
  out.push_back(whole_numbers("offsets", std::move(offsets)));
  ValueArray shapes{"shape", values::kInt64, {held.column.rows.size(), ndim}, {}};
  shapes.write = [&column = held.column, ndim](uint64_t first, const PutBytes& put) {
    for (uint64_t i = first; i < column.rows.size(); ++i) {
      Shape shape = column.rows[i].value.kept_shape;
      shape.insert(shape.begin(), ndim - shape.size(), 1);
      put(bytes_of(shape));
    }
  };
  out.push_back(std::move(shapes));
}

ColumnArrays element_arrays(const ValueColumns& columns, const Column& column, const ArrayFormat& format) {
  ColumnArrays out;
  const Held held{columns, column, held_dtype(column.dtype, format)};
  if (held.dtype != column.dtype) {
    out.converted = analyzer::dtype_name(column.dtype) + " as " + analyzer::dtype_name(held.dtype);
  }
  const Shape largest = padded_shape(column);
  const Shape& first = column.rows.front().value.kept_shape;
  const bool ragged = std::any_of(column.rows.begin(), column.rows.end(),
                                  [&first](const ColumnRow& row) { return row.value.kept_shape != first; });
  if (ragged) {
    add_ragged(held, largest.size(), out.arrays);
    uint64_t elements = 0, all = 0;
    for (const ColumnRow& row : column.rows) elements += size_of(row.value.kept_shape);
    const bool overflows = __builtin_mul_overflow(size_of(largest), column.rows.size() * held.item(), &all);
    out.without_pad = overflows || (all > kMaxPadded && all / held.item() / kMaxPadding > elements);
  }
  if (!out.without_pad) out.arrays.push_back(padded_array(held, largest));
  return out;
}

void add_texts(const ValueColumns& columns, const Column& column, const ArrayFormat& format, ColumnArrays& out) {
  std::vector<std::string> texts;
  for (const ColumnRow& row : column.rows) {
    const auto found = row.value.stored ? columns.files()[row.file]->elements_of(row.value) : std::nullopt;
    texts.push_back(found ? found->bytes : std::string());
  }
  if (format.texts) {
    ValueArray array{"values", kTexts, {texts.size()}, {}};
    array.texts = std::move(texts);
    out.arrays.push_back(std::move(array));
    return;
  }
  std::string all;
  std::vector<int64_t> offsets{0};
  for (const std::string& text : texts) {
    all += text;
    offsets.push_back(int64_t(all.size()));
  }
  ValueArray flat{"flat", values::kUint8, {all.size()}, {}};
  flat.write = [all](uint64_t first, const PutBytes& put) { put(std::string_view(all).substr(first)); };
  out.arrays.push_back(std::move(flat));
  out.arrays.push_back(whole_numbers("offsets", std::move(offsets)));
}

void add_numbers(const Column& column, std::vector<ValueArray>& out) {
  switch (column.kind) {
    case format::ValueKind::boolean:
      out.push_back(numbers<uint8_t>("values", values::kBool, column,
                                     [](const ColumnRow& row) { return uint8_t(row.value.number != 0); }));
      return;
    case format::ValueKind::integer:
      out.push_back(
          numbers<int64_t>("values", values::kInt64, column, [](const ColumnRow& row) { return row.value.integer; }));
      return;
    case format::ValueKind::real:
      out.push_back(
          numbers<double>("values", values::kFloat64, column, [](const ColumnRow& row) { return row.value.number; }));
      return;
    case format::ValueKind::complex: {
      struct Complex {
        double float64, imaginary;
      };
      out.push_back(numbers<Complex>("values", values::kComplex128, column, [](const ColumnRow& row) {
        return Complex{row.value.number, row.value.imaginary};
      }));
      return;
    }
    default:
      return;
  }
}

void add_statistics(const Column& column, std::vector<ValueArray>& out) {
  using values::Statistics;
  if (std::none_of(column.rows.begin(), column.rows.end(),
                   [](const ColumnRow& row) { return row.value.statistics.has_value(); })) {
    return;
  }
  const std::pair<const char*, double Statistics::*> kReals[] = {
      {"mean", &Statistics::mean},   {"std", &Statistics::deviation}, {"min", &Statistics::minimum},
      {"max", &Statistics::maximum}, {"sum", &Statistics::sum},       {"l1", &Statistics::l1},
      {"l2", &Statistics::l2},
  };
  for (const auto& [name, member] : kReals) {
    out.push_back(numbers<double>(name, values::kFloat64, column, [member = member](const ColumnRow& row) {
      return row.value.statistics ? (*row.value.statistics).*member : std::numeric_limits<double>::quiet_NaN();
    }));
  }
  const std::pair<const char*, uint64_t Statistics::*> kCounts[] = {
      {"count", &Statistics::count},
      {"nan", &Statistics::nan},
      {"positive_infinity", &Statistics::positive_infinity},
      {"negative_infinity", &Statistics::negative_infinity},
      {"zeros", &Statistics::zeros},
      {"hash", &Statistics::hash},
  };
  for (const auto& [name, member] : kCounts) {
    out.push_back(numbers<uint64_t>(name, values::kUint64, column, [member = member](const ColumnRow& row) {
      return row.value.statistics ? (*row.value.statistics).*member : 0;
    }));
  }
}

void add_series(const Column& column, std::vector<ValueArray>& out) {
  std::map<std::string, size_t> longest;
  for (const ColumnRow& row : column.rows) {
    for (const values::Series& series : row.value.series) {
      size_t& most = longest[series.what];
      most = std::max(most, series.numbers.size());
    }
  }
  for (const auto& [what, size] : longest) {
    ValueArray array{"series " + what, values::kFloat64, {column.rows.size(), size}, {}};
    array.write = [&column, what = what, size = size](uint64_t first, const PutBytes& put) {
      for (uint64_t i = first; i < column.rows.size(); ++i) {
        std::vector<double> all(size, std::numeric_limits<double>::quiet_NaN());
        for (const values::Series& series : column.rows[i].value.series) {
          if (series.what == what) std::copy(series.numbers.begin(), series.numbers.end(), all.begin());
        }
        put(bytes_of(all));
      }
    };
    out.push_back(std::move(array));
  }
}

// Beside each value: when, where and by whom it was taken.
void add_places(const ValueColumns& columns, const Column& column, std::vector<ValueArray>& out) {
  const auto whole = [&](const char* name, auto member) {
    out.push_back(
        numbers<uint32_t>(name, values::kUint32, column, [member](const ColumnRow& row) { return row.value.*member; }));
  };
  whole("step", &Value::step);
  whole("pass", &Value::pass);
  whole("index", &Value::index);
  whole("thread", &Value::thread);
  out.push_back(
      numbers<uint8_t>("mode", values::kUint8, column, [](const ColumnRow& row) { return uint8_t(row.value.mode); }));
  const auto& files = columns.files();
  out.push_back(numbers<int32_t>("rank", values::kInt32, column,
                                 [&files](const ColumnRow& row) { return int32_t(files[row.file]->process().rank); }));
  out.push_back(numbers<uint32_t>("pid", values::kUint32, column,
                                  [&files](const ColumnRow& row) { return uint32_t(files[row.file]->process().pid); }));
  out.push_back(numbers<uint64_t>("time_ns", values::kUint64, column, [&files](const ColumnRow& row) {
    return files[row.file]->unix_ns(row.value.time_ns);
  }));
  out.push_back(
      numbers<uint64_t>("serial", values::kUint64, column, [](const ColumnRow& row) { return row.value.serial; }));
}

}  // namespace

uint64_t ValueArray::bytes() const {
  uint64_t bytes = values::element_size(dtype);
  for (uint64_t size : shape) bytes *= size;
  return bytes;
}

std::string array_path(const std::string& key) {
  std::string out;
  for (char c : key) {
    const bool plain = uint8_t(c) >= ' ' && c != '/' && c != '%' && c != 127 && !(out.empty() && c == '.');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", uint8_t(c));
  }
  return out.empty() ? "%" : out;
}

ColumnArrays arrays_of(const ValueColumns& columns, const Column& column, const ArrayFormat& format) {
  ColumnArrays out;
  const bool readable = values::element_size(column.dtype) != 0;
  if (column.kind == format::ValueKind::tensor) {
    if (column.elements && readable) out = element_arrays(columns, column, format);
  } else if (column.kind == format::ValueKind::text || column.kind == format::ValueKind::other) {
    add_texts(columns, column, format, out);
  } else {
    add_numbers(column, out.arrays);
  }
  add_statistics(column, out.arrays);
  add_series(column, out.arrays);
  add_places(columns, column, out.arrays);
  return out;
}

}  // namespace tensorscope::exports
