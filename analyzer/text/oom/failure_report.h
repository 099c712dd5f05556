// SPDX-License-Identifier: Apache-2.0
// What failed, where, and under which limit: of an out-of-memory error, or of memory that runs low.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "oom/oom_analysis.h"
#include "text/oom/answer_text.h"

namespace tensorscope::text {

// "the host", "cuda:0"
std::string subject_of(const analyzer::Device& device);

class FailureReport {
 public:
  FailureReport(const analyzer::View& view, analyzer::OpenedDump& opened, const analyzer::oom::OomAnalysis& analysis);

  // Whether something failed on the device that the answer is about.
  bool has_failed() const { return failure_ != nullptr; }
  bool of_shared_memory() const;
  // One line each. `with_error`: with the error's own words, if they are short.
  std::string first_line(bool with_error) const;
  std::string where_it_failed() const;
  // All of it, under a title of its own.
  void add_to(AnswerText& out, bool full_stacks) const;

 private:
  std::string where(uint32_t site) const;
  std::string backward() const;

  const analyzer::View& view_;
  analyzer::OpenedDump& opened_;
  const analyzer::oom::OomAnalysis& story_;
  const analyzer::Failure* failure_ = nullptr;
};

}  // namespace tensorscope::text
