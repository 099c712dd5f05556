// SPDX-License-Identifier: Apache-2.0
#include "text/dump/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "dump_generated.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

using format::Seen;
using format::Trigger;

std::string program_name(const analyzer::Process& process) {
  for (const std::string& word : process.command_line) {
    std::string base = word.substr(word.rfind('/') + 1);
    if (base == process.program + ".py") return base;
  }
  return process.program.empty() ? "(unknown program)" : process.program;
}

std::string trigger_text(const analyzer::Process& process) {
  const std::string& detail = process.trigger_detail;
  switch (Trigger(process.trigger)) {
    case Trigger::signal:
      return "triggered by " + (detail.empty() ? "a signal" : detail);
    case Trigger::exit:
      return detail.empty() ? "at exit" : fmt::format("at exit ({})", detail);
    case Trigger::call:
      // Dumps of older versions name the function here, not the place of the call.
      return detail.empty() || detail == "tensorscope_dump" ? "requested by the program"
                                                            : "requested by the program at " + detail;
    case Trigger::out_of_memory:
      return detail.empty() ? "on an out-of-memory error" : fmt::format("on an out-of-memory error ({})", detail);
    case Trigger::growth:
      return detail.empty() ? "at a new peak" : fmt::format("at a new peak ({})", detail);
    case Trigger::low_memory:
      return detail.empty() ? "when memory ran low" : fmt::format("when memory ran low ({})", detail);
    default:
      return detail.empty() ? "unknown trigger" : detail;
  }
}

std::string process_line(const analyzer::Process& process) {
  std::string line = fmt::format("{}, pid {}", program_name(process), process.pid);
  if (!process.host.empty()) line += " on " + process.host;
  if (process.rank >= 0) {
    line += process.world_size > 0 ? fmt::format(" (rank {} of {})", process.rank, process.world_size)
                                   : fmt::format(" (rank {})", process.rank);
  }
  if (process.forked_from != 0) line += fmt::format(", forked from {}", process.forked_from);
  if (process.dump_ns > process.start_ns) {
    line += fmt::format(", {} after start", text::duration(process.dump_ns - process.start_ns));
  }
  return line + ", " + trigger_text(process);
}

std::string attach_text(const analyzer::Process& process) {
  if (process.attached_ns == 0) return "";
  const uint64_t before = process.dump_ns > process.attached_ns ? process.dump_ns - process.attached_ns : 0;
  if (process.python_version.empty()) {
    return fmt::format(
        "Attached {} before this dump: older tensors are not recorded; peaks and totals count from there.",
        text::duration(before));
  }
  std::string text = fmt::format(
      "Attached {} before this dump: {} that Python refers to {} older and {} no stack. Older tensors that only C++ "
      "holds are not recorded; peaks and totals count from there.",
      text::duration(before), text::counted(process.earlier_tensors, "tensor"),
      process.earlier_tensors == 1 ? "is" : "are", process.earlier_tensors == 1 ? "has" : "have");
  if (!process.earlier_detail.empty()) text += fmt::format(" Not all were found: {}.", process.earlier_detail);
  return text;
}

std::string versions_text(const analyzer::Process& process) {
  std::string torch = process.torch_version.empty() ? "torch of unknown version" : "torch " + process.torch_version;
  std::string python = process.python_version.empty() ? "no Python" : "CPython " + process.python_version;
  return torch + ", " + python + ".";
}

namespace {

// What the numbers of a report rest on.
constexpr std::array kCounted{std::string_view("tensors"), std::string_view("CPU memory"),
                              std::string_view("CUDA memory")};

// "CPU memory (malloc is the program's own; 2 events lost)"
std::string with_reason(const analyzer::Coverage& entry) {
  std::string reason = entry.detail;
  while (!reason.empty() && reason.back() == '.') reason.pop_back();
  if (entry.missed > 0) {
    reason += (reason.empty() ? "" : "; ") + text::counted(entry.missed, "event") + " lost";
  }
  return reason.empty() ? entry.subject : fmt::format("{} ({})", entry.subject, reason);
}

}  // namespace

std::string coverage_text(const analyzer::Dump& dump) {
  if (dump.coverage.empty()) return "This dump has no coverage record.";
  std::string seen, partly, not_seen, switched_off, nothing;
  auto add = [](std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
  for (const analyzer::Coverage& entry : dump.coverage) {
    if (entry.subject == "source lines") continue;  // no number depends on them; `info` has the files
    switch (Seen(entry.seen)) {
      case Seen::yes:
        if (entry.missed > 0) {
          add(partly, with_reason(entry));
        } else {
          add(seen, entry.subject);
        }
        break;
      case Seen::partly:
        add(partly, with_reason(entry));
        break;
      case Seen::no:
        if (entry.detail.starts_with("switched off")) {
          add(switched_off, entry.subject);  // `info` says by what
        } else {
          add(not_seen, with_reason(entry));
        }
        break;
      case Seen::not_applicable:
        add(nothing, entry.subject);
        break;
    }
  }
  std::string text = "Recorded: " + (seen.empty() ? "nothing" : seen) + ".";
  if (!partly.empty()) text += " Partly recorded: " + partly + ".";
  if (!not_seen.empty()) text += " Not recorded: " + not_seen + ".";
  if (!switched_off.empty()) text += " Switched off: " + switched_off + ".";
  if (!nothing.empty()) text += " Not applicable: " + nothing + ".";
  return text;
}

std::string names_limit(const analyzer::References& references) {
  switch (format::NamesLimit(references.stopped_by)) {
    case format::NamesLimit::time:
      return fmt::format("time limit of {} (TENSORSCOPE_NAMES_GIL_MS)",
                         text::duration(references.time_limit_ms * 1'000'000));
    case format::NamesLimit::memory:
      return fmt::format("memory limit of {} (TENSORSCOPE_NAMES_MEMORY)", text::bytes(references.memory_limit));
    default:
      return "";
  }
}

std::string headline(const analyzer::Dump& dump, const text::Terminal& terminal) {
  const std::string first = text::wrap(text::clean(process_line(dump.process)), terminal.width, 2);
  std::string missed;
  for (const analyzer::Coverage& entry : dump.coverage) {
    const bool counts = std::find(kCounted.begin(), kCounted.end(), entry.subject) != kCounted.end();
    const bool whole = Seen(entry.seen) == Seen::not_applicable || (Seen(entry.seen) == Seen::yes && entry.missed == 0);
    if (counts && !whole) missed += (missed.empty() ? "" : ", ") + with_reason(entry);
  }
  std::string text = terminal.styled(text::Style::bold, first) + "\n";
  if (const std::string attach = attach_text(dump.process); !attach.empty()) {
    text += text::wrap(text::clean(attach), terminal.width, 2) + "\n";
  }
  std::string said = missed.empty() ? "" : "Incomplete: " + missed + ".";
  if (const std::string limit = names_limit(dump.references); !limit.empty()) {
    said += fmt::format("{}Names: {} of {}, largest first; stopped by the {}.", said.empty() ? "" : " ",
                        text::count(dump.references.named), text::counted(dump.tensors.size(), "tensor"), limit);
  }
  if (!said.empty()) {
    const std::string line = text::wrap(text::clean(said), terminal.width, 2);
    text += terminal.styled(text::Style::bad, line) + "\n";
  }
  return text;
}

std::string coverage_lines(const analyzer::Dump& dump, const text::Terminal& terminal) {
  std::string text = text::clean(versions_text(dump.process) + " " + coverage_text(dump));
  uint64_t freed = 0;
  for (const analyzer::TensorObject& object : dump.references.tensors) freed += object.freed;
  if (freed > 0) text += fmt::format(" {} freed before the name lookup.", text::counted(freed, "tensor"));
  return text::wrap(text, terminal.width, 2) + "\n";
}

}  // namespace tensorscope::text
