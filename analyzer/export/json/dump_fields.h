// SPDX-License-Identifier: Apache-2.0
// Fields that several kinds of rows of the JSON export have: what a dump's indexes are outside of it.
#pragma once

#include "dump/dump.h"
#include "export/json/scalars.h"

namespace tensorscope::exports {

// Null for thread 0, which is not known.
Json tid_json(const analyzer::Dump& dump, uint32_t thread);
Json thread_name_json(const analyzer::Dump& dump, uint32_t thread);
// Nanoseconds before the dump; null where the clock says otherwise.
Json age_json(const analyzer::Dump& dump, uint64_t created_ns);
Json node_number_json(uint32_t node);
Json tensor_id_json(const analyzer::Dump& dump, uint32_t tensor);

}  // namespace tensorscope::exports
