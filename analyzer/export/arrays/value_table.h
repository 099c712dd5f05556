// SPDX-License-Identifier: Apache-2.0
// Values as a table, one row each, for formats that have rows and columns.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "values/value_columns.h"

namespace tensorscope::exports {

struct TableField {
  enum class Type { int64, float64, text, elements };
  const char* name;
  Type type;
};

// monostate: not known, or it has none. Of type elements: the bytes as they are in the file.
using TableCell = std::variant<std::monostate, int64_t, double, std::string>;

std::span<const TableField> table_fields();
// Name by name. Throws analyzer::BadInput where elements are damaged.
void for_each_table_row(const values::ValueColumns& columns,
                        const std::function<void(const values::Column&, const std::vector<TableCell>&)>& f);

// "1.5 2 nan", "1+2j 0": so many digits that the same elements are read back.
std::string elements_text(int dtype, const std::string& bytes);

}  // namespace tensorscope::exports
