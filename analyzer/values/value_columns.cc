// SPDX-License-Identifier: Apache-2.0
#include "values/value_columns.h"

#include <algorithm>

#include "dump/type_names.h"

namespace tensorscope::values {

ValueColumns::ValueColumns(const Files& files, const ValueFilter& filter)
    : files_(files), filter_(filter), sources_(files.size()) {
  take_new();
}

bool ValueColumns::take_new() {
  const uint64_t before = rows_;
  for (size_t file = 0; file < files_.size(); ++file) {
    NameCache names(filter_);
    files_[file]->for_each_value_after(sources_[file].last_serial, [&](const Value& value) {
      sources_[file].last_serial = std::max(sources_[file].last_serial, value.serial);
      if (!names.takes(value)) return true;
      Value row = value;
      find_elements(file, row);
      column_of(row).rows.push_back({file, std::move(row)});
      ++rows_;
      return true;
    });
  }
  return rows_ != before;
}

void ValueColumns::sort_by_step() {
  if (files_.size() < 2) return;
  for (Column& column : columns_) {
    std::stable_sort(column.rows.begin(), column.rows.end(),
                     [](const ColumnRow& a, const ColumnRow& b) { return a.value.step < b.value.step; });
  }
}

// Otherwise each of a thousand unchanged values would look for the first one.
void ValueColumns::find_elements(size_t file, Value& value) {
  if (value.stored || !value.unchanged()) return;
  auto& repeated = sources_[file].repeated;
  auto found = repeated.find(value.same_as);
  if (found == repeated.end()) {
    std::optional<Value> first = files_[file]->value(value.same_as);
    while (first && !first->stored && first->unchanged()) first = files_[file]->value(first->same_as);
    if (!first) return;
    found = repeated.emplace(value.same_as, std::move(*first)).first;
  }
  const Value& first = found->second;
  if (!first.stored) return;
  value.stored = true;
  value.data_begin = first.data_begin;
  value.data_size = first.data_size;
  value.chunk = first.chunk;
  value.stored_dtype = first.stored_dtype;
  value.kept_shape = first.kept_shape;
}

Column& ValueColumns::column_of(const Value& value) {
  const int dtype = value.is_tensor() ? (value.stored ? value.stored_dtype : value.dtype) : -1;
  const auto [at, fresh] =
      at_.try_emplace(Key{value.name, value.operation, value.kind, dtype, value.stored}, columns_.size());
  if (!fresh) return columns_[at->second];
  static constexpr const char* kKinds[] = {"tensor", "None", "bool", "int", "float", "str", "complex", "object"};
  std::string key(value.name);
  if (keys_.contains(key)) {
    key += " [";
    if (!value.operation.empty()) key += std::string(value.operation) + " ";
    key += value.is_tensor() ? analyzer::dtype_name(dtype) : kKinds[size_t(value.kind)];
    key += value.is_tensor() && !value.stored ? " statistics]" : "]";
  }
  const std::string plain = key;
  for (int number = 2; !keys_.insert(key).second; ++number) key = plain + " #" + std::to_string(number);
  columns_.push_back({key, value.name, value.operation, value.module, value.kind, dtype, value.stored, {}});
  return columns_.back();
}

}  // namespace tensorscope::values
