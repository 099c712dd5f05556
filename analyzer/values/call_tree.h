// SPDX-License-Identifier: Apache-2.0
// Calls of modules as a tree over the modules' paths: how often each ran, how long, and what it did to memory; equal
// numbered siblings as one node; the same by name alone, and as a sequence. Numbers and codes only: the words are in
// text/values/calls.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "values/values_file.h"

namespace tensorscope::values {

// In the order in which they began, those that had not ended end with the last thing that is known. `step`: of this
// step alone.
class CallSequence {
 public:
  explicit CallSequence(std::vector<Call> calls, std::optional<uint32_t> step = std::nullopt);

  const std::vector<Call>& calls() const { return calls_; }
  // Index in calls() of the call during which this one ran, of a backward its forward; kNoCall where there is none.
  uint32_t parent(uint32_t call) const { return parents_[call]; }
  uint32_t depth(uint32_t call) const { return depths_[call]; }
  uint64_t self_ns(uint32_t call) const { return self_ns_[call]; }
  // Returns the call's one-based index among the calls of the same parent.
  uint32_t position(uint32_t call) const { return positions_[call]; }

  struct Counts {
    uint64_t forward = 0, backward = 0, modules = 0, passes = 0, threads = 0, raised = 0;
    uint64_t unfinished = 0;  // also those that are not in the file, of which the calls during them know
    uint32_t first_step = 0, last_step = 0;
  };
  const Counts& counts() const { return counts_; }

  static constexpr uint32_t kNoCall = UINT32_MAX;

 private:
  void find_missing(std::optional<uint32_t> step);
  void link();
  void measure();
  void count();
  std::vector<Call> calls_;
  std::vector<uint32_t> parents_, depths_, positions_;
  std::vector<uint64_t> self_ns_;
  Counts counts_;
};

inline uint64_t duration_ns(const Call& call) { return call.end_ns - call.begin_ns; }

struct CallNode {
  std::string name;               // "attn"; of a numbered one what holds it: "layers"
  std::vector<uint64_t> indices;  // of numbered ones, in numeric order
  bool named = true;              // false: numbered, below a node that bears its name
  std::string path;               // of the first module that it stands for
  std::string class_name;         // "" where they differ, or none was called
  uint32_t modules = 1;           // that it stands for
  uint64_t calls = 0, backward_calls = 0, raised = 0, unfinished = 0;
  uint64_t total_ns = 0, self_ns = 0, backward_ns = 0;  // a call within a call of the same node counts once
  uint64_t live_before = 0, live_after = 0, peak = 0;   // of the call with the highest peak
  uint64_t saved = 0;                                   // left behind by the calls of one pass, of the pass with most
  std::vector<uint64_t> order;     // its index among its caller's calls, in the caller's first call
  std::vector<uint32_t> children;  // in the order of their first calls
};

struct CallTree {
  std::vector<CallNode> nodes;
  std::vector<uint32_t> roots;
};

struct CallTreeOptions {
  bool fold = true;    // numbered siblings with equal modules below them are one node
  bool prune = false;  // without leaves; a root stays
  uint32_t depth = 0;  // levels; 0: all
};

CallTree call_tree(const CallSequence& sequence, const CallTreeOptions& options);

// Nodes of equal names as one, wherever they are.
struct SquashedCalls {
  struct Node {
    std::string name;
    uint64_t modules = 0, calls = 0, total_ns = 0, self_ns = 0;
    std::vector<uint32_t> edges;  // in the order of first calls
  };
  struct Edge {
    uint32_t from = 0, to = 0;
    uint64_t modules = 0;  // how many modules of `to` are directly below one of `from`
    bool loop = false;     // closes a loop: `to` is above `from` already
    std::vector<uint64_t> order;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<uint32_t> roots;
};
SquashedCalls squash(const CallTree& tree);

// The names of a module's path, at most kDeepestPath of them: "model.blocks[3].fc" is model, blocks, 3, fc.
std::vector<std::string> path_names(std::string_view path);
inline constexpr size_t kDeepestPath = 200;

}  // namespace tensorscope::values
