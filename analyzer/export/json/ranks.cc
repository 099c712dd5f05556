// SPDX-License-Identifier: Apache-2.0
#include "export/json/ranks.h"

#include "export/json/scalars.h"
#include "text/leaks/phrases.h"

namespace tensorscope::exports {

namespace {

using analyzer::kNone;
using analyzer::RankDump;
using analyzer::RankMoment;

constexpr int kRanksSchema = 1;

const char* name_of(RankMoment::Kind kind) {
  switch (kind) {
    case RankMoment::Kind::step:
      return "step";
    case RankMoment::Kind::number:
      return "dump";
    case RankMoment::Kind::last:
      return "last";
  }
  return "";
}

class Rows {
 public:
  Rows(const std::vector<RankDump>& dumps, const analyzer::RankJob& job, const analyzer::NamePool& names)
      : dumps_(dumps), job_(job), names_(names) {}

  // What a member is called in every row: its rank, or its process id where there are no ranks.
  Json who(uint32_t member) const {
    const analyzer::RankMember& m = job_.members[member];
    return m.rank >= 0 ? Json(m.rank) : Json(m.pid);
  }
  Json who(const std::vector<uint32_t>& members) const {
    Json list = Json::array();
    for (const uint32_t member : members) list.push_back(who(member));
    return list;
  }

  Json member(uint32_t index, const RankMoment& moment) const {
    const analyzer::RankMember& m = job_.members[index];
    const uint32_t at = moment.dump_of[index];
    const RankDump* dump = at == kNone ? nullptr : &dumps_[at];
    const analyzer::Process& process = dumps_[m.dumps.front()].process;
    Json paths = Json::array(), workers = Json::array();
    for (const uint32_t i : m.dumps) paths.push_back(dumps_[i].path);
    for (const uint32_t i : m.workers) {
      workers.push_back(
          {{"pid", dumps_[i].process.pid}, {"live_bytes", dumps_[i].live_bytes}, {"dump", dumps_[i].path}});
    }
    const auto value = [&](uint64_t RankDump::*field) { return dump ? Json(dump->*field) : Json(nullptr); };
    return {{"rank", natural_or_null(m.rank)},
            {"local_rank", natural_or_null(process.local_rank)},
            {"pid", m.pid},
            {"host", m.host},
            {"stage", job_.stages ? Json(m.peers) : Json(nullptr)},
            {"dump", dump ? Json(dump->path) : Json(nullptr)},
            {"step", dump && dump->process.step >= 0 ? Json(dump->process.step) : Json(nullptr)},
            {"live_bytes", value(&RankDump::live_bytes)},
            {"tensors", value(&RankDump::tensors)},
            {"peak_bytes", value(&RankDump::peak_bytes)},
            {"reserved_bytes", value(&RankDump::reserved_bytes)},
            {"resident_bytes", value(&RankDump::resident_bytes)},
            {"dumps", std::move(paths)},
            {"workers", std::move(workers)},
            {"process_groups", process_groups_json(dumps_[m.dumps.back()].groups)}};
  }

  Json spread(const analyzer::RankSpread& values) const {
    return {{"least", values.least},
            {"least_on", who(values.least_member)},
            {"median", values.median},
            {"most", values.most},
            {"most_on", who(values.most_member)}};
  }

  Json row(const analyzer::RankRow& row, const RankMoment& moment) const {
    Json bytes = Json::array();
    for (uint32_t i = 0; i < row.bytes.size(); ++i) {
      bytes.push_back(moment.dump_of[i] == kNone ? Json(nullptr) : Json(row.bytes[i]));
    }
    Json out = {
        {"of", analyzer::kRankSubjectNames[size_t(row.subject)]}, {"name", names_[row.name]}, {"same", row.same}};
    out.update(spread(row.spread));
    out["ranks"] = row.members;
    out["bytes"] = std::move(bytes);
    return out;
  }

  Json outlier(const analyzer::RankOutlier& outlier, const std::string& holders) const {
    return {{"rank", who(outlier.member)},
            {"of", outlier.total ? "total" : analyzer::kRankSubjectNames[size_t(outlier.subject)]},
            {"name", outlier.total ? Json(nullptr) : Json(names_[outlier.name])},
            {"bytes", outlier.bytes},
            {"median", outlier.median},
            {"difference", outlier.difference()},
            {"holders", text_or_null(holders)}};
  }

  Json moment(const analyzer::RankMomentSums& sums) const {
    const RankMoment& moment = job_.moments[sums.moment];
    Json out = {{name_of(moment.kind), moment.value}, {"ranks", sums.members}};
    out.update(spread(sums.live));
    out["from_unix_ns"] = sums.from_unix_ns;
    out["to_unix_ns"] = sums.to_unix_ns;
    return out;
  }

  Json growth(const analyzer::RankGrowth& row) const {
    return {{"site", names_[row.name]},
            {"median", row.median},
            {"most", row.most},
            {"most_on", who(row.most_member)},
            {"ranks", row.members}};
  }

  Json out_of_memory(const analyzer::RankOutOfMemory& first) const {
    const RankDump& dump = dumps_[first.dump];
    Json others = Json::array();
    for (const analyzer::HeldThen& other : first.others) {
      others.push_back({{"rank", who(other.member)},
                        {"live_bytes", dumps_[other.dump].live_bytes},
                        {"dump", dumps_[other.dump].path},
                        {"after_ns", other.after_ns}});
    }
    return {{"rank", who(first.member)},
            {"dump", dump.path},
            {"unix_ns", dump.failure->unix_ns},
            {"step", natural_or_null(dump.process.step)},
            {"requested", dump.failure->requested},
            {"device", dump.failure->device.text()},
            {"where", text_or_null(dump.failure->where)},
            {"live_bytes", dump.live_bytes},
            {"others", std::move(others)},
            {"also", who(first.also)}};
  }

  Json leak(const analyzer::RankLeak& leak) const {
    return {{"kind", analyzer::name(leak.kind)},
            {"title", text::title(leak.kind)},
            {"where", text_or_null(leak.where)},
            {"held_by", text::holder_phrase(leak.finding)},
            {"look_at", text::advice_phrase(leak.finding)},
            {"ranks", who(leak.members)},
            {"least", leak.least},
            {"most", leak.most},
            {"most_on", who(leak.most_member)}};
  }

 private:
  const std::vector<RankDump>& dumps_;
  const analyzer::RankJob& job_;
  const analyzer::NamePool& names_;
};

}  // namespace

std::string ranks_json(const std::vector<RankDump>& dumps, const analyzer::RankJob& job,
                       const analyzer::RankAnswer& answer, const analyzer::NamePool& names,
                       const std::vector<std::string>& holders, const analyzer::RankLeaks* leaks,
                       const std::vector<std::string>& unreadable) {
  const Rows rows(dumps, job, names);
  Json moment = nullptr;
  std::vector<Json> members, parts, outliers, moments, growth, leak_rows;
  if (!job.moments.empty()) {
    const RankMoment& compared = job.moments[job.compared];
    moment = {{"kind", name_of(compared.kind)}, {"value", compared.value}, {"ranks", compared.members()}};
    moment.update(rows.spread(answer.live));
    for (uint32_t i = 0; i < job.members.size(); ++i) members.push_back(rows.member(i, compared));
    for (const analyzer::RankRow& row : answer.rows) parts.push_back(rows.row(row, compared));
  }
  for (size_t i = 0; i < answer.outliers.size(); ++i) outliers.push_back(rows.outlier(answer.outliers[i], holders[i]));
  for (const analyzer::RankMomentSums& sums : answer.moments) moments.push_back(rows.moment(sums));
  for (const analyzer::RankGrowth& row : answer.growth) growth.push_back(rows.growth(row));
  const Json about = {{"schema", kRanksSchema}, {"dumps", dumps.size()}, {"unreadable", unreadable}};
  const Json answered = {
      {"job", text_or_null(job.name)},
      {"world_size", natural_or_null(job.world_size)},
      {"missing", job.missing},
      {"moment", std::move(moment)},
      {"out_of_memory", answer.out_of_memory ? rows.out_of_memory(*answer.out_of_memory) : Json(nullptr)},
      {"left_out",
       {{"other_jobs", job.other_job_dumps},
        {"earlier_runs", job.earlier_run_dumps},
        {"without_rank", job.without_rank_dumps}}}};
  std::string out = "{\n\"tensorscope\":" + text_of(about) + ",\n\"answer\":" + text_of(answered);
  add_rows(out, "ranks", members);
  add_rows(out, "rows", parts);
  add_rows(out, "outliers", outliers);
  add_rows(out, "moments", moments);
  add_rows(out, "growth", growth);
  if (leaks != nullptr) {
    for (const analyzer::RankLeak& leak : leaks->leaks) leak_rows.push_back(rows.leak(leak));
    add_rows(out, "leaks", leak_rows);
  }
  out += ",\n\"not_read\":" + text_of(not_read_json(analyzer::unread_files(dumps, leaks)));
  return out + "\n}\n";
}

}  // namespace tensorscope::exports
