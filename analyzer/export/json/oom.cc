// SPDX-License-Identifier: Apache-2.0
#include "export/json/oom.h"

#include "dump_generated.h"
#include "export/json/scalars.h"
#include "export/json/suspect.h"
#include "oom/callers.h"
#include "oom/tradeoff.h"
#include "text/oom/balance_phrases.h"
#include "text/oom/phrases.h"

namespace tensorscope::exports {

namespace {

constexpr int kOomSchema = 1;

Json backward(const analyzer::View& view, const analyzer::Failure& failure, uint32_t called) {
  if (failure.node_serial == 0) return nullptr;
  Json answer = {{"node", failure.node_serial}, {"class", nullptr}, {"forward", nullptr}, {"called", nullptr}};
  if (called != 0) answer["called"] = place_json(view.places, called);
  if (failure.node == analyzer::kNone) return answer;
  const analyzer::Node& node = view.dump.nodes[failure.node];
  answer["class"] = text_or_null(node.class_name);
  answer["forward"] = place_json(view.places, node.site);
  return answer;
}

Json failed(const analyzer::View& view, const analyzer::oom::OomAnalysis& analysis) {
  const analyzer::Dump& dump = view.dump;
  if (!dump.failure || !analyzer::oom::concerns(*dump.failure, analysis.device)) return nullptr;
  const analyzer::Failure& f = *dump.failure;
  const bool limited = f.limit_bytes != 0;
  return {{"kind", format::EnumNameFailureKind(format::FailureKind(f.kind))},
          {"limit", format::EnumNameMemoryLimit(format::MemoryLimit(f.limit))},
          {"requested", number_or_null(f.requested)},
          {"limit_bytes", number_or_null(f.limit_bytes)},
          {"left_bytes", limited ? Json(f.left_bytes) : Json(nullptr)},
          {"error", text_or_null(f.error)},
          {"at", place_json(view.places, f.site)},
          {"native", text_or_null(analyzer::oom::native_caller(view, f.site))},
          {"for_cudnn", analyzer::oom::asked_by_cudnn(view, f.site)},
          {"backward", backward(view, f, analysis.backward_site)},
          {"thread", f.thread == 0 ? Json(nullptr) : Json(dump.threads[f.thread].tid)},
          {"thread_name", f.thread == 0 ? Json(nullptr) : Json(dump.threads[f.thread].name)},
          {"failures", f.failures},
          {"without_dump", f.without_dump}};
}

// Not deep: a balance has a fixed form.
Json part_json(const analyzer::oom::BalanceNode& part) {
  Json parts = Json::array();
  for (const analyzer::oom::BalanceNode& below : part.parts) parts.push_back(part_json(below));
  return {{"name", analyzer::oom::name(part)},
          {"label", text_or_null(text::label_phrase(part))},
          {"bytes", part.bytes ? Json(*part.bytes) : Json(nullptr)},
          {"note", text_or_null(text::note_phrase(part.note))},
          {"parts", std::move(parts)}};
}

Json cached_json(const analyzer::oom::FreeMemory& cached) {
  if (!cached.known) return nullptr;
  Json parts = Json::array();
  for (const analyzer::oom::FreePart& part : cached.parts) {
    parts.push_back({{"small", part.small},
                     {"stream", part.stream},
                     {"pool", {part.pool, part.pool_user}},
                     {"bytes", part.bytes},
                     {"pieces", part.pieces},
                     {"largest", part.largest}});
  }
  return {{"bytes", cached.bytes},           {"largest", cached.largest()},           {"returnable", cached.returnable},
          {"expandable", cached.expandable}, {"streams_known", cached.streams_known}, {"parts", std::move(parts)}};
}

Json remedy_json(const analyzer::oom::Remedy& remedy) {
  const analyzer::oom::Tradeoff tradeoff = analyzer::oom::tradeoff_of(remedy);
  return {{"kind", analyzer::oom::name(remedy.kind)},
          {"subject", text::subject_phrase(remedy)},
          {"takes", text::takes_words(remedy)},
          {"bytes", remedy.bytes},
          {"at_most", remedy.at_most},
          {"estimate", remedy.estimate},
          {"between", remedy.high == 0 ? Json(nullptr) : Json({remedy.low, remedy.high})},
          {"reckoned", text_or_null(text::estimate_words(remedy))},
          {"price",
           {{"time", name(tradeoff.time)},
            {"results", name(tradeoff.results)},
            {"change", name(tradeoff.change)},
            {"where", text_or_null(remedy.where)},
            {"words", text::price_phrase(remedy)}}},
          {"fits", analyzer::oom::name(remedy.fits)},
          {"missing", number_or_null(remedy.missing)}};
}

Json growth_json(const std::vector<analyzer::View>& views, const analyzer::oom::OomAnalysis& analysis) {
  if (!analysis.growth) return nullptr;
  const analyzer::Difference& difference = *analysis.growth;
  Json changes = Json::array();
  for (const analyzer::Change& change : difference.changes) {
    if (change.byte_growth() <= 0) continue;
    changes.push_back({{"where", change.label}, {"bytes", change.bytes}, {"tensors", change.tensors}});
  }
  return {{"since", views.front().dump.path},
          {"elapsed_ns", views.back().dump.process.dump_ns - views.front().dump.process.dump_ns},
          {"bytes", difference.bytes},
          {"places", std::move(changes)}};
}

}  // namespace

std::string oom_json(const std::vector<analyzer::View>& views, const analyzer::oom::OomAnalysis& analysis,
                     const std::vector<std::string>& held) {
  const analyzer::View& view = views.back();
  const bool needs_segment = analysis.request != 0 && !analysis.device.is_cpu();
  Json operands = Json::array();
  for (const analyzer::oom::Operand& operand : analysis.operands)
    operands.push_back(text::operand_phrase(view.dump, operand));
  const analyzer::oom::BalanceNode* outside = analyzer::oom::mostly_outside(analysis.balance);
  const Json about = {{"schema", kOomSchema}, {"dump", view.dump.path}};
  const Json answer = {
      {"run_id", view.dump.process.run_id},
      {"trigger", format::EnumNameTrigger(format::Trigger(view.dump.process.trigger))},
      {"device", analysis.device.text()},
      {"request", number_or_null(analysis.request)},
      {"segment", needs_segment ? Json(analyzer::oom::segment_for(analysis.request, analysis.cached)) : Json(nullptr)},
      {"in_optimizer_step", analysis.in_optimizer},
      {"too_large", analysis.too_large},
      {"operands", operands},
      {"mostly_outside", outside != nullptr ? Json(analyzer::oom::name(*outside)) : Json(nullptr)},
      {"remedies_missing", text_or_null(text::missing_phrase(view.dump, analysis))}};
  std::vector<Json> places, suspects, remedies;
  for (size_t i = 0; i < held.size(); ++i) {
    const analyzer::Group& group = analysis.places[i];
    places.push_back({{"bytes", group.bytes},
                      {"tensors", group.tensors},
                      {"blocks", group.blocks},
                      {"at", place_json(view.places, group.site)},
                      {"module_path", text_or_null(group.modules)},
                      {"held_by", text_or_null(held[i])}});
  }
  for (const analyzer::oom::Remedy& remedy : analysis.remedies) remedies.push_back(remedy_json(remedy));
  std::string out = "{\n\"tensorscope\":" + text_of(about) + ",\n\"answer\":" + text_of(answer);
  out += ",\n\"failure\":" + text_of(failed(view, analysis)) + ",\n\"balance\":" + text_of(part_json(analysis.balance));
  out += ",\n\"cached\":" + text_of(cached_json(analysis.cached)) +
         ",\n\"growth\":" + text_of(growth_json(views, analysis));
  add_rows(out, "places", places);
  for (const analyzer::Suspect& suspect : analysis.suspects) suspects.push_back(suspect_json(view, suspect));
  add_rows(out, "suspects", suspects);
  add_rows(out, "remedies", remedies);
  return out + ",\n\"not_read\":" + text_of(not_read_json(views)) + "\n}\n";
}

}  // namespace tensorscope::exports
