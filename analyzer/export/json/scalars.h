// SPDX-License-Identifier: Apache-2.0
// JSON values that every JSON answer writes alike. For source files only: it brings the whole of nlohmann's header.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "memory/grouping.h"
#include "symbols/places.h"

namespace tensorscope::exports {

using Json = nlohmann::ordered_json;  // fields in the order of the pages under docs/

// One line, or indented by `indent`. Texts of a dump may be no UTF-8.
std::string text_of(const Json& json, int indent = -1);
Json text_or_null(const std::string& text);
Json number_or_null(uint64_t number);
// Where a site is: null for site 0.
Json place_json(analyzer::Places& places, uint32_t site);
// What an answer lacks since files could not be read, with the sentence `note` (docs/json.md, "What could not be
// read"); null where there is none.
Json not_read_json(const analyzer::UnreadFiles& files, const std::string& note);
// The same of an answer that shows names of functions, and of one about several dumps.
Json not_read_json(const analyzer::UnreadFiles& files);
Json not_read_json(const std::vector<analyzer::View>& views);
// A field of an object, one line a row, as in the export of a dump.
void add_rows(std::string& out, const char* name, const std::vector<Json>& rows);

}  // namespace tensorscope::exports
