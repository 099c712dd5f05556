// SPDX-License-Identifier: Apache-2.0
#include "sample_values.h"

namespace tensorscope::testing {

namespace {

constexpr uint64_t kMillisecond = 1'000'000, kMebibyte = 1 << 20;
constexpr uint64_t kBegin = 1'000'000'000'000'000;

class Maker {
 public:
  explicit Maker(const SampleRun& run) : run_(run) {
    builder_.calls = run.calls;
    builder_.watch({.path = run.root + ".**"});
  }

  ValuesBuilder make() {
    for (step_ = 0; step_ < run_.steps; ++step_) train_step();
    if (run_.threads) evaluate();
    return std::move(builder_);
  }

 private:
  void begin(const std::string& module, const char* class_name) {
    CallSpec call;
    call.id = ++last_id_;
    call.parent = open_.empty() ? 0 : open_.back().id;
    call.module = module;
    call.class_name = class_name;
    call.site = open_.empty() ? "train.py:57" : "model.py:31";
    call.begin_ns = now_;
    call.live_before = live_;
    call.step = call.pass = step_;
    call.thread = thread_;
    call.mode = mode_;
    open_.push_back(call);
  }

  void end(uint64_t milliseconds, uint64_t saved, double output) {
    now_ += milliseconds * kMillisecond;
    live_ += saved;
    CallSpec call = open_.back();
    open_.pop_back();
    call.end_ns = now_;
    call.live_after = live_;
    call.peak = live_ + kMebibyte / 2;
    call.saved = live_ - call.live_before;
    call.raised = raising_;
    if (run_.calls) builder_.call(call);
    forwards_.push_back(call);
    if (!run_.values || raising_) return;
    ValueSpec value;
    value.name = value.module = call.module;
    value.call = call.id;
    value.step = value.pass = step_;
    value.mode = mode_;
    value.time_ns = now_;
    value.site = call.site;
    value.thread = thread_;
    value.shape = {2, 3};
    value.numbers = {output, -output, 0.5, 0.25 * (step_ + 1), 1, -2};
    value.keep_elements = run_.elements;
    run_.change(value);
    builder_.value(value);
  }

  void forward() {
    live_ = 4 * kMebibyte;
    forwards_.clear();
    begin(run_.root, "Transformer");
    begin(run_.root + ".embed", "Embedding");
    end(1, kMebibyte / 4, 0.125);
    for (uint32_t i = 0; i < run_.layers; ++i) {
      const std::string layer = run_.root + ".layers." + std::to_string(i);
      begin(layer, "Block");
      begin(layer + ".attn", "Attention");
      end(3, kMebibyte / 2, i + 1);
      begin(layer + ".mlp", "MLP");
      end(4, kMebibyte / 2, i + 2);
      end(1, 0, i + 3);
    }
    const bool last = mode_ == format::StepMode::train && step_ + 1 == run_.steps;
    begin(run_.root + ".head", "Linear");
    raising_ = run_.raises && last;
    end(2, kMebibyte / 4, 7);
    if (run_.cut && last) {
      open_.clear();
    } else {
      end(1, 0, 8);
    }
    raising_ = false;
  }

  void train_step() {
    forward();
    if (!run_.backwards) return;
    uint64_t begin = now_;
    for (size_t i = forwards_.size(); i-- > 0;) {
      CallSpec call = forwards_[i];
      call.backward = true;
      call.raised = false;
      call.parent = call.id;
      call.id = ++last_id_;
      call.live_before = call.live_after = live_;
      call.peak = live_;
      call.saved = 0;
      const uint64_t duration = call.end_ns - call.begin_ns;
      call.begin_ns = begin;
      call.end_ns = begin + duration * 3 / 2;  // branches: one begins before the other has ended
      begin += kMillisecond;
      builder_.call(call);
    }
    now_ = begin + 100 * kMillisecond;
  }

  void evaluate() {
    thread_ = 4243;
    mode_ = format::StepMode::eval;
    step_ = 0;
    forward();
  }

  const SampleRun& run_;
  ValuesBuilder builder_;
  std::vector<CallSpec> open_, forwards_;
  uint64_t last_id_ = 0, now_ = kBegin, live_ = 0;
  uint32_t step_ = 0, thread_ = 4242;
  format::StepMode mode_ = format::StepMode::train;
  bool raising_ = false;
};

}  // namespace

ValuesBuilder sample_run(const SampleRun& run) { return Maker(run).make(); }

}  // namespace tensorscope::testing
