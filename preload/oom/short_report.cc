// SPDX-License-Identifier: Apache-2.0
#include "oom/short_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oom/holder_names.h"
#include "support/copy_text.h"
#include "support/enough_memory.h"
#include "support/message.h"
#include "support/process_info.h"
#include "tensorscope/rules/number_text.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::oom {

namespace {

struct DeviceText {
  char text[24];
  explicit DeviceText(Device device) {
    const char* kind = device.type == kCpuType ? "cpu" : device.type == kCudaType ? "cuda" : "device";
    if (device.type == kCpuType || device.index < 0) {
      snprintf(text, sizeof(text), "%s", kind);
    } else {
      snprintf(text, sizeof(text), "%s:%d", kind, device.index);
    }
  }
};

const char* limit_text(SystemLimit limit) {
  if (limit == SystemLimit::device) return "memory of the device";
  const WatchedLimit* const watched = find_watched(limit);
  return watched != nullptr ? watched->amount : "memory";
}

void write_headline(const dump::Failure& failure, ReportText& text) {
  const ByteText wanted(failure.requested);
  const bool known = failure.requested != 0;
  const char* asking = known ? " while asking for " : "";
  const char* bytes = known ? wanted.c_str() : "";
  switch (failure.kind) {
    case dump::Kind::device:
      return text.line("tensorscope: %sout of memory on %s%s%s", failure.device.type == kCudaType ? "CUDA " : "",
                       DeviceText(failure.device).text, asking, bytes);
    case dump::Kind::host:
      return text.line("tensorscope: out of memory on the CPU%s%s", asking, bytes);
    case dump::Kind::pinned:
      return text.line("tensorscope: out of page-locked host memory%s%s", asking, bytes);
    case dump::Kind::low_memory:
      return text.line("tensorscope: %smemory is nearly used up: %s left%s%s%s",
                       failure.limit == SystemLimit::shared_memory ? "shared " : "",
                       ByteText(failure.left_bytes).c_str(), known ? " with the " : "", bytes,
                       known ? " that are asked for now" : "");
    case dump::Kind::unknown:
      break;
  }
  const bool why = failure.error[0] != 0;
  text.line("tensorscope: out of memory%s%s%s%s%s", asking, bytes, why ? " (" : "", failure.error, why ? ")" : "");
}

void write_failure_place(const ReportFacts& facts, ReportText& text) {
  text.line("  at %s%s%s%s%s%s%s", facts.place[0] != 0 ? facts.place : "(no stack)",
            facts.node[0] != 0 ? ", in the backward of " : "", facts.node, facts.forward[0] != 0 ? " from " : "",
            facts.forward, facts.thread[0] != 0 ? ", thread " : "", facts.thread);
}

// "this process 800.0 KiB in 3 files, python 4242 100.0 KiB in 1 file"
void write_shared_files(const dump::SharedFiles& shared, ReportText& text) {
  if (!shared.looked) return text.line("  who holds it is unknown: %s", shared.detail);
  constexpr size_t kNamed = 4;
  for (size_t i = 0; i < std::min(shared.count, kNamed); ++i) {
    const dump::SharedHolder& holder = shared.holders[i];
    char who[80] = "this process";
    if (holder.pid == 0) {
      snprintf(who, sizeof(who), "no process: %s%s", holder.name, holder.files > 1 ? " and others" : "");
    } else if (holder.pid != process_info().pid) {
      snprintf(who, sizeof(who), "process %u (%s)", holder.pid, holder.name);
    }
    text.line("    %10s %s, %s", ByteText(holder.bytes).c_str(), CountText(holder.files, "file").c_str(), who);
  }
  if (shared.count > kNamed) text.line("    and %zu more", shared.count - kNamed);
  if (*shared.detail != 0) text.line("    %s", shared.detail);
}

void write_limits(const ReportFacts& facts, ReportText& text) {
  const dump::Failure& failure = facts.failure;
  if (failure.limit_bytes != 0) {
    text.line("  %s: %s, of which %s was left", limit_text(failure.limit), ByteText(failure.limit_bytes).c_str(),
              ByteText(failure.left_bytes).c_str());
  }
  if (facts.shared != nullptr) write_shared_files(*facts.shared, text);
  if (facts.other_processes != 0) {
    text.line("  other processes have %s of it, more than this one", ByteText(facts.other_processes).c_str());
  }
  char driver[224] = "";
  if (facts.driver_total != 0) {
    char others[72] = "";
    if (facts.others != 0) {
      snprintf(others, sizeof(others), ", others hold %s%s", facts.others_unknown ? "at least " : "",
               ByteText(facts.others).c_str());
    } else if (facts.others_unknown) {
      snprintf(others, sizeof(others), ", what others hold is not known");
    }
    snprintf(driver, sizeof(driver), "; the driver has %s free of %s%s", ByteText(facts.driver_free).c_str(),
             ByteText(facts.driver_total).c_str(), others);
  }
  if (facts.reserved != 0) {
    text.line("  torch's allocator on %s: %s in use, %s cached%s", DeviceText(facts.device).text,
              ByteText(facts.allocated).c_str(),
              ByteText(facts.reserved - std::min(facts.allocated, facts.reserved)).c_str(), driver);
  } else if (driver[0] != 0) {
    text.line("  %s: %s", DeviceText(facts.device).text, driver + 2);
  }
}

void write_categories(const ReportFacts& facts, ReportText& text) {
  if (facts.bytes == 0) return text.line("  no live memory on %s was recorded", DeviceText(facts.device).text);
  char largest[128] = "";
  if (facts.looked_at < facts.tensors) {
    snprintf(largest, sizeof(largest), " (the largest %s of %s)", CountText(facts.looked_at).c_str(),
             CountText(facts.tensors, "tensor").c_str());
  }
  text.line("  who has the %s on %s%s:", ByteText(facts.bytes).c_str(), DeviceText(facts.device).text, largest);
  uint64_t told = 0;
  for (const ReportFacts::Row& row : std::span(facts.categories).first(kReportCategories)) {
    if (row.bytes == 0) break;
    told += row.bytes;
    const bool in_tensors = row.category < Category::workspace;
    text.line("    %-20s %10s %6s  %s", row_text(row.category), ByteText(row.bytes).c_str(),
              PercentText(row.bytes, facts.bytes).c_str(),
              CountText(row.items, in_tensors ? "storage" : "block").c_str());
  }
  if (told < facts.bytes) {
    text.line("    %-20s %10s %6s", "the rest", ByteText(facts.bytes - told).c_str(),
              PercentText(facts.bytes - told, facts.bytes).c_str());
  }
}

void write_sites(const ReportFacts& facts, ReportText& text) {
  if (facts.sites[0].bytes == 0) return;
  text.line("  largest allocation sites:");
  for (const ReportFacts::Site& site : facts.sites) {
    if (site.bytes == 0) break;
    text.line("    %10s %6s x  %s%s%s", ByteText(site.bytes).c_str(), CountText(site.items).c_str(), site.place,
              site.names[0] != 0 ? "   " : "", site.names);
  }
}

void write_what_could_go(const ReportFacts& facts, ReportText& text) {
  const char* heading = "could be freed:";
  if (const uint64_t cached = facts.reserved > facts.allocated ? facts.reserved - facts.allocated : 0; cached != 0) {
    char largest[80] = "";
    if (facts.largest_free != 0) {
      snprintf(largest, sizeof(largest), ", largest block %s", ByteText(facts.largest_free).c_str());
    }
    // What is cached would do, but no piece of it does.
    const bool in_pieces =
        facts.largest_free != 0 && facts.largest_free < facts.failure.requested && facts.failure.requested <= cached;
    text.line("  %-15s %s cached by torch%s%s", heading, ByteText(cached).c_str(), largest,
              in_pieces ? " (fragmented: expandable segments would make it usable)" : "");
    heading = "";
  }
  if (facts.garbage != 0) {
    text.line("  %-15s %s in unreachable cycles (gc.collect())", heading, ByteText(facts.garbage).c_str());
  }
}

// As a shell takes it: as it is, or between single quotes. A path that does not fit is cut.
constexpr size_t kQuotedBytes = PATH_MAX + 64;
void quote(const char* path, char (&out)[kQuotedBytes]) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+=:,@%";
  const std::string_view text = path;
  if (text.find_first_not_of(kPlain) == text.npos) return copy_text(text, out);
  size_t size = 0;
  out[size++] = '\'';
  for (const char c : text) {
    const std::string_view piece = c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
    if (size + piece.size() + 2 > sizeof(out)) break;
    memcpy(out + size, piece.data(), piece.size());
    size += piece.size();
  }
  out[size++] = '\'';
  out[size] = 0;
}

}  // namespace

void ReportText::line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(kColumns, format, arguments);
  va_end(arguments);
}

void ReportText::whole_line(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(sizeof(text_), format, arguments);
  va_end(arguments);
}

void ReportText::add(size_t columns, const char* format, va_list arguments) {
  const size_t room = std::min(columns, sizeof(text_) - size_);  // the terminating zero becomes the newline
  if (lines_ == kReportLines || room < 2) return;
  char* const begin = text_ + size_;
  const int wanted = vsnprintf(begin, room, format, arguments);
  if (wanted < 0) return;
  size_t length = std::min(size_t(wanted), room - 1);
  constexpr std::string_view kCut = "...";
  if (size_t(wanted) > length && length > kCut.size()) {
    length = text_beginning({begin, length}, length - kCut.size()).size();
    memcpy(begin + length, kCut.data(), kCut.size());
    length += kCut.size();
  }
  silence_text(begin, length);
  begin[length] = '\n';
  size_ += length + 1;
  ++lines_;
}

namespace {

void write_what_has_no_name(const ReportFacts& facts, ReportText& text) {
  if (facts.names_missing[0] == 0) return;
  if (facts.unnamed == 0 || facts.unnamed == facts.tensors) {
    return text.line("  names and unreachable cycles are unknown: %s", facts.names_missing);
  }
  text.line("  names of up to %s of %s and unreachable cycles are unknown: %s", CountText(facts.unnamed).c_str(),
            CountText(facts.tensors, "tensor").c_str(), facts.names_missing);
}

}  // namespace

void write_report(const ReportFacts& facts, ReportText& text) {
  write_headline(facts.failure, text);
  write_failure_place(facts, text);
  write_limits(facts, text);
  // The allocator knows nothing of shared memory.
  if (facts.shared == nullptr && facts.holdings_known) {
    write_categories(facts, text);
    write_sites(facts, text);
  } else if (facts.shared == nullptr) {
    text.line("  the holders of the memory are unknown: %s", facts.holdings_missing);
  }
  write_what_could_go(facts, text);
  write_what_has_no_name(facts, text);
  const bool unnamed = facts.names_missing[0] != 0 || !facts.holdings_known;
  if (unnamed && facts.earlier[0] != 0) {
    char earlier[kQuotedBytes];
    quote(facts.earlier, earlier);
    text.whole_line("  names: see %s, written %s earlier", earlier, DurationText(facts.earlier_age_ns).c_str());
  }
  if (facts.path[0] == 0) return;
  const char* slash = strrchr(facts.path, '/');
  text.line("  wrote %s %s", slash != nullptr ? slash + 1 : facts.path, facts.summary);
  char path[kQuotedBytes];
  quote(facts.path, path);
  text.whole_line("  read more: tensorscope oom %s", path);
}

void print_report(const ReportSources& sources) {
  ReportFacts facts;
  collect_facts(sources, facts);
  ReportText text;
  write_report(facts, text);
  write_standard_error(text.text(), text.size());
}

}  // namespace tensorscope::oom
