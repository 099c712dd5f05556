#include "export/json_values.h"

namespace tensorscope::exports {

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json number_or_null(uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

Json place_json(analyzer::Places& places, uint32_t site) {
  if (site == 0) return nullptr;
  const analyzer::Place& at = places.at(site);
  return {{"where", at.where},
          {"function", text_or_null(at.function)},
          {"file", text_or_null(at.frame.file)},
          {"line", at.frame.line > 0 ? Json(at.frame.line) : Json(nullptr)},
          {"source", text_or_null(places.source_line(site))}};
}

void add_rows(std::string& out, const char* name, const std::vector<Json>& rows) {
  out += std::string(",\n\"") + name + "\":[";
  for (size_t i = 0; i < rows.size(); ++i) out += (i > 0 ? ",\n" : "\n") + text_of(rows[i]);
  out += "]";
}

}  // namespace tensorscope::exports
