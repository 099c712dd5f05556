// SPDX-License-Identifier: Apache-2.0
#include "dump/source/wanted_lines.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "stacks/python/python_stack.h"
#include "support/enough_memory.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::dump {

namespace {

using code::Owner;

class LineCollection {
 public:
  explicit LineCollection(const WantedLimits& limits)
      : limits_(limits), codes_(stacks::python_code_count()), frames_(stacks::python_frame_count()) {}

  // Every frame of the stack that is the program's own; where none is, the one that a report shows for the stack.
  void add_program_frames(StackId leaf) {
    std::vector<StackId>& path = path_;
    path.clear();
    StackId outside = leaf;
    while (inside_trie(outside) && (frames_[outside] & kProgramAdded) == 0) {
      path.push_back(outside);
      outside = stacks::python_frame(outside).parent;
    }
    bool own = inside_trie(outside) && (frames_[outside] & kHasProgramFrame) != 0;
    for (; !path.empty(); path.pop_back()) {
      const StackId id = path.back();
      if (owner_of(id) == Owner::user) {
        add(id);
        own = true;
      }
      frames_[id] |= uint8_t(kProgramAdded | (own ? kHasProgramFrame : 0));
    }
    if (inside_trie(leaf) && (frames_[leaf] & kHasProgramFrame) == 0) add(library_frame(leaf));
  }

  void add_all_frames(StackId leaf) {
    for (StackId id = leaf; inside_trie(id) && (frames_[id] & kAllAdded) == 0; id = stacks::python_frame(id).parent) {
      frames_[id] |= kAllAdded;
      add(id);
    }
  }

  void leave_out() { wanted_.all = false; }

  WantedLines take() {
    for (WantedLines::File& file : wanted_.files) std::sort(file.lines.begin(), file.lines.end());
    return std::move(wanted_);
  }

 private:
  enum : uint8_t { kProgramAdded = 1, kHasProgramFrame = 2, kAllAdded = 4 };  // with all that is outside of the frame
  static constexpr uint32_t kNoFile = UINT32_MAX;
  struct CodeFacts {
    bool known = false;
    Owner owner = Owner::system;
    std::string_view file;  // the code table's own text, which stays
  };

  // Frames may be added meanwhile; sites of the view do not need them.
  bool inside_trie(StackId id) const { return id != 0 && id < frames_.size(); }

  CodeFacts facts_of(StackId id) {
    const uint32_t number = stacks::python_frame(id).code;
    if (number >= codes_.size()) return {};
    CodeFacts& facts = codes_[number];
    if (facts.known) return facts;
    const char* file = stacks::python_code(number).file;
    facts.file = file != nullptr ? file : "";
    facts.owner = code::python_owner(facts.file);
    facts.known = true;
    return facts;
  }
  Owner owner_of(StackId id) { return facts_of(id).owner; }

  StackId library_frame(StackId leaf) {
    for (StackId id = leaf; inside_trie(id); id = stacks::python_frame(id).parent) {
      if (owner_of(id) == Owner::library) return id;
    }
    return leaf;
  }

  uint32_t number_of(std::string_view path) {
    if (const auto found = numbers_.find(path); found != numbers_.end()) return found->second;
    if (wanted_.files.size() >= limits_.files) return kNoFile;
    const auto number = uint32_t(wanted_.files.size());
    wanted_.files.push_back({std::string(path), {}});
    numbers_.emplace(path, number);
    return number;
  }

  void add(StackId id) {
    const std::string_view path = facts_of(id).file;
    const int32_t line = stacks::python_frame(id).line;
    if (line <= 0 || path.empty() || path.front() == '<') return;
    const uint32_t file = number_of(path);
    const uint64_t key = uint64_t{file} << 32 | uint32_t(line);
    if (file == kNoFile || (lines_.size() >= limits_.lines && lines_.count(key) == 0)) {
      wanted_.all = false;
    } else if (lines_.insert(key).second) {
      wanted_.files[file].lines.push_back(uint32_t(line));
    }
  }

  const WantedLimits limits_;
  std::vector<CodeFacts> codes_;
  std::vector<uint8_t> frames_;
  std::vector<StackId> path_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::unordered_set<uint64_t> lines_;
  WantedLines wanted_;
};

// Those of `first`, then the live ones by size, now or at the peak, then those of rows that do not count as live bytes.
std::vector<SiteId> sites_in_order(const live::SnapshotView& view, const std::vector<SiteId>& first) {
  const auto size = [&](SiteId id) { return std::max(view.sites[id].bytes_live, view.sites[id].bytes_kept); };
  std::vector<SiteId> live;
  for (SiteId id = 0; id < view.sites.size; ++id) {
    const live::SiteCounters& site = view.sites[id];
    if (site.tensors_live != 0 || site.allocations_live != 0 || site.bytes_kept != 0) live.push_back(id);
  }
  std::stable_sort(live.begin(), live.end(), [&](SiteId a, SiteId b) { return size(a) > size(b); });
  std::vector<SiteId> order = first;
  order.insert(order.end(), live.begin(), live.end());
  for (const live::RuntimeEntry& block : view.runtime_blocks) order.push_back(block.site);
  for (const live::NodeEntry& node : view.nodes) {
    if (!node.removed) order.push_back(node.site);
  }
  return order;
}

}  // namespace

WantedLines wanted_lines(const live::SnapshotView& view, const std::vector<SiteId>& more_sites,
                         const WantedLimits& limits) {
  LineCollection collection(limits);
  const std::vector<SiteId> order = sites_in_order(view, more_sites);
  const auto stack_of = [&](SiteId id) { return id < view.sites.size ? view.sites[id].python : 0; };
  for (const SiteId id : order) {
    if (!memory_is_short()) collection.add_program_frames(stack_of(id));
  }
  for (const SiteId id : order) {
    if (!memory_is_short()) collection.add_all_frames(stack_of(id));
  }
  if (memory_is_short()) collection.leave_out();
  return collection.take();
}

}  // namespace tensorscope::dump
