#include "render/leaks_json.h"

#include <nlohmann/json.hpp>

namespace tensorscope::render {

namespace {

using Json = nlohmann::ordered_json;  // fields in the order of docs/cli/leaks.md

constexpr int kSchema = 1;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // texts of a dump may be no UTF-8
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json place(const model::View& view, uint32_t site) {
  if (site == 0) return nullptr;
  const model::Place& at = view.places.at(site);
  return {{"where", at.where},
          {"function", text_or_null(at.frame.function)},
          {"file", text_or_null(at.frame.file)},
          {"line", at.frame.line > 0 ? Json(at.frame.line) : Json(nullptr)},
          {"source", text_or_null(view.places.source_line(site))}};
}

Json growth_of(const model::Growth& growth, const char* counts) {
  if (growth.count.empty()) return nullptr;
  return {{"count", growth.count}, {"counts", counts}, {"bytes", growth.bytes}};
}

Json ids(const model::Dump& dump, const std::vector<uint32_t>& tensors) {
  Json list = Json::array();
  for (uint32_t tensor : tensors) list.push_back(dump.tensors[tensor].serial);
  return list;
}

Json finding_of(const model::View& last, const model::LeakFinding& finding) {
  Json evidence = Json::array();
  for (const model::Fact& fact : finding.evidence) {
    evidence.push_back({{"what", fact.what}, {"values", fact.values}, {"unit", fact.bytes ? "bytes" : "count"}});
  }
  return {{"kind", model::name(finding.kind)},
          {"title", model::title(finding.kind)},
          {"held_by", finding.subject},
          {"made_at", place(last, finding.site)},
          {"look_at", finding.look_at},
          {"bytes", finding.bytes},
          {"growth", growth_of(finding.growth, finding.counts)},
          {"evidence", std::move(evidence)},
          {"tensors", ids(last.dump, finding.tensors)}};
}

Json grown_of(const model::View& last, const model::GrownPlace& grown) {
  return {{"place", place(last, grown.place.site)},
          {"growth", growth_of(grown.place.growth, "tensors and blocks")},
          {"module_path", text_or_null(grown.place.modules)},
          {"in_place", grown.in_place},
          {"leak", grown.counts},
          {"finding", grown.finding == model::kNone ? Json(nullptr) : Json(grown.finding)},
          {"held_by", text_or_null(grown.holder)},
          {"look_at", text_or_null(grown.look_at)}};
}

// One line a row, as in the export of a dump.
void add_rows(std::string& out, const char* name, const std::vector<Json>& rows) {
  out += std::string(",\n\"") + name + "\":[";
  for (size_t i = 0; i < rows.size(); ++i) out += (i > 0 ? ",\n" : "\n") + text_of(rows[i]);
  out += "]";
}

}  // namespace

std::string leaks_json(const std::vector<model::View>& views, const model::Leaks& leaks) {
  const model::View& last = views.back();
  Json paths = Json::array();
  for (const model::View& view : views) paths.push_back(view.dump.path);
  const Json about = {{"schema", kSchema}, {"dumps", std::move(paths)}};
  const Json answer = {{"run_id", last.dump.process.run_id},
                       {"found", leaks.found()},
                       {"weak", leaks.weak},
                       {"holders_known", last.dump.references.present && last.dump.references.complete},
                       {"live_bytes", leaks.bytes}};
  std::vector<Json> findings, places;
  for (const model::LeakFinding& finding : leaks.findings) findings.push_back(finding_of(last, finding));
  for (const model::GrownPlace& grown : leaks.places) places.push_back(grown_of(last, grown));
  std::string out = "{\n\"tensorscope\":" + text_of(about) + ",\n\"answer\":" + text_of(answer);
  add_rows(out, "findings", findings);
  add_rows(out, "places", places);
  return out + "\n}\n";
}

}  // namespace tensorscope::render
