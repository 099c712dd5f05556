// SPDX-License-Identifier: Apache-2.0
// A run of an imaginary model, put together by hand: what its modules made and freed.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "forecast/operations.h"
#include "forecast/replay.h"
#include "forecast/samples.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

class ModelScene {
 public:
  // A line that casts nothing: of code without any known line a type stays open.
  ModelScene() {
    dump_.codes = {{},
                   {"/home/u/model.py", "forward", 1},
                   {"/opt/site-packages/torch/nn/functional.py", "cross_entropy", 1},
                   {"/opt/site-packages/torch/nn/modules/linear.py", "forward", 1}};
    dump_.sources.files.push_back(
        {.path = "/home/u/model.py",
         .lines = {{1, "y = f(x)"}, {2, "y = f(x).float()"}, {3, "loss = cross_entropy(y, x)"}}});
    dump_.python_frames.resize(1);
    dump_.native_frames.resize(1);
    dump_.sites.resize(1);
    base.device = kHost;
  }

  // Native stacks are known from here on: a test sets the traits of operations itself.
  void with_native_stacks() {
    dump_.native_frames.push_back({});
    native_ = 1;
  }

  // A call of an operation in a module. Returns the number of what it made.
  uint32_t forward(const std::string& module, std::initializer_list<int64_t> shape,
                   Category category = Category::temporary) {
    const uint32_t object = uint32_t(dump_.python_frames.size());
    dump_.module_names[object] = {module, "Module"};
    return called_at({.module_object = object, .code = 1, .line = 1}, shape, category);
  }
  // Likewise, in one of torch's functions of losses.
  uint32_t loss(std::initializer_list<int64_t> shape) {
    return called_at({.code = 2, .line = 1}, shape, Category::temporary);
  }
  // A layer's result and the log_softmax of a loss, each called by a line of the model.
  std::pair<uint32_t, uint32_t> scores_and_loss(std::initializer_list<int64_t> shape, int32_t line, int32_t loss_line) {
    const auto called_by = [&](int32_t caller, uint32_t code) {
      dump_.python_frames.push_back({.code = 1, .line = caller});
      const uint32_t parent = uint32_t(dump_.python_frames.size() - 1);
      return called_at({.parent = parent, .code = code, .line = 1}, shape, Category::temporary);
    };
    const uint32_t scores = called_by(line, 3);
    return {scores, called_by(loss_line, 2)};
  }
  // Of the operation that made `block`.
  uint32_t backward(uint32_t block, std::initializer_list<int64_t> shape,
                    Category category = Category::backward_temporary) {
    for (Block& one : base.blocks)
      one.past_backward = one.past_backward || (!one.backward && alive_[&one - base.blocks.data()]);
    return make(base.blocks[block].site, block, shape, category);
  }
  void free(uint32_t block) {
    base.changes.push_back({block, false});
    alive_[block] = false;
  }

  // The run as it was.
  Replay replay() {
    SymbolOptions options;
    options.use_cache = false;
    base.opened = std::make_unique<OpenedDump>(std::move(dump_), options);
    Replay replay;
    for (uint32_t i = 0; i < base.blocks.size(); ++i) {
      replay.growths.push_back(Growth::constant(double(base.blocks[i].nbytes)));
      replay.blocks.push_back({.block = i, .growth = i, .category = base.blocks[i].category});
    }
    replay.changes = base.changes;
    return replay;
  }

  Sample base;

 private:
  uint32_t called_at(const PythonFrame& frame, std::initializer_list<int64_t> shape, Category category) {
    dump_.sites.push_back({.native = native_, .python = uint32_t(dump_.python_frames.size())});
    dump_.python_frames.push_back(frame);
    return make(uint32_t(dump_.sites.size() - 1), kNone, shape, category);
  }
  uint32_t make(uint32_t site, uint32_t of, std::initializer_list<int64_t> shape, Category category) {
    Block block;
    block.site = block.coarse = site;
    block.backward = of != kNone;
    block.forward_block = of;
    if (of != kNone) block.forward = site;
    block.first_dim = uint32_t(base.dims.size());
    block.ndim = uint8_t(shape.size());
    block.shape_known = true;
    block.dtype = rules::kFloat32;
    block.nbytes = 4;
    for (int64_t dim : shape) block.nbytes *= uint64_t(dim);
    block.category = category;
    base.dims.insert(base.dims.end(), shape.begin(), shape.end());
    base.blocks.push_back(block);
    alive_.push_back(true);
    base.changes.push_back({uint32_t(base.blocks.size() - 1), true});
    return uint32_t(base.blocks.size() - 1);
  }

  Dump dump_;
  uint32_t native_ = 0;
  std::vector<bool> alive_;
};

// Bytes alive after each change of a replay.
inline std::vector<double> live_bytes(const Replay& replay) {
  std::vector<double> bytes;
  double live = 0;
  for (const auto [replay_block, made] : replay.changes) {
    const double own =
        replay.growths[replay.blocks[replay_block].growth].bytes({}) * replay.blocks[replay_block].factor;
    live += made ? own : -own;
    bytes.push_back(live);
  }
  return bytes;
}

}  // namespace tensorscope::analyzer::forecast
