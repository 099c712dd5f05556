// SPDX-License-Identifier: Apache-2.0
// The tables and views as text, from their description: docs/tables.md, `tensorscope query --tables`.
#pragma once

#include <string>

namespace tensorscope::tables {

std::string tables_page();  // Markdown
std::string tables_list();  // for a terminal: a table a line, with its columns

}  // namespace tensorscope::tables
