// SPDX-License-Identifier: Apache-2.0
// JSON values that every JSON answer writes alike. For source files only: it brings the whole of nlohmann's header.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "memory/grouping.h"
#include "symbols/places.h"

namespace tensorscope::exports {

using Json = nlohmann::ordered_json;  // fields in the order of the pages under docs/

// One line, or indented by `indent`. Texts of a dump may be no UTF-8.
std::string text_of(const Json& json, int indent = -1);
Json text_or_null(std::string_view text);
Json number_or_null(uint64_t number);
Json natural_or_null(int64_t number);  // null for a negative one
Json process_groups_json(const std::vector<analyzer::ProcessGroup>& groups);
// Where a site is: null for site 0.
Json place_json(analyzer::Places& places, uint32_t site);
Json place_json(const analyzer::Place& at, const std::string& source);  // null: not known
// What an answer lacks since files could not be read, with the sentence `note` (docs/json.md, "What could not be
// read"); null where there is none.
Json not_read_json(const analyzer::UnreadFiles& files, const std::string& note);
// The same of an answer that shows names of functions, and of one about several dumps.
Json not_read_json(const analyzer::UnreadFiles& files);
Json not_read_json(const std::vector<analyzer::View>& views);
// The text of an object without its end: fields that are written one line a row follow.
std::string begun_object(const Json& head);
// A list, one line a row; `row(i)` gives a row's text.
template <typename Row>
void write_list(std::ostream& out, size_t count, Row row) {
  out << '[';
  for (size_t i = 0; i < count; ++i) out << (i > 0 ? ",\n" : "\n") << row(i);
  out << ']';
}
// The same as a field of an object that has others before it.
template <typename Row>
void write_rows(std::ostream& out, const char* name, size_t count, Row row) {
  out << ",\n\"" << name << "\":";
  write_list(out, count, row);
}
void add_rows(std::string& out, const char* name, const std::vector<Json>& rows);

}  // namespace tensorscope::exports
