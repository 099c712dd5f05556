// SPDX-License-Identifier: Apache-2.0
#include "export/json/scalars.h"

#include "text/unread_words.h"

namespace tensorscope::exports {

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }
Json number_or_null(uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

Json natural_or_null(int64_t number) { return number < 0 ? Json(nullptr) : Json(number); }

Json process_groups_json(const std::vector<analyzer::ProcessGroup>& groups) {
  Json rows = Json::array();
  for (const analyzer::ProcessGroup& group : groups) {
    rows.push_back(
        {{"name", group.name}, {"mesh_dimension", text_or_null(group.mesh_dimension)}, {"ranks", group.ranks}});
  }
  return rows;
}

Json place_json(analyzer::Places& places, uint32_t site) {
  return site == 0 ? Json(nullptr) : place_json(places.at(site), places.source_line(site));
}

Json place_json(const analyzer::Place& at, const std::string& source) {
  if (at.where.empty()) return nullptr;
  return {{"where", at.where},
          {"function", text_or_null(at.function)},
          {"file", text_or_null(at.frame.file)},
          {"line", at.frame.line > 0 ? Json(at.frame.line) : Json(nullptr)},
          {"source", text_or_null(source)}};
}

Json not_read_json(const analyzer::UnreadFiles& files, const std::string& note) {
  if (note.empty()) return nullptr;
  return {{"libraries", files.libraries},
          {"source_files", files.sources},
          {"no_symbols", files.switched_off},
          {"no_native_stacks", files.not_recorded},
          {"note", note}};
}

Json not_read_json(const analyzer::UnreadFiles& files) {
  return not_read_json(files, text::unread_names_phrase(files));
}

Json not_read_json(const std::vector<analyzer::View>& views) {
  analyzer::UnreadFiles files;
  for (const analyzer::View& view : views) files.add(view.places.unread().files());
  return not_read_json(files);
}

std::string begun_object(const Json& head) {
  std::string text = text_of(head);
  text.pop_back();
  return text;
}

void add_rows(std::string& out, const char* name, const std::vector<Json>& rows) {
  out += std::string(",\n\"") + name + "\":[";
  for (size_t i = 0; i < rows.size(); ++i) out += (i > 0 ? ",\n" : "\n") + text_of(rows[i]);
  out += "]";
}

}  // namespace tensorscope::exports
