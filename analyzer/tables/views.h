// SPDX-License-Identifier: Apache-2.0
// Answers to common questions, as views over the tables. Their SQL is what SQLite and DuckDB both run.
#pragma once

#include <span>

namespace tensorscope::tables {

struct View {
  const char* name;
  const char* meaning;
  const char* sql;
};

std::span<const View> all_views();

}  // namespace tensorscope::tables
