// SPDX-License-Identifier: Apache-2.0
// safetensors: the length of a JSON header, the header with each tensor's dtype, shape and place, the elements.
#include "export/arrays/values_export.h"
#include "export/json/scalars.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

constexpr ArrayFormat kSafetensors = {.bfloat16 = true, .float8 = true};

const char* safetensors_type(int dtype) {
  switch (dtype) {
    case values::kUint8:
      return "U8";
    case values::kInt8:
      return "I8";
    case values::kBool:
      return "BOOL";
    case values::kInt16:
      return "I16";
    case values::kInt32:
      return "I32";
    case values::kInt64:
      return "I64";
    case values::kUint16:
      return "U16";
    case values::kUint32:
      return "U32";
    case values::kUint64:
      return "U64";
    case values::kFloat16:
      return "F16";
    case values::kBfloat16:
      return "BF16";
    case values::kFloat32:
      return "F32";
    case values::kFloat8E5M2:
      return "F8_E5M2";
    case values::kFloat8E4M3:
      return "F8_E4M3";
    case values::kFloat8E8M0:
      return "F8_E8M0";
    case values::kComplex64:
      return "C64";
    default:
      return "F64";
  }
}

}  // namespace

void export_safetensors(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes) {
  Json header = Json::object();
  std::vector<ColumnArrays> all;
  uint64_t at = 0;
  for (const values::Column& column : columns.columns()) {
    all.push_back(arrays_of(columns, column, kSafetensors));
    if (column.elements && column.dtype == values::kComplex128) {
      all.back().converted = "complex128 as pairs of float64";
    }
    notes.take(column, all.back());
    for (const ValueArray& array : all.back().arrays) {
      std::vector<uint64_t> shape = array.shape;
      if (array.dtype == values::kComplex128) shape.push_back(2);
      header[array_path(column.key) + "/" + array_path(array.name)] = {
          {"dtype", safetensors_type(array.dtype)}, {"shape", shape}, {"data_offsets", {at, at + array.bytes()}}};
      at += array.bytes();
    }
  }
  header["__metadata__"] = {{"format", "pt"}};
  std::string text = text_of(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text;
  for (const ColumnArrays& arrays : all) {
    for (const ValueArray& array : arrays.arrays) {
      array.write(0, [&out](std::string_view bytes) { out.write(bytes.data(), std::streamsize(bytes.size())); });
    }
  }
}

}  // namespace tensorscope::exports
