// SPDX-License-Identifier: Apache-2.0
#include "top/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "dump/reader.h"
#include "memory/compared_dumps.h"
#include "memory/taken_names.h"

namespace tensorscope::top {

namespace {

constexpr uint64_t kTimeoutNs = 60'000'000'000;
constexpr std::chrono::milliseconds kLook{30};
constexpr std::chrono::seconds kMaxAtEnd{3};

TopNames compared(const analyzer::Dump& dump, const analyzer::Dump& named) {
  uint64_t last = 0;
  for (const analyzer::Tensor& tensor : named.tensors) last = std::max(last, tensor.serial);
  const auto newer = std::count_if(dump.tensors.begin(), dump.tensors.end(),
                                   [last](const analyzer::Tensor& tensor) { return tensor.serial > last; });
  return {dump.process.dump_ns - std::min(named.process.dump_ns, dump.process.dump_ns), uint64_t(newer)};
}

}  // namespace

std::unique_ptr<TopSampler> TopSampler::open(pid_t pid, const analyzer::SymbolOptions& symbols) {
  return std::unique_ptr<TopSampler>(
      new TopSampler(process::open_asked_process(pid, process::RequestKind::top), symbols));
}

TopSampler::~TopSampler() {
  if (!waiting_) return;
  if (!asked_->target.file_taken()) {
    asked_->target.withdraw();
    asked_->target.forget_answer();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  while (!look() && std::chrono::steady_clock::now() - begin < kMaxAtEnd) std::this_thread::sleep_for(kLook);
  if (!asked_->path.empty()) unlink(asked_->path.c_str());
}

bool TopSampler::ask(bool names) {
  since_ = Clock::now();
  with_names_ = names;
  asked_->ask(names);
  problem_ = asked_->problem;
  waiting_ = problem_.empty();
  return waiting_;
}

bool TopSampler::look() {
  if (!asked_->done) asked_->look(std::chrono::steady_clock::now() - since_, kTimeoutNs);
  problem_ = asked_->problem;
  return asked_->done;
}

std::shared_ptr<analyzer::OpenedDump> TopSampler::take() {
  waiting_ = false;
  if (asked_->path.empty()) return nullptr;
  std::shared_ptr<analyzer::OpenedDump> opened;
  try {
    analyzer::Dump dump = analyzer::read_dump(asked_->path);
    cost_.paused_ns = dump.totals.stopped_ns;
    if (with_names_) {
      looked_ = Clock::now();
      cost_.gil_ns = dump.references.present ? dump.references.gil_ns : 0;
    }
    const bool named = with_names_ && analyzer::has_names(dump);
    older_names_.reset();
    if (!named && named_) {
      older_names_ = compared(dump, named_->dump);
      analyzer::take_names(dump, named_->dump);
    }
    opened = std::make_shared<analyzer::OpenedDump>(std::move(dump), symbols_);
    if (named) named_ = opened;
  } catch (const analyzer::BadInput& error) {
    problem_ = error.what();
  }
  unlink(asked_->path.c_str());
  return opened;
}

}  // namespace tensorscope::top
