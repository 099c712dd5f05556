#include "export/json/oom.h"

#include "dump_generated.h"
#include "export/json/scalars.h"
#include "export/json/suspect.h"
#include "oom/callers.h"
#include "oom/price.h"
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

Json failed(const analyzer::View& view, const analyzer::oom::Story& story) {
  const analyzer::Dump& dump = view.dump;
  if (!dump.failure || !analyzer::oom::concerns(*dump.failure, story.device)) return nullptr;
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
          {"backward", backward(view, f, story.backward_site)},
          {"thread", f.thread == 0 ? Json(nullptr) : Json(dump.threads[f.thread].tid)},
          {"thread_name", f.thread == 0 ? Json(nullptr) : Json(dump.threads[f.thread].name)},
          {"failures", f.failures},
          {"without_dump", f.without_dump}};
}

// Not deep: a balance has a fixed form.
Json part_json(const analyzer::oom::Part& part) {
  Json parts = Json::array();
  for (const analyzer::oom::Part& below : part.parts) parts.push_back(part_json(below));
  return {{"name", analyzer::oom::name(part)},
          {"label", text_or_null(text::label_words(part))},
          {"bytes", part.bytes ? Json(*part.bytes) : Json(nullptr)},
          {"note", text_or_null(text::note_words(part.note))},
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
  const analyzer::oom::Price price = analyzer::oom::price_of(remedy);
  return {{"kind", analyzer::oom::name(remedy.kind)},
          {"subject", text::subject_words(remedy)},
          {"takes", text::takes_words(remedy)},
          {"bytes", remedy.bytes},
          {"at_most", remedy.at_most},
          {"estimate", remedy.estimate},
          {"between", remedy.high == 0 ? Json(nullptr) : Json({remedy.low, remedy.high})},
          {"reckoned", text_or_null(text::estimate_words(remedy))},
          {"price",
           {{"time", name(price.time)},
            {"results", name(price.results)},
            {"change", name(price.change)},
            {"where", text_or_null(remedy.where)},
            {"words", text::price_words(remedy)}}},
          {"fits", analyzer::oom::name(remedy.fits)},
          {"missing", number_or_null(remedy.missing)}};
}

Json growth_json(const std::vector<analyzer::View>& views, const analyzer::oom::Story& story) {
  if (!story.growth) return nullptr;
  const analyzer::Difference& difference = *story.growth;
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

std::string oom_json(const std::vector<analyzer::View>& views, const analyzer::oom::Story& story,
                     const std::vector<std::string>& held) {
  const analyzer::View& view = views.back();
  const bool needs_segment = story.request != 0 && !story.device.is_cpu();
  Json operands = Json::array();
  for (const analyzer::oom::Operand& operand : story.operands)
    operands.push_back(text::operand_words(view.dump, operand));
  const analyzer::oom::Part* outside = analyzer::oom::mostly_outside(story.balance);
  const Json about = {{"schema", kOomSchema}, {"dump", view.dump.path}};
  const Json answer = {
      {"run_id", view.dump.process.run_id},
      {"trigger", format::EnumNameTrigger(format::Trigger(view.dump.process.trigger))},
      {"device", story.device.text()},
      {"request", number_or_null(story.request)},
      {"segment", needs_segment ? Json(analyzer::oom::segment_for(story.request, story.cached)) : Json(nullptr)},
      {"in_optimizer_step", story.in_optimizer},
      {"too_large", story.too_large},
      {"operands", operands},
      {"mostly_outside", outside != nullptr ? Json(analyzer::oom::name(*outside)) : Json(nullptr)},
      {"remedies_missing", text_or_null(text::missing_words(view.dump, story))}};
  std::vector<Json> places, suspects, remedies;
  for (size_t i = 0; i < held.size(); ++i) {
    const analyzer::Group& group = story.places[i];
    places.push_back({{"bytes", group.bytes},
                      {"tensors", group.tensors},
                      {"blocks", group.blocks},
                      {"at", place_json(view.places, group.site)},
                      {"module_path", text_or_null(group.modules)},
                      {"held_by", text_or_null(held[i])}});
  }
  for (const analyzer::oom::Remedy& remedy : story.remedies) remedies.push_back(remedy_json(remedy));
  std::string out = "{\n\"tensorscope\":" + text_of(about) + ",\n\"answer\":" + text_of(answer);
  out += ",\n\"failure\":" + text_of(failed(view, story)) + ",\n\"balance\":" + text_of(part_json(story.balance));
  out += ",\n\"cached\":" + text_of(cached_json(story.cached)) + ",\n\"growth\":" + text_of(growth_json(views, story));
  add_rows(out, "places", places);
  for (const analyzer::Suspect& suspect : story.suspects) suspects.push_back(suspect_json(view, suspect));
  add_rows(out, "suspects", suspects);
  add_rows(out, "remedies", remedies);
  return out + ",\n\"not_read\":" + text_of(not_read_json(views)) + "\n}\n";
}

}  // namespace tensorscope::exports
