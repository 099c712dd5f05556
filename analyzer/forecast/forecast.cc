// SPDX-License-Identifier: Apache-2.0
#include "forecast/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "forecast/matching.h"
#include "support/error.h"

namespace tensorscope::analyzer::forecast {

namespace {

constexpr double kMinMatched = 0.5;

void check_inputs(const std::vector<Sample>& samples) {
  if (samples.size() < 2) throw BadInput("a forecast needs two inputs or more, of different sizes.");
  for (const Sample& sample : samples) {
    if (sample.device != samples[0].device) {
      throw BadInput(fmt::format("{} is about {}, {} about {}; choose one with --device.", samples[0].file,
                                 samples[0].device.text(), sample.file, sample.device.text()));
    }
    if (sample.recording != samples[0].recording) {
      throw BadInput("a forecast needs inputs of one kind: recordings or dumps.");
    }
  }
}

std::vector<Size> sizes_of(const std::vector<Sample>& samples, const Question& question) {
  std::vector<Size> sizes = question.told;
  if (sizes.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : question.set) names.push_back(name);
    sizes = find_sizes(samples, names);
  }
  check_sizes(sizes, samples);
  return sizes;
}

SizeValues target_of(const Question& question, const std::vector<Size>& sizes, SizeValues target) {
  if (question.set.empty()) target[0] *= 2;
  for (const auto& [name, value] : question.set) {
    const auto found = std::ranges::find(sizes, name, &Size::name);
    if (found == sizes.end()) {
      std::string known;
      for (const Size& size : sizes) known += (known.empty() ? "" : ", ") + size.name;
      throw BadInput(fmt::format("no size '{}' varies between the inputs; what varies: {}.", name, known));
    }
    target[size_t(found - sizes.begin())] = value;
  }
  return target;
}

// Whether blocks may belong together that lack the names of functions for it.
bool lack_names(const std::vector<Sample>& samples) {
  return std::ranges::any_of(samples, [](const Sample& sample) {
    return std::ranges::any_of(sample.blocks, [](const Block& block) { return block.key != block.read_key; });
  });
}

std::vector<Check> checks_of(const std::vector<Sample>& samples, const std::vector<Size>& sizes, const Replay& replay) {
  std::vector<Check> checks;
  for (size_t i = 0; i < samples.size(); ++i) checks.push_back({i, peak(replay, values_of(sizes, i)).bytes});
  return checks;
}

// The runs that a forecast rests on: as blocks belong together by their call stacks, and, if some cannot be read, by
// what can be read of them.
struct Replays {
  Replay replay;
  std::optional<Replay> by_read_names;
};

// Throws BadInput where too little of the base's peak has a counterpart. Writes how much has into `matched_part`.
Replays replays_of(const std::vector<Sample>& samples, const std::vector<Size>& sizes, size_t base,
                   double& matched_part) {
  const Sample& of = samples[base];
  Matched matched = match_blocks(samples, sizes, base);
  matched_part = double(matched_at_peak(samples, matched, base)) / double(std::max<uint64_t>(1, of.peak));
  if (matched_part < kMinMatched) {
    throw BadInput(fmt::format(
        "the inputs are of different programs: {:.0f} % of the peak of {} is allocated where the others allocate "
        "nothing.",
        100 * (1 - matched_part), of.file));
  }
  Replays replays{replay_of(of, std::move(matched)), std::nullopt};
  if (lack_names(samples)) replays.by_read_names = replay_of(of, match_blocks(samples, sizes, base, &Block::read_key));
  return replays;
}

// What if: the same run with something changed.
Outcome outcome_of(const PeakQuestion& asked, const Outcomes& outcomes, const Replays& replays,
                   const Scenario& scenario) {
  const Sample& base = asked.samples[asked.base];
  Replay changed = apply_scenario(replays.replay, base, scenario);
  std::optional<Replay> other;
  if (replays.by_read_names) other = apply_scenario(*replays.by_read_names, base, scenario);
  PeakAt at_peak = peak(changed, asked.target);
  Outcome then = outcomes.of(changed, at_peak, other, least_error(scenario, base.device.is_cpu()));
  if (base.convolves_in_float32 && (scenario.autocast || !scenario.dtype.empty())) {
    changed = without_scratch(changed);
    at_peak = peak(changed, asked.target);
    outcomes.leave_out_scratch(then, changed);
  }
  then.unknown_types = unknown_types(asked, changed, at_peak.change);
  return then;
}

}  // namespace

Answer answer(const std::vector<Sample>& samples, const Question& question) {
  check_inputs(samples);
  Answer out;
  out.sizes = sizes_of(samples, question);
  out.base = base_of(samples, out.sizes);
  const Sample& base = samples[out.base];
  const SizeValues base_values = values_of(out.sizes, out.base);
  out.target = target_of(question, out.sizes, base_values);
  const PeakQuestion asked{samples, out.base, base_values, out.target};

  const Replays replays = replays_of(samples, out.sizes, out.base, out.matched);
  out.checks = checks_of(samples, out.sizes, replays.replay);
  Outcomes::Misses misses{missed_part(samples, out.checks)};
  if (replays.by_read_names) {
    misses.missed_by_read_names = missed_part(samples, checks_of(samples, out.sizes, *replays.by_read_names));
  }
  const Outcomes outcomes(asked, out.sizes, question.limit, replays.replay, misses);

  const PeakAt at = peak(replays.replay, out.target);
  out.plain = outcomes.of(replays.replay, at, replays.by_read_names);
  out.peak_moves = base.recording && at.change != base.at_peak;
  out.at_peak = rows_at_peak(asked, replays.replay, at.change);
  for (const auto& [name, scenario] : question.scenarios) {
    out.scenarios.push_back(outcome_of(asked, outcomes, replays, scenario));
    out.scenarios.back().name = name;
  }
  const auto lacks = [](const Outcome& outcome) { return outcome.unread; };
  if (lacks(out.plain) || std::ranges::any_of(out.scenarios, lacks)) {
    for (const Sample& sample : samples) out.unread.add(sample.opened->places.unread().files());
  }
  return out;
}

}  // namespace tensorscope::analyzer::forecast
