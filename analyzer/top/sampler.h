// SPDX-License-Identifier: Apache-2.0
// What a running program holds, again and again: requests a dump, reads it, and removes it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "memory/opened_dump.h"
#include "process/asked_process.h"
#include "top/report.h"

namespace tensorscope::top {

class TopSampler {
 public:
  // Throws ProcessError if no dump of the process can be requested.
  [[nodiscard]] static std::unique_ptr<TopSampler> open(pid_t pid, const analyzer::SymbolOptions& symbols);
  // A request that was not answered is withdrawn; a dump that is on its way is waited for, and removed.
  ~TopSampler();

  // `names`: Python's objects are looked at, too.
  bool ask(bool names);
  // Whether the requested dump is there; null with `problem()` if none will come.
  bool look();
  // Tensors that are alive since the last look at names have its names where this dump has none.
  std::shared_ptr<analyzer::OpenedDump> take();

  // Whether another look at names is small beside the time since the last.
  bool names_due() const { return Clock::now() >= looked_ + std::chrono::nanoseconds(names_interval_ns()); }
  uint64_t names_interval_ns() const { return cost_.gil_ns * kShareOfNames; }
  // Of the last dump's names; none: they are its own, or nothing is known of names.
  const std::optional<TopNames>& older_names() const { return older_names_; }
  // What the last refresh took from the program, and what the last look at names did.
  const TopCost& cost() const { return cost_; }

  bool alive() const { return asked_->target.alive(); }
  const std::string& problem() const { return problem_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t kShareOfNames = 200;  // names take the program at most this part of its time

  TopSampler(std::unique_ptr<process::AskedProcess> asked, const analyzer::SymbolOptions& symbols)
      : asked_(std::move(asked)), symbols_(symbols) {}

  std::unique_ptr<process::AskedProcess> asked_;
  const analyzer::SymbolOptions symbols_;
  Clock::time_point since_, looked_;
  bool waiting_ = false, with_names_ = false;
  std::string problem_;
  std::shared_ptr<analyzer::OpenedDump> named_;  // by the last look that found names
  std::optional<TopNames> older_names_;
  TopCost cost_;
};

}  // namespace tensorscope::top
