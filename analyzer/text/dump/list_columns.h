// SPDX-License-Identifier: Apache-2.0
// The columns that `list` has: what they are called, and what stands in them.
#pragma once

#include <string>
#include <vector>

#include "memory/opened_dump.h"
#include "text/table.h"
#include "text/terminal.h"

namespace tensorscope::text {

enum class ListColumn : uint8_t {
  id,
  bytes,
  view_bytes,
  dtype,
  shape,
  device,
  age,
  category,
  name,
  names,
  held_by,
  traits,
  line,
  function,
  where,
  memory_from,
  type,
  class_name,
  requires_grad,
  grad,
  version,
  storage,
  strides,
  thread,
  module,
  address,
  python_id
};

// "view-bytes", ...; those that --columns takes.
std::vector<std::string> list_column_names();
// "id,bytes,names" as it is written. Throws text::BadChoice.
std::vector<ListColumn> list_columns(const std::string& text);
// Without --columns: what fits, the place and the names before the others.
std::vector<ListColumn> usual_columns(const text::Terminal& terminal);
// `may_leave`: those that matter less go in a narrow terminal.
text::Column table_column(ListColumn column, bool may_leave);

struct ListRow {
  uint32_t tensor = analyzer::kNone;
  bool first = true;   // of the rows of its storage, which has the bytes
  bool alone = false;  // no other column says what holds it: `name` may
};
std::string list_cell(analyzer::OpenedDump& opened, const analyzer::Selection& selection, const ListRow& row,
                      ListColumn column);

}  // namespace tensorscope::text
