// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/module_passes.h"

#include <algorithm>
#include <map>
#include <span>

#include "memory/selection.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Whether a tensor is a part of one that `cat` or `stack` may have made of it: larger in one dimension.
bool part_of(std::span<const int64_t> part, std::span<const int64_t> whole) {
  if (part.size() < 2 || part.size() != whole.size()) return false;
  size_t larger = 0;
  for (size_t i = 0; i < part.size(); ++i) {
    if (whole[i] < part[i]) return false;
    larger += whole[i] > part[i];
  }
  return larger == 1;
}

// The path of the outermost module around `path` that the pattern names; "" where it is in none.
std::string instance_of(const std::string& pattern, const std::string& path) {
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && name_matches(pattern, part) &&
        std::ranges::count(part, '.') == std::ranges::count(pattern, '.')) {
      return part;
    }
    if (end == std::string::npos) return "";
  }
}

}  // namespace

ModulePasses::ModulePasses(const Replay& replay, const Sample& base, const std::vector<std::string>& patterns)
    : replay_(replay), base_(base) {
  find_modules(patterns);
  find_passes();
}

void ModulePasses::find_modules(const std::vector<std::string>& patterns) {
  std::map<std::string, uint32_t> numbers;
  std::unordered_map<uint64_t, uint32_t> known;
  instance_.assign(replay_.blocks.size(), 0);
  for (size_t i = 0; i < replay_.blocks.size(); ++i) {
    const uint32_t block = replay_.blocks[i].place();
    if (block == kNone) continue;
    const Block& of = base_.blocks[block];
    const auto [found, fresh] = known.try_emplace(uint64_t(of.site) << 32 | of.forward);
    if (fresh) {
      const std::string path = base_.modules(block);
      std::string instance;
      for (const std::string& pattern : patterns) {
        if (instance.empty()) instance = instance_of(pattern, path);
      }
      if (!instance.empty()) {
        found->second = numbers.try_emplace(instance, uint32_t(numbers.size() + 1)).first->second;
      }
    }
    instance_[i] = found->second;
  }
}

bool ModulePasses::is_forward(uint32_t replay_block) const {
  const Block& block = base_.blocks[replay_.blocks[replay_block].place()];
  return !block.backward && !block.optimizer;
}
bool ModulePasses::is_saved(uint32_t replay_block) const {
  const Category c = replay_.blocks[replay_block].category;
  if (replay_.blocks[replay_block].block == kNone) return is_forward(replay_block) && c == Category::saved_activation;
  const Block& block = base_.blocks[replay_.blocks[replay_block].block];
  return is_forward(replay_block) && block.past_backward && c != Category::parameter && c != Category::buffer &&
         c != Category::gradient;
}

const std::string& ModulePasses::path_of(uint32_t replay_block) {
  const Block& block = base_.blocks[replay_.blocks[replay_block].place()];
  const auto [found, fresh] = paths_.try_emplace(uint64_t(block.site) << 32 | block.forward);
  if (fresh) found->second = base_.modules(replay_.blocks[replay_block].place());
  return found->second;
}

// Whether modules around a pass, or beside it, have made such a block of a replay block's type before it.
template <typename Test>
bool ModulePasses::made_before(const Pass& pass, uint32_t replay_block, Test test) const {
  const Block& own = base_.blocks[replay_.blocks[replay_block].block];
  if (!own.shape_known || base_.numel(own) == 0) return false;
  for (size_t i = made_[replay_block] + 1; i < pass.begin; ++i) {
    const auto [other, made] = replay_.changes[i];
    const uint32_t number = replay_.blocks[other].block;
    if (!made || number == kNone || instance_[other] != 0 || !is_forward(other)) continue;
    const Block& block = base_.blocks[number];
    if (block.shape_known && block.dtype == own.dtype && test(own, block)) return true;
  }
  return false;
}
// What it was made for, then: a sum of two embeddings, a sum over layers, a concatenation.
bool ModulePasses::used_before(const Pass& pass, uint32_t replay_block) const {
  return made_before(pass, replay_block, [&](const Block& own, const Block& block) {
    return base_.numel(block) != 0 && base_.numel(block) % base_.numel(own) == 0;
  });
}
bool ModulePasses::summed_before(const Pass& pass, uint32_t replay_block) const {
  return made_before(pass, replay_block,
                     [&](const Block& own, const Block& block) { return base_.numel(block) == base_.numel(own); });
}
bool ModulePasses::concatenated_before(const Pass& pass, uint32_t replay_block) const {
  return made_before(pass, replay_block, [&](const Block& own, const Block& block) {
    return part_of(base_.shape(own), base_.shape(block));
  });
}

// Forward of a module begins with its first block and ends with the next block made outside of it.
void ModulePasses::find_passes() {
  std::map<uint32_t, size_t> open, waiting;  // by instance: index into passes_
  freed_.assign(replay_.blocks.size(), SIZE_MAX);
  made_.assign(replay_.blocks.size(), 0);
  for (size_t i = 0; i < replay_.changes.size(); ++i) {
    const auto [replay_block, made] = replay_.changes[i];
    (made ? made_ : freed_)[replay_block] = i;
    const uint32_t place = replay_.blocks[replay_block].place();
    if (made && place != kNone && base_.blocks[place].backward) backward_.push_back(i);
  }
  for (size_t i = 0; i < replay_.changes.size(); ++i) {
    const auto [replay_block, made] = replay_.changes[i];
    if (replay_.blocks[replay_block].place() == kNone || !made) continue;
    const uint32_t instance = instance_[replay_block];
    for (auto at = open.begin(); at != open.end();) {
      if (at->first == instance && is_forward(replay_block)) {
        ++at;
        continue;
      }
      waiting[at->first] = at->second;
      at = open.erase(at);
    }
    if (instance == 0) continue;
    if (is_forward(replay_block)) {
      const auto [found, fresh] = open.try_emplace(instance, passes_.size());
      if (fresh) passes_.push_back({.begin = i, .end = i, .instance = instance});
      Pass& pass = passes_[found->second];
      pass.end = i;
      if (is_saved(replay_block)) pass.saved.push_back(replay_block);
    } else if (const auto found = waiting.find(instance); found != waiting.end()) {
      Pass& pass = passes_[found->second];
      if (pass.recompute_at == SIZE_MAX) pass.recompute_at = i;
    }
  }
  for (Pass& pass : passes_) {
    const auto next = std::ranges::lower_bound(backward_, pass.end);
    if (next != backward_.end()) pass.backward_begin = *next;
  }
  for (size_t i = 0; i < passes_.size(); ++i) {
    if (i + 1 < passes_.size()) passes_[i].result = given_on(passes_[i], passes_[i + 1]);
    finish(passes_[i]);
  }
  std::erase_if(passes_, [](const Pass& pass) { return pass.saved.empty() || pass.recompute_at == SIZE_MAX; });
}

// What comes out of a module stays: the last of its blocks that is saved. Backward needs the pass as soon as one of
// the others is used, which is at the latest when it is freed.
void ModulePasses::finish(Pass& pass) const {
  // What another what-if frees before backward begins is not saved.
  const size_t until = pass.backward_begin == SIZE_MAX ? pass.end : pass.backward_begin;
  if (pass.result == kNone) take_result(pass, until);
  std::erase_if(pass.saved, [&](uint32_t replay_block) { return freed_[replay_block] <= until; });
  for (uint32_t replay_block : pass.saved) {
    if (freed_[replay_block] != SIZE_MAX && freed_[replay_block] > pass.end)
      pass.recompute_at = std::min(pass.recompute_at, freed_[replay_block]);
  }
}

void ModulePasses::take_result(Pass& pass, size_t until) const {
  const auto result = std::find_if(pass.saved.rbegin(), pass.saved.rend(),
                                   [&](uint32_t replay_block) { return replay_.blocks[replay_block].block != kNone; });
  if (result == pass.saved.rend()) return;
  if (freed_[*result] <= until) pass.result = *result;
  pass.saved.erase(std::next(result).base());
}

// The last thing made by a pass that nothing saves and that is freed as the next one returns: its argument, but for
// what the modules around them have made something of that shape of, such as a sum over layers.
uint32_t ModulePasses::given_on(const Pass& pass, const Pass& next) const {
  if (next.begin < pass.end || next.backward_begin != pass.backward_begin) return kNone;
  size_t returns = next.end;
  while (returns + 1 < replay_.changes.size() && !replay_.changes[returns + 1].made) ++returns;
  for (size_t i = pass.end + 1; i-- > pass.begin;) {
    const auto [replay_block, made] = replay_.changes[i];
    if (!made || instance_[replay_block] != pass.instance || replay_.blocks[replay_block].block == kNone ||
        !is_forward(replay_block))
      continue;
    if (freed_[replay_block] > next.end && freed_[replay_block] <= returns && !summed_before(next, replay_block))
      return replay_block;
  }
  return kNone;
}

}  // namespace tensorscope::analyzer::forecast
