// SPDX-License-Identifier: Apache-2.0
// The report on standard error at once when memory ran out or nearly did: the request, its place, who has the
// memory, what could be freed, and how to read more. At most 25 lines, in one write.
//
// Context: collector, after the dump has its name. Without memory it says in a few lines what it can.
#pragma once

#include <limits.h>

#include <cstdarg>
#include <cstddef>

#include "oom/report_facts.h"

namespace tensorscope::oom {

inline constexpr size_t kReportLines = 25;
inline constexpr size_t kReportCategories = 8;

// Lines of text in a buffer of its own: what is longer than a terminal is wide is cut, what no terminal should get is
// replaced. No malloc.
class ReportText {
 public:
  static constexpr size_t kColumns = 150;

  __attribute__((format(printf, 2, 3))) void line(const char* format, ...);
  // The same uncut: a path that is cut is of no use.
  __attribute__((format(printf, 2, 3))) void whole_line(const char* format, ...);

  const char* text() const { return text_; }
  size_t size() const { return size_; }
  size_t lines() const { return lines_; }

 private:
  void add(size_t columns, const char* format, va_list arguments);
  char text_[kReportLines * kColumns + size_t{2} * PATH_MAX] = "";
  size_t size_ = 0, lines_ = 0;
};

void write_report(const ReportFacts& facts, ReportText& text);

// Collects what can be had and prints it.
void print_report(const ReportSources& sources);

}  // namespace tensorscope::oom
