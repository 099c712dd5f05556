// SPDX-License-Identifier: Apache-2.0
#include "export/json/forecast.h"

#include <cmath>

#include "export/json/scalars.h"
#include "text/forecast/report.h"

namespace tensorscope::exports {

namespace {

namespace forecast = analyzer::forecast;

constexpr int kForecastSchema = 1;

int64_t whole(double value) { return int64_t(std::llround(value)); }

Json sizes_json(const std::vector<forecast::Size>& sizes, const forecast::SizeValues& at) {
  Json out = Json::object();
  for (size_t i = 0; i < sizes.size(); ++i) out[sizes[i].name] = at[i];
  return out;
}

Json powers_json(const std::vector<forecast::Size>& sizes, const forecast::Powers& powers) {
  Json out = Json::object();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (powers[i] != 0) out[sizes[i].name] = powers[i];
  }
  return out;
}

// Both ends of a range; null: there is none.
void add_ends(Json& out, const std::string& what, const forecast::PeakRange& range) {
  out[what + "least_bytes"] = range.bytes > 0 ? Json(whole(range.least())) : Json(nullptr);
  out[what + "most_bytes"] = range.bytes > 0 ? Json(whole(range.most())) : Json(nullptr);
}

Json outcome_json(const forecast::Answer& answer, const forecast::Outcome& outcome) {
  Json unknown_types = Json::array();
  for (const forecast::UnknownType& site : outcome.unknown_types) {
    unknown_types.push_back(
        {{"where", site.where}, {"module", text_or_null(site.modules)}, {"bytes", whole(site.bytes)}});
  }
  Json largest = Json::object();
  for (const forecast::LargestSize& one : outcome.largest) {
    largest[answer.sizes[one.size].name] = {{"fits", one.more ? Json(nullptr) : Json(one.value)},
                                            {"first_over", text_or_null(one.first_over)},
                                            {"first_over_bytes", whole(one.first_over_bytes)}};
  }
  Json out = {{"name", text_or_null(outcome.name)},
              {"peak_bytes", whole(outcome.peak.bytes)},
              {"error_bytes", whole(outcome.peak.more)},
              {"least_bytes", whole(outcome.peak.least())},
              {"most_bytes", whole(outcome.peak.most())},
              {"without_cudnn_bytes", number_or_null(uint64_t(whole(outcome.without_scratch.bytes)))},
              {"without_cudnn_error_bytes", number_or_null(uint64_t(whole(outcome.without_scratch.more)))},
              {"cudnn_as_recorded_bytes",
               outcome.scratch_as_recorded ? Json(whole(*outcome.scratch_as_recorded)) : Json(nullptr)},
              {"reserved_bytes", number_or_null(uint64_t(whole(outcome.reserved.bytes)))},
              {"reserved_error_bytes", number_or_null(uint64_t(whole(outcome.reserved.more)))},
              {"fits", analyzer::oom::name(outcome.fits)},
              {"lacks_files", outcome.unread},
              {"unknown_types", std::move(unknown_types)},
              {"largest", std::move(largest)}};
  add_ends(out, "without_cudnn_", outcome.without_scratch);
  add_ends(out, "reserved_", outcome.reserved);
  return out;
}

Json site_json(const forecast::Answer& answer, const forecast::SiteRow& site) {
  return {{"where", site.where},
          {"module", text_or_null(site.modules)},
          {"category", analyzer::text(site.category)},
          {"seen_bytes", site.seen},
          {"bytes", whole(site.predicted.bytes)},
          {"error_bytes", whole(site.predicted.spread)},
          {"grows_with", powers_json(answer.sizes, site.powers)},
          {"basis", forecast::text(site.basis)}};
}

}  // namespace

std::string forecast_json(const std::vector<forecast::Sample>& samples, const forecast::Answer& answer,
                          const forecast::Question& question) {
  Json inputs = Json::array(), categories = Json::array(), sites = Json::array(), scenarios = Json::array();
  for (size_t i = 0; i < samples.size(); ++i) {
    inputs.push_back({{"file", samples[i].file},
                      {"recording", samples[i].recording},
                      {"sizes", sizes_json(answer.sizes, forecast::values_of(answer.sizes, i))},
                      {"peak_bytes", samples[i].peak},
                      {"by_the_same_rules", whole(answer.checks[i].predicted)},
                      {"reserved_peak", samples[i].reserved_peak}});
  }
  for (const forecast::CategoryRow& row : answer.at_peak.categories) {
    categories.push_back({{"category", analyzer::text(row.category)},
                          {"seen_bytes", row.seen},
                          {"bytes", whole(row.predicted.bytes)},
                          {"error_bytes", whole(row.predicted.spread)},
                          {"grows_with", powers_json(answer.sizes, row.powers)}});
  }
  for (const forecast::SiteRow& site : answer.at_peak.sites) sites.push_back(site_json(answer, site));
  for (const forecast::Outcome& outcome : answer.scenarios) scenarios.push_back(outcome_json(answer, outcome));
  Json others = Json::object();
  for (const forecast::Size& size : answer.sizes) others[size.name] = size.others;
  Json out = {{"schema", kForecastSchema},
              {"device", samples[0].device.text()},
              {"sizes_found", answer.sizes[0].found},
              {"other_sizes", std::move(others)},
              {"inputs", std::move(inputs)},
              {"base", answer.base},
              {"target", sizes_json(answer.sizes, answer.target)},
              {"limit", question.limit ? Json(*question.limit) : Json(nullptr)},
              {"matched", answer.matched},
              {"peak_moves", answer.peak_moves},
              {"not_read", not_read_json(answer.unread, text::unread_note(answer))},
              {"forecast", outcome_json(answer, answer.plain)},
              {"what_if", std::move(scenarios)},
              {"categories", std::move(categories)},
              {"sites", std::move(sites)}};
  return text_of(out, 2) + "\n";
}

}  // namespace tensorscope::exports
