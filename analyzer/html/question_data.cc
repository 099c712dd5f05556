// SPDX-License-Identifier: Apache-2.0
#include "html/question_data.h"

#include <filesystem>

#include "export/json/leaks.h"
#include "export/json/oom.h"
#include "leaks/leaks.h"
#include "memory/difference.h"
#include "memory/no_module.h"
#include "oom/balance.h"
#include "oom/oom_analysis.h"
#include "text/dump/holders.h"
#include "text/leaks/report.h"
#include "text/oom/phrases.h"
#include "text/oom/report.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::html {

namespace {

constexpr size_t kMaxChanges = 500;
constexpr size_t kMaxPlaces = 50;

Json amount(const analyzer::Amount& amount) { return {{"tensors", amount.tensors}, {"bytes", amount.bytes}}; }

Json paths(analyzer::ComparedDumps& dumps) {
  Json list = Json::array();
  for (size_t i = 0; i < dumps.size(); ++i) list.push_back(text::clean(dumps[i].dump.path));
  return list;
}

Json segments(const analyzer::DeviceMemory& memory, Payload& payload) {
  std::vector<uint64_t> segment, offset, size, state;
  Json rows = Json::array();
  for (size_t i = 0; i < memory.segments.size(); ++i) {
    const analyzer::Segment& s = memory.segments[i];
    rows.push_back({{"address", s.address},
                    {"size", s.size},
                    {"allocated", s.allocated},
                    {"stream", s.stream},
                    {"pool", s.private_pool() ? "private"
                             : s.small        ? "small"
                                              : "large"},
                    {"expandable", s.expandable}});
    for (const analyzer::SegmentBlock& block : memory.blocks_of(s)) {
      segment.push_back(i);
      offset.push_back(block.address - s.address);
      size.push_back(block.size);
      state.push_back(block.state);
    }
  }
  return {{"device", memory.device.text()},
          {"name", text::clean(memory.name)},
          {"segments", rows},
          {"blocks",
           {{"segment", payload.column(segment)},
            {"offset", payload.column(offset)},
            {"size", payload.column(size)},
            {"state", payload.column(state)}}}};
}

// As the command line has them: of what is in use, for categories.
void add_shares(Json& out, const analyzer::oom::BalanceNode& part, uint64_t in_use, const char* no_module) {
  const bool shared =
      part.kind == analyzer::oom::BalanceKind::category || part.kind == analyzer::oom::BalanceKind::module;
  if (shared && in_use > 0 && part.bytes.value_or(-1) >= 0) {
    out["share"] = text::percent(uint64_t(*part.bytes), in_use);
  }
  if (part.kind == analyzer::oom::BalanceKind::module && part.subject.empty()) out["label"] = no_module;
  for (size_t i = 0; i < part.parts.size(); ++i) add_shares(out["parts"][i], part.parts[i], in_use, no_module);
}

}  // namespace

Json diff_data(analyzer::ComparedDumps& dumps) {
  if (dumps.size() < 2) return nullptr;
  const analyzer::Difference difference = analyzer::difference(dumps.views(), analyzer::GroupBy::line);
  const analyzer::Movement& movement = difference.movement;
  Json changes = Json::array();
  for (size_t i = 0; i < std::min(kMaxChanges, difference.changes.size()); ++i) {
    const analyzer::Change& change = difference.changes[i];
    changes.push_back({{"where", text::clean(change.label)},
                       {"bytes", change.bytes},
                       {"tensors", change.tensors},
                       {"steady", change.steady},
                       {"held_by", text::clean(text::held_by(dumps[change.dump], change.group))}});
  }
  return {{"dumps", paths(dumps)},
          {"same_run", difference.same_run},
          {"bytes", difference.bytes},
          {"tensors", difference.tensors},
          {"movement",
           {{"new", amount(movement.fresh)},
            {"gone", amount(movement.gone)},
            {"grown", amount(movement.grown)},
            {"shrunk", amount(movement.shrunk)},
            {"moved", amount(movement.moved)}}},
          {"changes", changes},
          {"change_count", difference.changes.size()}};
}

Json leaks_data(analyzer::ComparedDumps& dumps, const std::function<void(analyzer::Leaks&)>& add_children) {
  if (!dumps.same_run()) return nullptr;
  Json left_out = Json::array();
  Json returned = nullptr;
  for (const analyzer::ExcludedDump& dump : dumps.leave_out_incomparable()) {
    left_out.push_back(text::clean(text::left_out_line(dump)));
    if (dump.why == analyzer::ExcludedDump::Reason::functions_had_returned) returned = text::clean(dump.path);
  }
  analyzer::Leaks found = analyzer::find_leaks(dumps.views(), true);
  if (add_children) add_children(found);
  Json out = Json::parse(exports::leaks_json(dumps.views(), found));
  out["dumps"] = paths(dumps);
  out["left_out"] = left_out;
  out["returned"] = returned;
  out["gaps"] = text::clean(text::gaps_text(dumps));
  const std::string first_dump = std::filesystem::path(dumps.first().dump.path).filename().string();
  for (size_t i = 0; i < found.findings.size(); ++i) {
    out["findings"][i]["headline"] = text::clean(text::finding_headline(found.findings[i], first_dump));
  }
  if (found.passing_cycles) out["answer"]["passing_cycles"]["words"] = text::clean(text::passing_cycles_text(found));
  out["text"] = text::leaks_text(dumps, found, kMaxPlaces, {});
  return out;
}

Json oom_data(analyzer::ComparedDumps& dumps, Payload& payload) {
  const analyzer::Dump& dump = dumps.last().dump;
  const analyzer::Device device = analyzer::oom::subject_of(dump);
  const std::vector<analyzer::View> unfiltered = dumps.unfiltered_views();
  dumps.select({.devices = {device.text()}});
  const analyzer::oom::OomAnalysis analysis = analyzer::oom::oom_analysis_of(unfiltered, dumps.views(), device);
  std::vector<std::string> held;
  for (size_t i = 0; i < std::min(kMaxPlaces, analysis.places.size()); ++i) {
    held.push_back(text::held_by(dumps.last(), analysis.places[i]));
  }
  Json out = Json::parse(exports::oom_json(unfiltered, analysis, held));
  out["dump"] = text::clean(dump.path);
  add_shares(out["balance"], analysis.balance, analyzer::oom::in_use(analysis.balance), analyzer::no_module(dump));
  for (size_t i = 0; i < analysis.remedies.size(); ++i) {
    Json& remedy = out["remedies"][i];
    remedy["title"] = text::title_phrase(analysis.remedies[i]);
    remedy["gives"] = text::gives_phrase(analysis.remedies[i]);
    remedy["fits_words"] = text::fits_phrase(analysis.remedies[i]);
    remedy["estimate_words"] = text::estimate_words(analysis.remedies[i]);
  }
  const text::OomTextOptions how{.top = 10, .full_stacks = false, .glossary = false};
  out["text"] = text::oom_text(dumps, analysis, how, {});
  out["devices"] = Json::array();
  for (const analyzer::DeviceMemory& memory : dump.device_memory) out["devices"].push_back(segments(memory, payload));
  return out;
}

}  // namespace tensorscope::html
