#include "forecast/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "dump/reader.h"
#include "forecast/reserved.h"
#include "memory/grouping.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::forecast {

namespace {

constexpr int64_t kMaxTried = int64_t(1) << 40;
constexpr double kMinMatched = 0.5;
// Libraries may take another path at a size that was not seen: 0.06 % of the peak in the worst of the checked models.
constexpr double kMinError = 0.001;

// Parts of the peak that a what-if may be off by, at the least: twice what the checked models were off by.
double least_error(const Changes& changes, bool cpu) {
  constexpr double kSharded = 0.035, kCheckpointing = 0.03, kHalf = 0.12, kBoth = 0.1;
  const double autocast = cpu ? 0.05 : 0.16;
  if (changes.autocast && !changes.checkpointed.empty()) return kBoth;
  return std::max({changes.ranks > 1 ? kSharded : 0, changes.checkpointed.empty() ? 0 : kCheckpointing,
                   changes.dtype.empty() ? 0 : kHalf, changes.autocast ? autocast : 0});
}

Powers highest(Powers a, const Powers& b) {
  for (size_t i = 0; i < kMaxSizes; ++i) a[i] = std::max(a[i], b[i]);
  return a;
}

std::string place_of(const Sample& base, uint32_t block) {
  const Block& of = base.blocks[block];
  return (of.forward != 0 ? "backward of " : "") + base.opened->places.at(of.place()).where;
}

class Forecaster {
 public:
  Forecaster(const std::vector<Sample>& samples, const Question& question) : samples_(samples), question_(question) {}

  Answer run() {
    check_inputs();
    out_.sizes = question_.told;
    if (out_.sizes.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : question_.set) names.push_back(name);
      out_.sizes = find_sizes(samples_, names);
    }
    check_sizes(out_.sizes, samples_);
    out_.base = base_of(samples_, out_.sizes);
    set_target();
    Matched matched = match_blocks(samples_, out_.sizes, out_.base);
    const Sample& base = samples_[out_.base];
    out_.matched = double(matched_at_peak(samples_, matched, out_.base)) / double(std::max<uint64_t>(1, base.peak));
    if (out_.matched < kMinMatched) {
      throw BadInput(fmt::format(
          "the inputs are of different programs: {:.0f} % of the peak of {} is allocated where the others allocate "
          "nothing.",
          100 * (1 - out_.matched), base.file));
    }
    const Replay replay = replay_of(base, std::move(matched));
    std::optional<Replay> by_read_names;
    if (lack_names()) {
      by_read_names = replay_of(base, match_blocks(samples_, out_.sizes, out_.base, &Block::read_key));
      missed_by_read_names_ = missed_part(checks_of(*by_read_names));
    }
    out_.checks = checks_of(replay);
    note_reserved(replay);
    const PeakAt at = peak(replay, out_.target);
    out_.plain = outcome(replay, at, by_read_names);
    out_.peak_moves = base.recording && at.change != base.at_peak;
    sum_up(replay, at.change);
    for (const auto& [name, changes] : question_.scenarios) {
      Replay changed = with_changes(replay, base, changes);
      std::optional<Replay> other;
      if (by_read_names) other = with_changes(*by_read_names, base, changes);
      PeakAt at_peak = peak(changed, out_.target);
      Outcome then = outcome(changed, at_peak, other, least_error(changes, base.device.is_cpu()));
      if (base.convolves_in_float32 && (changes.autocast || !changes.dtype.empty())) {
        changed = without_scratch(changed);
        at_peak = peak(changed, out_.target);
        leave_out_scratch(then, changed);
      }
      then.unknown_types = unknown_types(changed, at_peak.change);
      then.name = name;
      out_.scenarios.push_back(std::move(then));
    }
    const auto lacks = [](const Outcome& outcome) { return outcome.unread; };
    if (lacks(out_.plain) || std::ranges::any_of(out_.scenarios, lacks)) {
      for (const Sample& sample : samples_) out_.unread.add(sample.opened->places.unread().files());
    }
    return std::move(out_);
  }

 private:
  const SizeValues base_values() const { return values_of(out_.sizes, out_.base); }

  void check_inputs() const {
    if (samples_.size() < 2) throw BadInput("a forecast needs two inputs or more, of different sizes.");
    for (const Sample& sample : samples_) {
      if (sample.device != samples_[0].device) {
        throw BadInput(fmt::format("{} is about {}, {} about {}; choose one with --device.", samples_[0].file,
                                   samples_[0].device.text(), sample.file, sample.device.text()));
      }
      if (sample.recording != samples_[0].recording) {
        throw BadInput("a forecast needs inputs of one kind: recordings or dumps.");
      }
    }
  }

  void set_target() {
    out_.target = base_values();
    if (question_.set.empty()) out_.target[0] *= 2;
    for (const auto& [name, value] : question_.set) {
      const auto found = std::ranges::find(out_.sizes, name, &Size::name);
      if (found == out_.sizes.end()) {
        std::string known;
        for (const Size& size : out_.sizes) known += (known.empty() ? "" : ", ") + size.name;
        throw BadInput(fmt::format("no size '{}' varies between the inputs; what varies: {}.", name, known));
      }
      out_.target[size_t(found - out_.sizes.begin())] = value;
    }
  }

  // Whether blocks may belong together that lack the names of functions for it.
  bool lack_names() const {
    return std::ranges::any_of(samples_, [](const Sample& sample) {
      return std::ranges::any_of(sample.blocks, [](const Block& block) { return block.key != block.read_key; });
    });
  }

  std::vector<Check> checks_of(const Replay& replay) const {
    std::vector<Check> checks;
    for (size_t i = 0; i < samples_.size(); ++i) checks.push_back({i, peak(replay, values_of(out_.sizes, i)).bytes});
    return checks;
  }

  void note_reserved(const Replay& replay) {
    for (size_t i = 0; i < samples_.size(); ++i) {
      const SizeValues values = values_of(out_.sizes, i);
      const auto seen = double(samples_[i].reserved_peak);
      if (seen == 0) continue;
      reserves_ = true;
      reserved_miss_ =
          std::max(reserved_miss_, std::abs(double(reserved_peaks(replay, values).reserved) - seen) / seen);
    }
  }

  // What the replay misses an input by, as a part of it.
  double missed_part(const std::vector<Check>& checks) const {
    double worst = 0;
    for (const Check& check : checks) {
      const double seen = double(std::max<uint64_t>(1, samples_[check.sample].peak));
      worst = std::max(worst, std::abs(check.predicted - seen) / seen);
    }
    return worst;
  }

  // Nothing where the inputs are of no device that reserves memory.
  ReservedPeaks reserved_at_target(const Replay& replay) const {
    return reserves_ ? reserved_peaks(replay, out_.target) : ReservedPeaks();
  }

  // What a device's allocator leaves at blocks without cutting it off counts, and does not grow with the requests.
  PeakRange range(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed) const {
    const SizeValues base = base_values();
    const double above = highest_possible(replay, out_.target, base).bytes - at.bytes;
    const double below = at.bytes - least_possible(replay, out_.target, base).bytes;
    const double more = std::max(above, spread_after(replay, at.change, out_.target, base)) + missed * at.bytes;
    const double least = kMinError * at.bytes;
    const double ends_of_blocks = double(device.allocated) - at.bytes;
    return {at.bytes, std::max({more, least, ends_of_blocks}), std::max(below + missed * at.bytes, least)};
  }

  // `least`: a part of the peak that it may be off by in any case; of what it may be where types are not known for lack
  // of files: with them the peak is one within the range, and has that error.
  static void widen(PeakRange& peak, const Replay& replay, double least) {
    if (replay.unread) {
      peak.more += least * peak.most();
      peak.less += least * peak.least();
    }
    peak.more = std::max({peak.more, least * peak.bytes, replay.held});
    peak.less = std::max(peak.less, least * peak.bytes);
    even_out(peak);
  }
  // Two ends are said where they tell something. What is less is never known as well as what is more.
  static void even_out(PeakRange& peak) {
    constexpr double kOneWay = 0.5;
    if (peak.less > kOneWay * peak.more) peak.less = peak.more;
  }

  PeakRange peak_of(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed,
                    double least) const {
    PeakRange result = range(replay, at, device, missed);
    widen(result, replay, least);
    return result;
  }
  PeakRange peak_of(const Replay& replay, double missed, double least) const {
    return peak_of(replay, peak(replay, out_.target), reserved_at_target(replay), missed, least);
  }
  // `other`: by what can be read of call stacks, where that is not all: then it may be either, or in between.
  PeakRange or_other(PeakRange result, const std::optional<Replay>& other, double least) const {
    if (!other) return result;
    const PeakRange may_be = peak_of(*other, missed_by_read_names_, least);
    result.more = std::max(result.more, may_be.most() - result.bytes);
    result.less = std::max(result.less, result.bytes - may_be.least());
    even_out(result);
    return result;
  }

  // `least`: a part of the peak that it may be off by in any case.
  Outcome outcome(const Replay& replay, const PeakAt& at, const std::optional<Replay>& other, double least = 0) const {
    Outcome result;
    const double missed = missed_part(out_.checks);
    const ReservedPeaks device = reserved_at_target(replay);
    const PeakRange known = peak_of(replay, at, device, missed, least);
    result.peak = or_other(known, other, least);
    result.unread = replay.unread || result.peak.more > known.more || result.peak.less > known.less;
    if (reserves_) reserve(result, device);
    // Where there is no memory for it, torch takes an algorithm that needs less (seen with torch 2.11 on an H100).
    std::optional<Replay> needed;
    if (samples_[out_.base].convolves) {
      needed = without_scratch(replay);
      std::optional<Replay> other_needed;
      if (other) other_needed = without_scratch(*other);
      result.without_scratch = or_other(peak_of(*needed, missed, least), other_needed, least);
    }
    if (!question_.limit) return result;
    const double limit = double(*question_.limit);
    result.fits = fits(result, limit);
    for (size_t i = 0; i < out_.sizes.size(); ++i)
      result.largest.push_back(largest(needed ? *needed : replay, i, limit));
    return result;
  }

  // The numbers that are shown; whether it fits, and the largest sizes, stay as they are.
  void leave_out_scratch(Outcome& outcome, const Replay& without) const {
    outcome.scratch_as_recorded = std::max(0.0, outcome.peak.bytes - outcome.without_scratch.bytes);
    outcome.peak = outcome.without_scratch;
    if (reserves_) reserve(outcome, reserved_at_target(without));
  }

  void reserve(Outcome& outcome, const ReservedPeaks& device) const {
    const auto bytes = double(device.reserved);
    outcome.reserved = {bytes, reserved_miss_ * bytes + outcome.peak.more, reserved_miss_ * bytes + outcome.peak.less};
  }

  std::vector<UnknownType> unknown_types(const Replay& replay, size_t change) const {
    const Sample& base = samples_[out_.base];
    std::map<std::string, UnknownType> sites;
    for (const LiveBlock& live : live_after(replay, change, out_.target)) {
      const ReplayBlock& piece = replay.blocks[live.piece];
      if (piece.unsure == 0 || live.bytes == 0 || piece.place() == kNone) continue;
      const std::string where = place_of(base, piece.place()), modules = base.modules(piece.place());
      UnknownType& site = sites[where + "\n" + with_wildcards(modules)];
      site.modules =
          site.where.empty() || site.modules == modules ? modules : merge_module_paths(site.modules, modules);
      site.where = where;
      site.bytes += piece.unsure * live.bytes;
    }
    std::vector<UnknownType> found;
    for (auto& [where, site] : sites) found.push_back(std::move(site));
    std::ranges::stable_sort(found, [](const UnknownType& a, const UnknownType& b) { return a.bytes > b.bytes; });
    return found;
  }

  Fits fits(const Outcome& outcome, double limit) const {
    const PeakRange& all = reserves_ ? outcome.reserved : outcome.peak;
    if (all.most() <= limit) return Fits::yes;
    const PeakRange& needed = outcome.without_scratch.bytes > 0 ? outcome.without_scratch : outcome.peak;
    return needed.bytes > limit ? Fits::no : Fits::may;
  }

  // By bisection, of what is predicted without its error.
  LargestSize largest(const Replay& replay, size_t size, double limit) const {
    LargestSize result;
    result.size = size;
    SizeValues at = out_.target;
    const auto passes = [&](int64_t value) {
      at[size] = value;
      return peak(replay, at).bytes <= limit;
    };
    int64_t low = 0, high = 1;
    while (high < kMaxTried && passes(high)) {
      low = high;
      high *= 2;
    }
    if (high >= kMaxTried) {
      result.value = low;
      result.more = true;
      return result;
    }
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (passes(middle) ? low : high) = middle;
    }
    result.value = low;
    result.none = low == 0;
    at[size] = low + 1;
    const size_t over = first_over(replay, at, limit);
    if (over >= replay.changes.size()) return result;
    const ReplayBlock& piece = replay.blocks[replay.changes[over].block];
    result.first_over_bytes = replay.growths[piece.growth].bytes(at) * piece.factor;
    if (piece.block != kNone) {
      result.first_over = place_of(samples_[out_.base], piece.block);
    } else {
      result.first_over = analyzer::text(piece.category);
    }
    return result;
  }

  void sum_up(const Replay& replay, size_t change) {
    const Sample& base = samples_[out_.base];
    std::map<std::string, SiteRow> sites;
    std::map<Category, CategoryRow> categories;
    const SizeValues from = base_values();
    const std::vector<LiveBlock> at_peak = live_after(replay, change, out_.target);
    for (const LiveBlock& live : at_peak) {
      const ReplayBlock& piece = replay.blocks[live.piece];
      if (live.bytes == 0) continue;
      const Growth& growth = replay.growths[piece.growth];
      CategoryRow& category = categories[piece.category];
      category.predicted.bytes += live.bytes;
      category.predicted.spread += growth.spread(out_.target, from) * piece.factor;
      category.powers = highest(category.powers, growth.powers());
    }
    add_sites(sites, replay, at_peak);
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = samples_[i];
      std::vector<uint8_t> alive(sample.blocks.size());
      for (size_t c = 0; c <= sample.at_peak && c < sample.changes.size(); ++c) {
        alive[sample.changes[c].block] = sample.changes[c].made;
      }
      for (size_t b = 0; b < alive.size(); ++b) {
        if (!alive[b]) continue;
        CategoryRow& category = categories[sample.blocks[b].category];
        category.seen.resize(samples_.size());
        category.seen[i] += sample.blocks[b].nbytes;
        if (i == out_.base) row(sites, base, uint32_t(b)).seen += sample.blocks[b].nbytes;
      }
    }
    for (auto& [category, line] : categories) {
      line.category = category;
      line.seen.resize(samples_.size());
      out_.categories.push_back(std::move(line));
    }
    const auto more = [](const auto& a, const auto& b) { return a.predicted.bytes > b.predicted.bytes; };
    std::ranges::stable_sort(out_.categories, more);
    for (auto& [key, site] : sites) out_.sites.push_back(std::move(site));
    std::ranges::stable_sort(out_.sites, more);
    // What may be off counts where it may make the peak.
    std::map<std::string, SiteRow> doubtful;
    add_sites(doubtful, replay, live_after(replay, highest_possible(replay, out_.target, from).change, out_.target));
    for (auto& [key, site] : doubtful) {
      if (site.predicted.spread > 0 && site.basis >= Basis::assumed) out_.unexplained.push_back(std::move(site));
    }
    std::ranges::stable_sort(
        out_.unexplained, [](const SiteRow& a, const SiteRow& b) { return a.predicted.spread > b.predicted.spread; });
  }

  void add_sites(std::map<std::string, SiteRow>& sites, const Replay& replay, const std::vector<LiveBlock>& alive) {
    const SizeValues from = base_values();
    for (const LiveBlock& live : alive) {
      const ReplayBlock& piece = replay.blocks[live.piece];
      if (live.bytes == 0) continue;
      const Growth& growth = replay.growths[piece.growth];
      SiteRow& site = row(sites, samples_[out_.base], piece.block);
      site.predicted.bytes += live.bytes;
      site.predicted.spread += growth.spread(out_.target, from) * piece.factor;
      site.powers = highest(site.powers, growth.powers());
      site.basis = std::max(site.basis, growth.basis());
    }
  }

  SiteRow& row(std::map<std::string, SiteRow>& sites, const Sample& base, uint32_t block) {
    const Block& of = base.blocks[block];
    const std::string where = place_of(base, block), modules = base.modules(block);
    SiteRow& site = sites[where + "\n" + analyzer::text(of.category)];
    if (site.where.empty()) {
      site.where = where;
      site.site = of.site;
      site.forward = of.forward;
      site.category = of.category;
      site.modules = modules;
    } else if (site.modules != modules) {
      site.modules = merge_module_paths(site.modules, modules);
    }
    return site;
  }

  const std::vector<Sample>& samples_;
  const Question& question_;
  Answer out_;
  double missed_by_read_names_ = 0;  // missed_part() where call stacks are matched by what can be read of them
  bool reserves_ = false;            // an input says what the device's allocator reserved
  double reserved_miss_ = 0;         // the most that its rules miss an input by, as a part
};

}  // namespace

Answer answer(const std::vector<Sample>& samples, const Question& question) {
  return Forecaster(samples, question).run();
}

}  // namespace tensorscope::analyzer::forecast
