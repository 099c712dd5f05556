// What a running program holds, again and again: asks for a dump, reads it, and removes it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cli/asked_process.h"
#include "memory/opened_dump.h"
#include "text/top_text.h"

namespace tensorscope::cli {

class TopSampler {
 public:
  // Null: `problem` says why the process cannot be asked.
  static std::unique_ptr<TopSampler> open(pid_t pid, const analyzer::SymbolOptions& symbols, std::string& problem);
  // A request that was not answered is withdrawn; a dump that is on its way is waited for, and removed.
  ~TopSampler();

  bool ask();
  // Whether the dump that was asked for is there; null with `problem()` where none will come.
  bool look();
  std::unique_ptr<analyzer::OpenedDump> take();

  bool alive() const { return asked_->target.alive(); }
  const std::string& problem() const { return problem_; }

 private:
  TopSampler(std::unique_ptr<AskedProcess> asked, const analyzer::SymbolOptions& symbols)
      : asked_(std::move(asked)), symbols_(symbols) {}

  std::unique_ptr<AskedProcess> asked_;
  const analyzer::SymbolOptions symbols_;
  std::chrono::steady_clock::time_point since_;
  bool waiting_ = false;
  std::string problem_;
};

// What writing this dump took from the program.
text::TopCost cost_of(const analyzer::Dump& dump);

}  // namespace tensorscope::cli
