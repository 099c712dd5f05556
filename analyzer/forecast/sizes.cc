// SPDX-License-Identifier: Apache-2.0
#include "forecast/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "dump/reader.h"
#include "forecast/matching.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

// What a dimension was in each input.
using Seen = std::vector<int64_t>;

// {8, 16} and {512, 1024} are {1, 2}.
Seen ratio(const Seen& seen) {
  int64_t common = 0;
  for (int64_t value : seen) common = std::gcd(common, value);
  Seen result = seen;
  for (int64_t& value : result) value /= std::max<int64_t>(1, common);
  return result;
}

struct Candidate {
  Seen seen;
  double first = 0, later = 0;  // bytes of blocks that have it as their first dimension, as another one
  std::set<int64_t> beside{};   // dimensions of these blocks that are the same in all inputs
};

// Dimensions that differ, the smallest first.
std::vector<Candidate> candidates(const std::vector<Sample>& samples, const std::vector<std::vector<uint32_t>>& rows,
                                  bool inputs_alone) {
  std::map<Seen, Candidate> found;
  std::vector<const Block*> blocks(samples.size());
  for (const std::vector<uint32_t>& row : rows) {
    bool usable = true;
    for (size_t i = 0; i < samples.size(); ++i) {
      blocks[i] = &samples[i].blocks[row[i]];
      usable = usable && blocks[i]->shape_known && blocks[i]->ndim == blocks[0]->ndim;
    }
    const bool input = blocks[0]->dtype == rules::kInt32 || blocks[0]->dtype == rules::kInt64 ||
                       blocks[0]->category == Category::input_batch;
    if (!usable || (inputs_alone && !input)) continue;
    std::vector<Candidate*> varying;
    std::set<int64_t> constant;
    for (size_t d = 0; d < blocks[0]->ndim; ++d) {
      Seen seen;
      for (size_t i = 0; i < samples.size(); ++i) seen.push_back(samples[i].shape(*blocks[i])[d]);
      if (std::ranges::all_of(seen, [&](int64_t value) { return value == seen[0]; })) {
        constant.insert(seen[0]);
      } else if (std::ranges::min(seen) >= 1) {
        Candidate& candidate = found[seen];
        candidate.seen = seen;
        (d == 0 ? candidate.first : candidate.later) += double(blocks.back()->nbytes);
        varying.push_back(&candidate);
      }
    }
    for (Candidate* candidate : varying) candidate->beside.insert(constant.begin(), constant.end());
  }
  std::vector<Candidate> result;
  for (auto& [key, candidate] : found) result.push_back(std::move(candidate));
  std::ranges::stable_sort(
      result, {}, [](const Candidate& one) { return std::accumulate(one.seen.begin(), one.seen.end(), int64_t(0)); });
  return result;
}

// Whether b follows from a: b = x + y * a, or a * a.
bool follows(const Seen& b, const Seen& a) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a.size(); ++j) {
      if (a[i] == a[j] && b[i] != b[j]) return false;
    }
  }
  const auto [low, high] = std::minmax_element(a.begin(), a.end());
  const size_t l = size_t(low - a.begin()), h = size_t(high - a.begin());
  const double slope = double(b[h] - b[l]) / double(a[h] - a[l]);
  bool line = true, square = true;
  for (size_t i = 0; i < a.size(); ++i) {
    line = line && std::abs(double(b[l]) + slope * double(a[i] - a[l]) - double(b[i])) < 1;
    square = square && double(b[i]) * double(a[0]) * double(a[0]) == double(b[0]) * double(a[i]) * double(a[i]);
  }
  return line || square;
}

// A batch of sequences laid out flat is no size of its own.
bool multiple(const Candidate& other, const Candidate& of) {
  const int64_t times = other.seen[0] / of.seen[0];
  return times * of.seen[0] == other.seen[0] && ratio(other.seen) == ratio(of.seen) && of.beside.contains(times) &&
         !other.beside.contains(times);
}

bool is_batch(const std::string& name) { return name.starts_with("batch"); }

void name_sizes(std::vector<Size>& sizes, const std::vector<Candidate>& chosen, const std::vector<std::string>& names) {
  if (chosen.size() == 1) {
    sizes[0].name = names.size() == 1 ? names[0] : chosen[0].first >= chosen[0].later ? "batch" : "sequence";
    return;
  }
  const auto share = [](const Candidate& c) { return c.first / std::max(1.0, c.first + c.later); };
  const size_t batch = share(chosen[0]) >= share(chosen[1]) ? 0 : 1;
  sizes[batch].name = "batch";
  sizes[1 - batch].name = "sequence";
  for (const std::string& name : names) (is_batch(name) ? sizes[batch] : sizes[1 - batch]).name = name;
}

}  // namespace

SizeValues values_of(const std::vector<Size>& sizes, size_t sample) {
  SizeValues values;
  for (const Size& size : sizes) values.push_back(size.seen[sample]);
  return values;
}

std::vector<Size> find_sizes(const std::vector<Sample>& samples, const std::vector<std::string>& names) {
  const std::vector<std::vector<uint32_t>> rows = counterparts(samples, base_of(samples, {}));
  std::vector<Candidate> found = candidates(samples, rows, true);
  const bool of_inputs = !found.empty();
  if (!of_inputs) found = candidates(samples, rows, false);
  if (found.empty()) {
    throw BadInput(
        fmt::format("nothing varies between {} and {}: no dimension of a tensor differs. Where a size is in "
                    "no shape, tell it with --vary.",
                    samples[0].file, samples[1].file));
  }
  // The smallest of each ratio: a product of two sizes comes after both.
  std::vector<Candidate> chosen = {found[0]};
  std::set<Seen> ratios;
  for (const Candidate& candidate : found) {
    if (ratios.insert(ratio(candidate.seen)).second && chosen.size() < kMaxSizes &&
        samples.size() > chosen.size() + 1 && !follows(candidate.seen, chosen[0].seen)) {
      chosen.push_back(candidate);
    }
  }
  std::vector<Size> sizes;
  for (const Candidate& candidate : chosen) sizes.push_back({"", candidate.seen, true});
  for (const Candidate& other : found) {
    if (!of_inputs || std::ranges::any_of(chosen, [&](const Candidate& one) { return multiple(other, one); })) continue;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (other.seen == chosen[i].seen || ratio(other.seen) != ratio(chosen[i].seen)) continue;
      sizes[i].others.push_back(other.seen);
      break;
    }
  }
  name_sizes(sizes, chosen, names);
  return sizes;
}

void check_sizes(const std::vector<Size>& sizes, const std::vector<Sample>& samples) {
  if (sizes.size() > kMaxSizes) throw BadInput("a forecast can follow two sizes at most.");
  for (const Size& size : sizes) {
    if (size.seen.size() != samples.size()) {
      throw BadInput(
          fmt::format("--vary {} has {} values, for {} inputs.", size.name, size.seen.size(), samples.size()));
    }
    if (std::ranges::min(size.seen) < 1) throw BadInput(fmt::format("--vary {}: sizes are 1 or more.", size.name));
    if (std::ranges::all_of(size.seen, [&](int64_t value) { return value == size.seen[0]; })) {
      throw BadInput(fmt::format("nothing varies: {} is {} in all inputs.", size.name, size.seen[0]));
    }
  }
  if (samples.size() <= sizes.size()) {
    throw BadInput(fmt::format("{} sizes need {} inputs or more.", sizes.size(), sizes.size() + 1));
  }
  if (sizes.size() == 2 && follows(sizes[1].seen, sizes[0].seen)) {
    throw BadInput(fmt::format("{} and {} vary together; one input has to differ in one of them alone.", sizes[0].name,
                               sizes[1].name));
  }
}

}  // namespace tensorscope::analyzer::forecast
