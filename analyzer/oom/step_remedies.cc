// SPDX-License-Identifier: Apache-2.0
#include "oom/step_remedies.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace tensorscope::analyzer::oom {

namespace {

constexpr uint64_t kMuchState = 4;    // a part of what is allocated from which state is worth a word in any case
constexpr uint64_t kTemporaries = 3;  // that the step of one parameter makes, of its size: as Adam
constexpr uint64_t kNotMade = 1;      // the request, where a step makes no such request

// Bytes of the device, of the tensors that a step works on.
struct StepMemory {
  uint64_t parameters = 0, gradients = 0, state = 0;
  uint64_t largest = 0;                   // of a parameter
  uint64_t temporaries = 0;               // that an optimizer made
  uint64_t float32 = 0, all_float32 = 0;  // of all of these, and of everything

  uint64_t trained() const { return gradients != 0 ? gradients : parameters; }
  // What a step of all parameters at once makes in the end: at least what is there, and one tensor for each.
  uint64_t at_once() const { return std::max(temporaries, trained()); }
};

// Held by a list of the optimizer's step() itself: momentum of a first step, which is state once the step is done.
bool becomes_state(const Dump& dump, uint32_t tensor) {
  return std::ranges::any_of(dump.references.of(tensor),
                             [](const Reference& row) { return row.scope.ends_with(".step"); });
}

StepMemory step_memory(const View& view, Device device, const LinesToChange& lines) {
  StepMemory memory;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.allocation == kNone) continue;
    const uint64_t bytes = item.bytes - item.rounding - item.outside;
    const uint32_t representative = item.storage == kNone ? kNone : view.holders.representative(item.storage);
    const Category category = representative == kNone ? Category::unknown : view.holders.category(representative);
    bool of_step = true;
    if (category == Category::parameter) {
      memory.parameters += bytes;
      memory.largest = std::max(memory.largest, bytes);
    } else if (category == Category::gradient) {
      memory.gradients += bytes;
    } else if (category == Category::optimizer_state ||
               (lines.in_optimizer(item.site) && representative != kNone && becomes_state(view.dump, representative))) {
      memory.state += bytes;
    } else if (lines.in_optimizer(item.site)) {
      memory.temporaries += bytes;
    } else {
      of_step = false;
    }
    if (representative == kNone || view.dump.tensors[representative].dtype_text() != "float32") continue;
    memory.all_float32 += bytes;
    if (of_step) memory.float32 += bytes;
  }
  return memory;
}

// Torch has kernels that step all parameters without temporaries for these, by the function that does it otherwise.
bool has_fused_kernel(std::string_view function, const std::string& torch_version) {
  int major = 0, minor = 0;
  if (std::sscanf(torch_version.c_str(), "%d.%d", &major, &minor) != 2) return false;
  const bool for_sgd = major > 2 || (major == 2 && minor >= 3);
  return major >= 2 && (function == "_multi_tensor_adam" || function == "_multi_tensor_adamw" ||
                        (function == "_multi_tensor_sgd" && for_sgd));
}

// Each rank has its part of the state already.
bool sharded(const Dump& dump) {
  constexpr std::array<std::string_view, 4> kSharding = {
      "torch/distributed/fsdp/", "torch/distributed/_composable/fsdp/", "zero_redundancy_optimizer.py", "/deepspeed/"};
  return std::ranges::any_of(dump.codes, [&](const Code& code) {
    return std::ranges::any_of(kSharding,
                               [&](std::string_view part) { return code.file.find(part) != std::string::npos; });
  });
}

// As the job's launcher said, or as torch.distributed has them: the program may have set them itself.
int ranks_of(const Dump& dump) {
  int ranks = dump.process.world_size;
  for (const ProcessGroup& group : dump.process_groups) ranks = std::max(ranks, int(group.ranks.size()));
  return ranks;
}

class StepFinder {
 public:
  StepFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about),
        headroom_(headroom),
        dump_(about.views.back().dump),
        running_(about.running),
        memory_(step_memory(about.views.back(), about.device, lines)) {
    if (running_.in_optimizer()) where_ = lines.own_line(dump_.failure ? dump_.failure->site : 0);
  }

  std::vector<Remedy> find() {
    const bool in_step = running_.in_optimizer();
    if (in_step) {
      if (running_.in_foreach()) all_at_once();
      step_in_backward();
      half_model();
    }
    if (in_step || memory_.state >= headroom_.allocated() / kMuchState) {
      sharded_state();
      less_state();
    }
    return std::move(found_);
  }

 private:
  void add(Remedy remedy, uint64_t request) {
    if (remedy.high < headroom_.least()) return;
    remedy.where = where_;
    remedy.in_step = running_.in_optimizer();
    remedy.fits = headroom_.fits_at_most(remedy.bytes, request);
    headroom_.fill_missing(remedy, remedy.bytes + about_.cached.common, request);
    found_.push_back(std::move(remedy));
  }

  // Less the temporaries of the largest parameter, where they are stepped one by one.
  uint64_t but_one(uint64_t bytes, uint64_t times) const { return bytes - std::min(bytes, memory_.largest * times); }

  void all_at_once() {
    Remedy one_by_one;
    one_by_one.kind = RemedyKind::optimizer_step;
    one_by_one.estimate = true;
    one_by_one.high = memory_.at_once();
    one_by_one.bytes = but_one(memory_.at_once(), kTemporaries);
    one_by_one.low = but_one(memory_.temporaries, kTemporaries);
    add(std::move(one_by_one), kNotMade);
    if (about_.device.is_cpu() || !has_fused_kernel(running_.step_function(), dump_.process.torch_version)) return;
    Remedy fused;
    fused.kind = RemedyKind::fused_step;
    fused.estimate = true;
    fused.bytes = memory_.at_once();
    fused.low = memory_.temporaries;
    fused.high = memory_.temporaries + memory_.at_once();
    add(std::move(fused), kNotMade);
  }

  // The step's own temporaries go as well. It comes while activations are alive, so it may give nothing.
  void step_in_backward() {
    if (dump_.failure && dump_.failure->node_serial != 0) return;  // it does so
    const uint64_t most = memory_.gradients + (running_.in_foreach() ? memory_.at_once() : 0);
    Remedy remedy;
    remedy.kind = RemedyKind::step_in_backward;
    remedy.set_bound(most, 0);
    add(std::move(remedy), running_.in_foreach() ? kNotMade : about_.request);
  }

  // Whole parameters are dealt out, so that a rank may have up to one more or less. It steps only its own, so a step of
  // all at once makes fewer temporaries as well.
  void sharded_state() {
    const int ranks = ranks_of(dump_);
    if (ranks < 2 || sharded(dump_)) return;
    const bool at_once = running_.in_foreach();
    const auto others = [&](uint64_t bytes) { return bytes - bytes / uint64_t(ranks); };
    const uint64_t all = memory_.state + (at_once ? memory_.at_once() : 0);
    const uint64_t there = memory_.state + (at_once ? memory_.temporaries : 0);
    const auto one = uint64_t(double(all) / double(std::max<uint64_t>(1, memory_.trained())) * double(memory_.largest));
    Remedy remedy;
    remedy.kind = RemedyKind::sharded_state;
    remedy.count = uint64_t(ranks);
    remedy.estimate = true;
    remedy.bytes = others(all);
    remedy.low = others(there) - std::min(others(there), one);
    remedy.high = std::min(all, remedy.bytes + one);
    add(std::move(remedy), at_once ? kNotMade : about_.request);
  }

  // All of it with an optimizer that keeps nothing; in a step, what that makes, and the state that a first step has not
  // made yet: two tensors for each parameter, as Adam.
  void less_state() {
    Remedy remedy;
    remedy.kind = RemedyKind::less_state;
    const uint64_t in_step = std::max(memory_.state, 2 * memory_.trained()) + memory_.at_once();
    remedy.set_bound(running_.in_optimizer() ? in_step : memory_.state, memory_.state);
    add(std::move(remedy), running_.in_foreach() ? kNotMade : about_.request);
  }

  void half_model() {
    Remedy remedy;
    remedy.kind = RemedyKind::half_model;
    remedy.estimate = true;
    remedy.bytes = remedy.low = memory_.float32 / 2;
    remedy.high = memory_.all_float32 / 2;
    add(std::move(remedy), about_.request / 2);
  }

  const RemedyCase& about_;
  const Headroom& headroom_;
  const Dump& dump_;
  const RunningCode& running_;
  const StepMemory memory_;
  std::string where_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> step_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  return StepFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
