// SPDX-License-Identifier: Apache-2.0
#include "forecast/matching.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tensorscope::analyzer::forecast {

namespace {

// The blocks of one key in one input.
struct Group {
  std::vector<uint32_t> blocks;
  double live = 0, most = 0;  // bytes
  int64_t count = 0, most_count = 0;
};
using Groups = std::unordered_map<uint32_t, Group>;

Groups groups_of(const Sample& sample, uint32_t Block::*key, const std::vector<uint8_t>& taken) {
  Groups groups;
  for (const Change& change : sample.changes) {
    if (taken[change.block]) continue;
    const Block& block = sample.blocks[change.block];
    Group& group = groups[block.*key];
    if (!change.made) {
      group.live -= double(block.nbytes);
      --group.count;
      continue;
    }
    group.blocks.push_back(change.block);
    group.live += double(block.nbytes);
    group.most = std::max(group.most, group.live);
    group.most_count = std::max(group.most_count, ++group.count);
  }
  return groups;
}

SeenBlock seen_block(const Sample& sample, uint32_t index) {
  const Block& block = sample.blocks[index];
  return {double(block.nbytes), sample.shape(block), block.shape_known ? block.itemsize : uint8_t(0), 1, block.scratch};
}

// All blocks of a group that were alive together, as one; its shape, where they have a common one.
SeenBlock seen_together(const Sample& sample, const Group& group) {
  SeenBlock seen = seen_block(sample, group.blocks.front());
  for (uint32_t index : group.blocks) {
    const SeenBlock other = seen_block(sample, index);
    if (other.bytes != seen.bytes || other.itemsize != seen.itemsize || !std::ranges::equal(other.shape, seen.shape)) {
      seen.itemsize = 0;
      break;
    }
  }
  seen.count = group.most_count;
  seen.bytes = group.most;
  return seen;
}

class Matcher {
 public:
  Matcher(const std::vector<Sample>& samples, const std::vector<Size>& sizes, size_t base)
      : samples_(samples), sizes_(sizes), base_(base) {
    out_.growth.assign(samples[base].blocks.size(), UINT32_MAX);
    out_.share.assign(samples[base].blocks.size(), 1);
    for (const Sample& sample : samples) taken_.emplace_back(sample.blocks.size());
  }

  Matched match(uint32_t Block::*key) {
    by(key);
    by(&Block::kind);
    by(&Block::coarse);
    for (size_t i = 0; i < out_.growth.size(); ++i) {
      if (out_.growth[i] != UINT32_MAX) continue;
      const Block& alone = samples_[base_].blocks[i];
      out_.growth[i] = add(Growth(double(alone.nbytes), alone.scratch ? Basis::scratch : Basis::not_matched));
    }
    return std::move(out_);
  }

 private:
  uint32_t add(Growth growth) {
    out_.growths.push_back(std::move(growth));
    return uint32_t(out_.growths.size() - 1);
  }

  // Most blocks of a program are alike: a growth for each kind of them.
  uint32_t growth_of(const std::vector<SeenBlock>& seen) {
    std::vector<int64_t> key;
    for (const SeenBlock& block : seen) {
      key.insert(key.end(),
                 {int64_t(block.bytes), block.itemsize, block.count, int64_t(block.shape.size()), block.scratch});
      if (block.itemsize != 0) key.insert(key.end(), block.shape.begin(), block.shape.end());
    }
    const auto [found, fresh] = known_.try_emplace(std::move(key));
    if (fresh) found->second = add(Growth(sizes_, seen, base_, samples_[base_].device.is_cpu()));
    return found->second;
  }

  void by(uint32_t Block::*key) {
    std::vector<Groups> groups;
    for (size_t i = 0; i < samples_.size(); ++i) groups.push_back(groups_of(samples_[i], key, taken_[i]));
    for (const auto& [number, own] : groups[base_]) {
      std::vector<const Group*> all;
      bool as_many = true;
      for (const Groups& of : groups) {
        const auto found = of.find(number);
        if (found == of.end()) break;
        all.push_back(&found->second);
        as_many = as_many && found->second.blocks.size() == own.blocks.size();
      }
      if (all.size() != groups.size()) continue;
      std::vector<SeenBlock> seen(all.size());
      uint32_t together = UINT32_MAX;
      if (!as_many) {
        for (size_t i = 0; i < all.size(); ++i) seen[i] = seen_together(samples_[i], *all[i]);
        together = growth_of(seen);
      }
      for (size_t n = 0; n < own.blocks.size(); ++n) {
        const uint32_t block = own.blocks[n];
        if (as_many) {
          for (size_t i = 0; i < all.size(); ++i) seen[i] = seen_block(samples_[i], all[i]->blocks[n]);
          out_.growth[block] = growth_of(seen);
        } else {
          out_.growth[block] = together;
          out_.share[block] = own.most == 0 ? 0 : double(samples_[base_].blocks[block].nbytes) / own.most;
        }
      }
      for (size_t i = 0; i < all.size(); ++i) {
        for (uint32_t block : all[i]->blocks) taken_[i][block] = 1;
      }
    }
  }

  const std::vector<Sample>& samples_;
  const std::vector<Size>& sizes_;
  const size_t base_;
  Matched out_;
  std::vector<std::vector<uint8_t>> taken_;  // of each sample's blocks: they have found theirs
  std::map<std::vector<int64_t>, uint32_t> known_;
};

}  // namespace

size_t base_of(const std::vector<Sample>& samples, const std::vector<Size>& sizes) {
  const auto product = [&](size_t sample) {
    double all = 1;
    for (const Size& size : sizes) all *= double(size.seen[sample]);
    return all;
  };
  size_t base = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    if (std::pair(product(i), samples[i].peak) > std::pair(product(base), samples[base].peak)) base = i;
  }
  return base;
}

Matched match_blocks(const std::vector<Sample>& samples, const std::vector<Size>& sizes, size_t base,
                     uint32_t Block::*key) {
  return Matcher(samples, sizes, base).match(key);
}

uint64_t matched_at_peak(const std::vector<Sample>& samples, const Matched& matched, size_t base) {
  const Sample& sample = samples[base];
  int64_t bytes = 0;
  for (size_t i = 0; i <= sample.at_peak && i < sample.changes.size(); ++i) {
    const Change& change = sample.changes[i];
    if (matched.growths[matched.growth[change.block]].basis() == Basis::not_matched) continue;
    const int64_t nbytes = int64_t(sample.blocks[change.block].nbytes);
    bytes += change.made ? nbytes : -nbytes;
  }
  return uint64_t(std::max<int64_t>(0, bytes));
}

std::vector<std::vector<uint32_t>> counterparts(const std::vector<Sample>& samples, size_t base) {
  std::vector<Groups> groups;
  for (const Sample& sample : samples) {
    groups.push_back(groups_of(sample, &Block::key, std::vector<uint8_t>(sample.blocks.size())));
  }
  std::vector<std::vector<uint32_t>> result;
  for (const auto& [number, own] : groups[base]) {
    std::vector<const Group*> all;
    for (const Groups& of : groups) {
      const auto found = of.find(number);
      if (found == of.end() || found->second.blocks.size() != own.blocks.size()) break;
      all.push_back(&found->second);
    }
    if (all.size() != groups.size()) continue;
    for (size_t n = 0; n < own.blocks.size(); ++n) {
      std::vector<uint32_t> row;
      for (const Group* group : all) row.push_back(group->blocks[n]);
      result.push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace tensorscope::analyzer::forecast
