#include "cli/top_sampler.h"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "dump/reader.h"

namespace tensorscope::cli {

namespace {

constexpr uint64_t kTimeoutNs = 60'000'000'000;
constexpr std::chrono::milliseconds kLook{30};
constexpr std::chrono::seconds kMostAtEnd{3};

}  // namespace

std::unique_ptr<TopSampler> TopSampler::open(pid_t pid, const analyzer::SymbolOptions& symbols, std::string& problem) {
  auto asked = open_asked_process(pid, AskFor::top, problem);
  return asked ? std::unique_ptr<TopSampler>(new TopSampler(std::move(asked), symbols)) : nullptr;
}

TopSampler::~TopSampler() {
  if (!waiting_) return;
  if (!asked_->target.file_taken()) {
    asked_->target.withdraw();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  while (!look() && std::chrono::steady_clock::now() - begin < kMostAtEnd) std::this_thread::sleep_for(kLook);
  if (!asked_->path.empty()) unlink(asked_->path.c_str());
}

bool TopSampler::ask() {
  since_ = std::chrono::steady_clock::now();
  waiting_ = asked_->ask();
  problem_ = asked_->problem;
  return waiting_;
}

bool TopSampler::look() {
  if (!asked_->done) asked_->look(std::chrono::steady_clock::now() - since_, kTimeoutNs);
  problem_ = asked_->problem;
  return asked_->done;
}

std::unique_ptr<analyzer::OpenedDump> TopSampler::take() {
  waiting_ = false;
  if (asked_->path.empty()) return nullptr;
  std::unique_ptr<analyzer::OpenedDump> opened;
  try {
    opened = std::make_unique<analyzer::OpenedDump>(asked_->path, symbols_);
  } catch (const analyzer::BadInput& error) {
    problem_ = error.what();
  }
  unlink(asked_->path.c_str());
  return opened;
}

text::TopCost cost_of(const analyzer::Dump& dump) {
  return {dump.totals.stopped_ns, dump.references.present ? dump.references.gil_ns : 0};
}

}  // namespace tensorscope::cli
