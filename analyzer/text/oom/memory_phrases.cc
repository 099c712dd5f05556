// SPDX-License-Identifier: Apache-2.0
#include "text/oom/memory_phrases.h"

#include <fmt/format.h>

#include <algorithm>

#include "oom/free_memory.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::BalanceKind;
using analyzer::oom::BalanceNode;
using analyzer::oom::OomAnalysis;

}  // namespace

std::string shares_phrase(const OomAnalysis& analysis) {
  const BalanceNode& balance = analysis.balance;
  std::string list;
  auto amount = [&](BalanceKind kind) -> std::string {
    const BalanceNode* part = balance.kind == kind ? &balance : balance.find(kind);
    return part == nullptr || !part->bytes || *part->bytes <= 0 ? "" : bytes(uint64_t(*part->bytes));
  };
  auto add = [&](BalanceKind kind, const char* words) {
    const std::string text = amount(kind);
    if (!text.empty()) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", words, text);
  };
  if (analysis.device.is_cpu()) {
    add(BalanceKind::torch, "torch");
    add(BalanceKind::pinned, "page-locked");
    add(BalanceKind::malloc_in_use, "malloc");
    add(BalanceKind::child_processes, "child processes");
    add(BalanceKind::not_resident, "not resident");
    add(BalanceKind::this_process, "this process");
    for (const BalanceNode& part : balance.parts) {
      if (part.kind != BalanceKind::process || !part.bytes || *part.bytes <= 0) continue;
      list += fmt::format("{}process {} {}", list.empty() ? "" : ", ", part.pid, bytes(uint64_t(*part.bytes)));
    }
    add(BalanceKind::unheld_files, "files of no process");
    add(BalanceKind::others, "others");
    add(BalanceKind::left, "left");
  } else {
    add(BalanceKind::allocated, "torch");
    const std::string cached = amount(BalanceKind::cached);
    if (!cached.empty()) list += fmt::format(" (+ {} cached)", cached);
    uint64_t outside = 0;
    for (BalanceKind kind :
         {BalanceKind::libraries, BalanceKind::context, BalanceKind::context_and_pool, BalanceKind::outside_torch}) {
      const BalanceNode* part = balance.find(kind);
      if (part != nullptr && part->bytes && *part->bytes > 0) outside += uint64_t(*part->bytes);
    }
    if (outside != 0) list += fmt::format(", outside torch {}", bytes(outside));
    add(BalanceKind::other_processes, "others");
    add(BalanceKind::free, "free");
  }
  if (list.empty()) return "no balance: the owners of the memory are not known";
  return balance.bytes ? fmt::format("{}: {}", bytes(uint64_t(*balance.bytes)), list) : list;
}

std::string largest_categories_phrase(const OomAnalysis& analysis) {
  const BalanceNode* tensors = analysis.balance.find(BalanceKind::tensors);
  if (tensors == nullptr || tensors->parts.empty()) return "";
  std::string text;
  constexpr size_t kMax = 3;
  for (size_t i = 0; i < std::min(kMax, tensors->parts.size()); ++i) {
    const BalanceNode& category = tensors->parts[i];
    if (!category.bytes || *category.bytes <= 0) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", analyzer::oom::name(category),
                        bytes(uint64_t(*category.bytes)));
    if (i != 0) continue;
    text += " (" + text::percent(uint64_t(*category.bytes), analyzer::oom::in_use(analysis.balance));
    const bool module = !category.parts.empty() && !category.parts[0].subject.empty();
    text += module ? fmt::format(", most in {})", category.parts[0].subject) : ")";
  }
  return text;
}

std::string cached_phrase(const OomAnalysis& analysis) {
  const analyzer::oom::FreeMemory& cached = analysis.cached;
  uint64_t usable = 0, largest = 0, wrong_size = 0, private_bytes = 0;
  for (const analyzer::oom::FreePart& part : cached.parts) {
    if (part.private_pool()) {
      private_bytes += part.bytes;
    } else if (!of_size_class(part, analysis.request)) {
      wrong_size += part.bytes;
    } else {
      usable += part.bytes;
      largest = std::max(largest, part.largest);
    }
  }
  std::string text = fmt::format("{} of cached memory did not serve the request: ", bytes(cached.bytes));
  if (usable > 0 && largest < analysis.request) {
    text += fmt::format("{} are in free blocks of at most {}, and one block of {} is needed", bytes(usable),
                        bytes(largest), bytes(analysis.request));
  } else if (usable > 0 && cached.streams > 1) {
    text += fmt::format("{} belong to {} streams, and each stream can use only its own", bytes(usable), cached.streams);
  } else if (usable > 0) {
    text += fmt::format("a free block of {} is large enough, but was freed later or by another thread", bytes(largest));
  } else {
    text += "none of it is in the pool of this request";
  }
  if (wrong_size > 0) {
    text +=
        fmt::format("; {} are in the {} pool", bytes(wrong_size), analysis.request > (1u << 20) ? "small" : "large");
  }
  if (private_bytes > 0) text += fmt::format("; {} are in private pools", bytes(private_bytes));
  return text + ".";
}

}  // namespace tensorscope::text
