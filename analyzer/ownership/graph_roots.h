// SPDX-License-Identifier: Apache-2.0
// Why a node of the autograd graph is still there: the shortest way from it, user by user, up to a tensor or a node
// that Python holds. One breadth-first walk from all of these at once; a graph may be as deep as a program is long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"

namespace tensorscope::analyzer {

// Whether all that Python holds was seen, or there is no Python: only then does it count that nothing of it is known.
bool python_was_looked_through(const Dump& dump);

class GraphRoots {
 public:
  GraphRoots(const Dump& dump, const TensorLinks& links);

  // "AddBackward0 <- MulBackward0 <- train.py: total_loss"; with many nodes the ones in the middle are left out:
  // "AddBackward0 <- MulBackward0 <- ... (12 nodes) <- train.py: total_loss". Begins with `node` itself in the words
  // that the caller gives, "saved by GeluBackward0.self".
  std::string chain(const std::string& begin, uint32_t node) const;
  // The same with all but both ends left out, for putting many together.
  std::string brief_chain(const std::string& begin, uint32_t node) const;
  // The holder at the end: "train.py: total_loss"; where there is none, kNoRoot or kUnknownRoot.
  const std::string& root(uint32_t node) const;
  bool rooted(uint32_t node) const { return holder_of_[end_of_[node]] != 0; }
  uint32_t distance(uint32_t node) const { return distance_[node]; }  // edges to the end

  static const std::string kNoRoot;       // "a graph without a Python root"
  static const std::string kUnknownRoot;  // Python was not looked through, or not to the end

 private:
  void walk(std::vector<uint32_t> queue);

  const Dump& dump_;
  std::vector<uint32_t> user_, distance_, end_of_;  // user_: next node on the way; itself at the end
  std::vector<uint32_t> holder_of_;                 // of an end: index into holders_, 0: Python does not hold it
  std::vector<std::string> holders_;
};

}  // namespace tensorscope::analyzer
