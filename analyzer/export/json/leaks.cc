// SPDX-License-Identifier: Apache-2.0
#include "export/json/leaks.h"

#include "export/json/history.h"
#include "export/json/scalars.h"
#include "export/json/suspect.h"
#include "text/leaks/phrases.h"

namespace tensorscope::exports {

namespace {

constexpr int kLeaksSchema = 1;

Json growth_of(const analyzer::Growth& growth, const char* counts) {
  if (growth.count.empty()) return nullptr;
  return {{"count", growth.count}, {"counts", counts}, {"bytes", growth.bytes}};
}

Json facts_of(const std::vector<analyzer::Fact>& facts) {
  Json list = Json::array();
  for (const analyzer::Fact& fact : facts) {
    list.push_back({{"what", text::fact_phrase(fact)},
                    {"values", fact.values},
                    {"unit", analyzer::in_bytes(fact.kind) ? "bytes" : "count"}});
  }
  return list;
}

Json place_of(const analyzer::View& last, const analyzer::LeakFinding& finding) {
  if (!finding.of_children) return place_json(last.places, finding.site);
  return place_json(finding.of_children->place, finding.of_children->source);
}

Json finding_of(const analyzer::View& last, const analyzer::LeakFinding& finding) {
  Json memory = Json::array();
  for (const analyzer::CreationSite& made : finding.memory) {
    memory.push_back({{"place", place_json(last.places, made.site)}, {"bytes", made.bytes}});
  }
  return {{"kind", analyzer::name(finding.kind)},
          {"title", text::title(finding.kind)},
          {"held_by", text::holder_phrase(finding)},
          {"also_held_by", text_or_null(finding.also_held_by)},
          {"frees_alone", finding.also_held_by.empty() ? Json(nullptr) : Json(finding.frees_alone)},
          {"made_at", place_of(last, finding)},
          {"processes", finding.of_children ? Json(finding.of_children->processes) : Json::array()},
          {"memory", std::move(memory)},
          {"look_at", text::advice_phrase(finding)},
          {"bytes", finding.bytes},
          {"growth", growth_of(finding.growth, text::counts_phrase(finding.counts))},
          {"evidence", facts_of(finding.evidence)},
          {"tensors", ids_json(last.dump, finding.tensors)}};
}

Json grown_of(const analyzer::View& last, const analyzer::GrownPlace& grown) {
  Json holders = Json::array();
  for (const analyzer::HeldShare& share : grown.held) {
    holders.push_back({{"held_by", share.holder}, {"bytes", share.bytes}});
  }
  return {{"place", place_json(last.places, grown.place.site)},
          {"growth", growth_of(grown.place.growth, "tensors and blocks")},
          {"module_path", text_or_null(grown.place.modules)},
          {"in_place", grown.in_place},
          {"larger_input", grown.larger_input},
          {"slows", grown.slows},
          {"remarked", grown.remarked},
          {"leak", grown.counts},
          {"finding", grown.finding == analyzer::kNone ? Json(nullptr) : Json(grown.finding)},
          {"held_by", grown.held.empty() ? Json(nullptr) : Json(grown.held.front().holder)},
          {"holders", std::move(holders)},
          {"memory_at", text_or_null(grown.memory_at)},
          {"look_at", text_or_null(text::advice_phrase(grown))}};
}

Json shares_of(const analyzer::Leaks& leaks) {
  if (leaks.dumps < 2) return nullptr;
  return {{"bytes", leaks.growth.all},        {"findings", leaks.growth.findings},
          {"remarks", leaks.growth.remarks},  {"running_step", leaks.growth.running},
          {"rest", leaks.growth.rest()},      {"children", leaks.growth.children},
          {"lasting", leaks.growth.lasting()}};
}

Json ends_of(const analyzer::GrowthAtEnds& ends) {
  if (!ends.known) return nullptr;
  return {{"steps", {ends.first_step, ends.last_step}},
          {"live_bytes", {ends.first, ends.last}},
          {"since", {ends.before_first, ends.before_last}}};
}

}  // namespace

std::string leaks_json(const std::vector<analyzer::View>& views, const analyzer::Leaks& leaks) {
  const analyzer::View& last = views.back();
  Json paths = Json::array();
  for (const analyzer::View& view : views) paths.push_back(view.dump.path);
  const Json about = {{"schema", kLeaksSchema}, {"dumps", std::move(paths)}};
  Json passing = leaks.passing_cycles ? finding_of(last, *leaks.passing_cycles) : Json(nullptr);
  const Json answer = {
      {"run_id", last.dump.process.run_id},
      {"found", leaks.found()},
      {"weak", leaks.weak},
      {"holders_known", last.dump.references.present && last.dump.references.complete},
      {"live_bytes", leaks.bytes},
      {"growth", shares_of(leaks)},
      {"step_ends", ends_of(leaks.at_ends)},
      {"over_the_run", leaks.trend.known ? run_growth_json(leaks.trend.device, leaks.trend.growth) : Json()},
      {"process_grew", leaks.process.told},
      {"process", facts_of(leaks.process.parts)},
      {"process_look_at", text_or_null(text::process_advice(leaks))},
      {"passing_cycles", std::move(passing)}};
  std::vector<Json> findings, remarks, places, unclear, suspects, replaced;
  for (const analyzer::GrownPlace& grown : leaks.unclear) unclear.push_back(grown_of(last, grown));
  for (const analyzer::Remark& remark : leaks.remarks) {
    remarks.push_back(finding_of(last, remark.what));
    remarks.back()["reason"] = analyzer::name(remark.reason);
  }
  for (const analyzer::LeakFinding& finding : leaks.findings) findings.push_back(finding_of(last, finding));
  for (const analyzer::GrownPlace& grown : leaks.places) places.push_back(grown_of(last, grown));
  for (const analyzer::Suspect& suspect : leaks.suspects) suspects.push_back(suspect_json(last, suspect));
  for (const analyzer::Suspect& suspect : leaks.replaced) replaced.push_back(suspect_json(last, suspect));
  std::string out = "{\n\"tensorscope\":" + text_of(about) + ",\n\"answer\":" + text_of(answer);
  add_rows(out, "findings", findings);
  add_rows(out, "remarks", remarks);
  add_rows(out, "places", places);
  add_rows(out, "unclear", unclear);
  add_rows(out, "suspects", suspects);
  add_rows(out, "replaced", replaced);
  return out + ",\n\"not_read\":" + text_of(not_read_json(views)) + "\n}\n";
}

}  // namespace tensorscope::exports
