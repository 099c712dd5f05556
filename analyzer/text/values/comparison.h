// SPDX-License-Identifier: Apache-2.0
// Two runs compared, in words: where they part first, what fed that, how the difference grows, what one of them lacks.
#pragma once

#include <cstddef>
#include <string>

#include "text/terminal.h"
#include "values/compare.h"

namespace tensorscope::text {

struct CompareText {
  Terminal terminal;
  size_t top = 10;  // rows of each table; 0: all
  std::vector<values::Rename> renames{};
};

std::string compare_headline(const values::RunComparison& runs);
std::string compare_text(const values::RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b,
                         const CompareText& how);
// Why nothing was compared.
std::string nothing_compared(const values::RunComparison& runs, const values::ValuesFile& a,
                             const values::ValuesFile& b);

std::string basis_name(values::Basis basis);
std::string statistic_name(values::Statistic statistic);
std::string place_name(format::ValuePlace place);

}  // namespace tensorscope::text
