// SPDX-License-Identifier: Apache-2.0
#include "text/oom/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "dump_generated.h"
#include "oom/callers.h"
#include "text/dump/change_table.h"
#include "text/dump/group_table.h"
#include "text/dump/headline.h"
#include "text/leaks/suspects.h"
#include "text/oom/phrases.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Failure;
using analyzer::oom::BalanceKind;
using analyzer::oom::BalanceNode;
using analyzer::oom::Fits;
using analyzer::oom::OomAnalysis;
using analyzer::oom::Remedy;
using analyzer::oom::RemedyKind;
using format::FailureKind;
using format::MemoryLimit;
using text::bytes;
using text::Style;
using text::Terminal;

constexpr int kWidth = 110;  // of sentences, where the terminal does not say

const char* limit_words(uint8_t limit) {
  switch (MemoryLimit(limit)) {
    case MemoryLimit::device:
      return "device memory";
    case MemoryLimit::cgroup:
      return "cgroup limit";
    case MemoryLimit::machine:
      return "machine memory";
    case MemoryLimit::address_space:
      return "address space limit (RLIMIT_AS)";
    case MemoryLimit::data:
      return "private memory limit (RLIMIT_DATA)";
    case MemoryLimit::shared_memory:
      return "shared memory, /dev/shm";
    default:
      break;
  }
  return "unknown limit";
}

// The first to try: what limits this process, else what surely helps, else what may, else what gives the most.
const Remedy* best(const std::vector<Remedy>& remedies) {
  const Remedy* const first = remedies.empty() ? nullptr : &remedies.front();
  if (first != nullptr && (first->kind == RemedyKind::process_limit || first->holds_most)) return first;
  for (Fits wanted : {Fits::yes, Fits::may}) {
    for (const Remedy& remedy : remedies) {
      if (remedy.fits == wanted) return &remedy;
    }
  }
  return remedies.empty() ? nullptr : &remedies.front();
}

class OomText {
 public:
  OomText(analyzer::ComparedDumps& dumps, const OomAnalysis& analysis, const OomTextOptions& options,
          const Terminal& terminal)
      : dumps_(dumps),
        opened_(dumps.last()),
        views_(dumps.views()),
        view_(views_.back()),
        story_(analysis),
        options_(options),
        terminal_(terminal),
        width_(terminal.width > 0 ? std::min(terminal.width, kWidth) : kWidth),
        missing_(text::missing_phrase(opened_.dump, analysis)) {
    const std::optional<Failure>& failure = opened_.dump.failure;
    if (failure && analyzer::oom::concerns(*failure, analysis.device)) failure_ = &*failure;
  }

  std::string text() {
    summary();
    sentence(process_line(opened_.dump.process), Style::dim, 2);
    if (failure_ != nullptr) what_failed();
    who_has_it();
    places();
    growth();
    suspects();
    remedies();
    if (options_.glossary) {
      const std::string terms = glossary_.text(terminal_);
      if (!terms.empty()) title("terms") += terms;
    }
    return std::move(out_);
  }

 private:
  std::string& title(const std::string& text, const std::string& remark = "") {
    out_ += "\n" + terminal_.styled(Style::bold, text) + (remark.empty() ? "" : "  " + remark) + "\n";
    return out_;
  }
  void sentence(const std::string& text, Style style = Style::plain, int indent = 2) {
    out_ += terminal_.styled(style, text::wrap(text::clean(text), width_, indent)) + "\n";
  }
  void labelled(const char* label, const std::string& text) {
    constexpr int kLabelled = 15;
    if (!text.empty()) sentence(fmt::format("  {:<12} {}", label, text), Style::plain, kLabelled);
  }

  std::string where(uint32_t site) {
    if (site == 0) return "";
    const std::string source = opened_.places.source_line(site);
    const std::string& place = opened_.places.at(site).where;
    return source.empty() ? place : fmt::format("{}   {}", place, source);
  }

  // "in backward of SoftmaxBackward0, made at model.py:31 Block.forward"
  std::string backward() {
    if (failure_->node_serial == 0) return "";
    if (failure_->node == analyzer::kNone) return "a backward pass; operation not known";
    const analyzer::Node& node = opened_.dump.nodes[failure_->node];
    const size_t scope = node.class_name.rfind("::");
    std::string text = scope == std::string::npos ? node.class_name : node.class_name.substr(scope + 2);
    if (node.site != 0) text += ", forward line " + where(node.site);
    if (story_.backward_site != 0) text += "; backward was called at " + where(story_.backward_site);
    return text;
  }

  bool of_shared_memory() const {
    return failure_ != nullptr && MemoryLimit(failure_->limit) == MemoryLimit::shared_memory;
  }
  const char* subject_name() const { return story_.device.is_cpu() ? "the host" : nullptr; }
  std::string subject() const { return subject_name() != nullptr ? subject_name() : story_.device.text(); }

  std::string first_line() const {
    if (failure_ == nullptr) {
      const bool elsewhere = opened_.dump.failure.has_value();
      return fmt::format("nothing has failed {}: memory of {}, {}",
                         elsewhere ? fmt::format("on {}", subject()) : "in this dump", subject(),
                         trigger_text(opened_.dump.process));
    }
    const std::string asked =
        failure_->requested == 0 ? "" : fmt::format(" while asking for {}", bytes(failure_->requested));
    constexpr size_t kShort = 40;  // the whole of it stands further below
    const bool brief = !failure_->error.empty() && failure_->error.size() <= kShort && width_ == kWidth;
    const std::string error = brief ? fmt::format(" ({})", failure_->error) : "";
    switch (FailureKind(failure_->kind)) {
      case FailureKind::low_memory: {
        std::string text = fmt::format("low {}memory, nothing has failed yet: ", of_shared_memory() ? "shared " : "");
        if (failure_->limit_bytes == 0) return text + "remaining memory not known";
        return text + fmt::format("{} left of {} ({})", bytes(failure_->left_bytes), bytes(failure_->limit_bytes),
                                  limit_words(failure_->limit));
      }
      case FailureKind::pinned:
        return fmt::format("out of page-locked host memory{}{}", asked, error);
      case FailureKind::host:
        return fmt::format("out of memory on the host{}{}", asked, error);
      default:
        return fmt::format("out of memory on {}{}{}", subject(), asked, error);
    }
  }

  // An autograd worker's stack has no line of the program: the forward line of the operation, and who called backward.
  std::string where_it_failed() {
    const std::string place = where(failure_->site);
    if (failure_->node_serial == 0) return place.empty() ? "location not known: no stack was recorded" : "at " + place;
    const bool in_python = failure_->site != 0 && opened_.dump.sites[failure_->site].python != 0;
    const uint32_t called = story_.backward_site;
    if (in_python || (failure_->node == analyzer::kNone && called == 0)) return "at " + place + ", in backward";
    std::string text = called == 0 ? "in backward" : fmt::format("in backward, called at {}", where(called));
    if (failure_->node == analyzer::kNone) return text;
    return fmt::format("at the backward of {}{}", opened_.places.at(opened_.dump.nodes[failure_->node].site).where,
                       called == 0 ? "" : ", called at " + where(called));
  }

  // Five lines that say it all.
  void summary() {
    sentence(first_line(), Style::bad);
    if (failure_ != nullptr) sentence(text::cut(text::clean("  " + where_it_failed()), width_), Style::plain, 4);
    sentence("  " + shares(), Style::plain, 4);
    const std::string most = most_of_it();
    if (!most.empty()) sentence("  " + most, Style::plain, 4);
    if (story_.too_large) {
      sentence("  freeing memory cannot help: the request is larger than the whole memory", Style::plain, 4);
    } else if (const Remedy* first = best(story_.remedies)) {
      std::string text = fmt::format("  first to try: {}, {}", text::title_phrase(*first), text::gives_phrase(*first));
      const std::string fits = text::fits_phrase(*first);
      if (!fits.empty()) text += fmt::format(" ({})", fits);
      sentence(text, Style::plain, 4);
    } else if (!missing_.empty()) {
      sentence("  " + missing_, Style::plain, 4);
    }
  }

  // "16.00 GiB: torch 9.68 GiB (+ 666.0 MiB cached), libraries 512.0 MiB, ..., free 433.0 MiB"
  std::string shares() const {
    const BalanceNode& balance = story_.balance;
    std::string list;
    auto amount = [&](BalanceKind kind) -> std::string {
      const BalanceNode* part = balance.kind == kind ? &balance : balance.find(kind);
      return part == nullptr || !part->bytes || *part->bytes <= 0 ? "" : bytes(uint64_t(*part->bytes));
    };
    auto add = [&](BalanceKind kind, const char* words) {
      const std::string text = amount(kind);
      if (!text.empty()) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", words, text);
    };
    if (story_.device.is_cpu()) {
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

  std::string most_of_it() const {
    const BalanceNode* tensors = story_.balance.find(BalanceKind::tensors);
    if (tensors == nullptr || tensors->parts.empty()) return "";
    std::string text;
    constexpr size_t kMax = 3;
    for (size_t i = 0; i < std::min(kMax, tensors->parts.size()); ++i) {
      const BalanceNode& category = tensors->parts[i];
      if (!category.bytes || *category.bytes <= 0) break;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", analyzer::oom::name(category),
                          bytes(uint64_t(*category.bytes)));
      if (i != 0) continue;
      text += " (" + text::percent(uint64_t(*category.bytes), analyzer::oom::in_use(story_.balance));
      const bool module = !category.parts.empty() && !category.parts[0].subject.empty();
      text += module ? fmt::format(", most in {})", category.parts[0].subject) : ")";
    }
    return text;
  }

  void what_failed() {
    const Failure& failure = *failure_;
    const bool low = FailureKind(failure.kind) == FailureKind::low_memory;
    title(low ? "low memory" : "what failed");
    if (failure.requested != 0) {
      std::string text = fmt::format("{} ({} bytes)", bytes(failure.requested), text::count(failure.requested));
      if (!low && !story_.device.is_cpu() && story_.cached.native) {
        const uint64_t segment = analyzer::oom::segment_for(failure.requested, story_.cached);
        if (segment != failure.requested)
          text += fmt::format("; torch requests {} from the driver for it", bytes(segment));
      }
      labelled("request", text);
    }
    if (failure.limit != 0 && (failure.limit_bytes != 0 || MemoryLimit(failure.limit) != MemoryLimit::device)) {
      std::string text = limit_words(failure.limit);
      if (failure.limit_bytes != 0) {
        text += fmt::format(": {} of {} left", bytes(failure.left_bytes), bytes(failure.limit_bytes));
      }
      labelled("limit", text);
    }
    labelled("error", failure.error);
    if (options_.full_stacks) {
      bool first = true;
      for (const analyzer::Frame& frame : opened_.places.stack(failure.site)) {
        labelled(first ? "stack" : "", opened_.places.shown(frame).where);
        first = false;
      }
    } else {
      labelled("at", where(failure.site));
      labelled("called by", failure.site == 0 ? "" : opened_.places.callers(failure.site));
      labelled("in C++", analyzer::oom::native_caller(view_, failure.site));
    }
    if (analyzer::oom::asked_by_cudnn(view_, failure.site)) {
      labelled("for",
               "what cuDNN would work in during a convolution: torch then tries algorithms that need less, so this "
               "need not have ended the program");
    }
    labelled("in backward", backward());
    const analyzer::Thread& thread = opened_.dump.threads[failure.thread];
    if (failure.thread != 0) labelled("thread", fmt::format("{} \"{}\"", thread.tid, thread.name));
    if (failure.failures > 1) {
      std::string text = fmt::format("{} in this process so far", text::count(failure.failures));
      if (failure.without_dump > 0) {
        text += fmt::format("; {} of them without a dump (too many, or too soon after another)",
                            text::count(failure.without_dump));
      }
      labelled("failures", text);
    }
  }

  void who_has_it() {
    title(story_.device.is_cpu() ? "memory of the host" : fmt::format("memory of {}", subject())) +=
        balance_text(story_.balance, terminal_, glossary_);
    if (of_shared_memory()) {
      sentence(
          "  Batches that are kept, and DataLoader workers with batches that they have prefetched, hold files there. "
          "Files of no process stay until they are removed (rm /dev/shm/NAME). In a container, /dev/shm is as large "
          "as it was started with: docker run --shm-size=8g, or --ipc=host.");
    }
    if (!story_.device.is_cpu() && story_.cached.bytes > 0 && story_.request > 0)
      sentence("  " + why_cached(), Style::plain, 2);
    const BalanceNode* left = story_.balance.find(BalanceKind::left);
    const bool room = left != nullptr && left->bytes && *left->bytes > 0 && uint64_t(*left->bytes) >= story_.request;
    if (story_.device.is_cpu() && story_.request > 0 && room) {
      sentence("  There was enough memory for the request: look for a limit of this process (ulimit -v, RLIMIT_DATA).");
    }
    for (const analyzer::DeviceMemory& memory : opened_.dump.device_memory) {
      if (memory.device == story_.device || memory.driver_total == 0) continue;
      sentence(fmt::format("  other device: {} has {} free of {}", memory.device.text(), bytes(memory.driver_free),
                           bytes(memory.driver_total)));
    }
    const analyzer::DeviceMemory* memory = nullptr;
    for (const analyzer::DeviceMemory& entry : opened_.dump.device_memory) {
      if (entry.device == story_.device) memory = &entry;
    }
    if (memory == nullptr) return;
    for (const std::string& detail : {memory->driver_detail, memory->segments_detail}) {
      if (!detail.empty()) sentence("  not known: " + detail, Style::warning);
    }
  }

  // Why what is cached could not serve the request.
  std::string why_cached() const {
    const analyzer::oom::FreeMemory& cached = story_.cached;
    uint64_t usable = 0, largest = 0, wrong_size = 0, private_bytes = 0;
    for (const analyzer::oom::FreePart& part : cached.parts) {
      if (part.private_pool()) {
        private_bytes += part.bytes;
      } else if (!of_size_class(part, story_.request)) {
        wrong_size += part.bytes;
      } else {
        usable += part.bytes;
        largest = std::max(largest, part.largest);
      }
    }
    std::string text = fmt::format("{} of cached memory did not serve the request: ", bytes(cached.bytes));
    if (usable > 0 && largest < story_.request) {
      text += fmt::format("{} are in free blocks of at most {}, and one block of {} is needed", bytes(usable),
                          bytes(largest), bytes(story_.request));
    } else if (usable > 0 && cached.streams > 1) {
      text +=
          fmt::format("{} belong to {} streams, and each stream can use only its own", bytes(usable), cached.streams);
    } else if (usable > 0) {
      text +=
          fmt::format("a free block of {} is large enough, but was freed later or by another thread", bytes(largest));
    } else {
      text += "none of it is in the pool of this request";
    }
    if (wrong_size > 0) {
      text +=
          fmt::format("; {} are in the {} pool", bytes(wrong_size), story_.request > (1u << 20) ? "small" : "large");
    }
    if (private_bytes > 0) text += fmt::format("; {} are in private pools", bytes(private_bytes));
    return text + ".";
  }

  void places() {
    if (story_.places.empty()) return;
    const size_t all = story_.places.size(), shown = options_.top == 0 ? all : std::min(options_.top, all);
    title("largest allocation sites",
          shown < all ? fmt::format("(showing {} of {}; --top N)", text::count(shown), text::count(all)) : "");
    const std::vector<analyzer::Group> groups(story_.places.begin(), story_.places.begin() + ptrdiff_t(shown));
    uint64_t total = 0;
    for (const analyzer::Group& group : story_.places) total += group.bytes;
    total = std::max(total, analyzer::oom::in_use(story_.balance));
    out_ += group_table(opened_, groups, analyzer::GroupBy::line, total, options_.full_stacks, terminal_);
  }

  void growth() {
    if (!story_.growth) return;
    const analyzer::Difference& difference = *story_.growth;
    const analyzer::Process &from = dumps_.first().dump.process, &to = opened_.dump.process;
    title(fmt::format("what grew since {}", dumps_.first().dump.path),
          fmt::format("({} before)", text::duration(to.dump_ns - from.dump_ns)));
    const auto change = int64_t(difference.bytes.back() - difference.bytes.front());
    sentence(fmt::format("  live bytes of {} {} -> {}   {}", subject(), bytes(difference.bytes.front()),
                         bytes(difference.bytes.back()), text::signed_bytes(change)));
    std::vector<analyzer::Change> grown;
    for (const analyzer::Change& entry : difference.changes) {
      if (entry.byte_growth() > 0) grown.push_back(entry);
    }
    if (!grown.empty()) {
      out_ += change_table(dumps_, grown, analyzer::GroupBy::line, options_.top, options_.full_stacks, terminal_);
    }
  }

  void suspects() {
    if (story_.suspects.empty()) return;
    title("suspected leaks");
    sentence("  " + suspects_heading(story_.suspects, options_.top), Style::plain, 2);
    out_ += suspects_table(opened_, story_.suspects, options_.top, terminal_);
  }

  void remedies() {
    title(story_.request > 0 ? fmt::format("how to make {} fit", bytes(story_.request)) : "what could be freed");
    if (story_.too_large) return larger_than_all();
    if (story_.remedies.empty()) sentence("  nothing found that would free a useful amount", Style::plain, 2);
    for (const Remedy& remedy : story_.remedies) {
      const std::string fits = text::fits_phrase(remedy);
      const Style style = remedy.fits == Fits::yes ? Style::good : Style::plain;
      constexpr int kIndent = 17;
      sentence(fmt::format("  {:>16}  {}{}", text::gives_phrase(remedy), text::title_phrase(remedy),
                           fits.empty() ? "" : " (" + fits + ")"),
               style, kIndent + 3);
      sentence(std::string(kIndent + 3, ' ') + text::takes_words(remedy), Style::plain, kIndent + 3);
      const std::string estimate = text::estimate_words(remedy), range = text::range_words(remedy);
      if (!estimate.empty()) {
        sentence(std::string(kIndent + 3, ' ') + "estimate: " + range + (range.empty() ? "" : ": ") + estimate,
                 Style::dim, kIndent + 3);
      }
      sentence(std::string(kIndent + 3, ' ') + "price: " + text::price_phrase(remedy), Style::dim, kIndent + 3);
      if (remedy.kind == RemedyKind::checkpoint) glossary_.use(Term::checkpointing);
    }
    const bool batch = std::ranges::any_of(
        story_.remedies, [](const Remedy& remedy) { return remedy.kind == RemedyKind::smaller_batch; });
    if (story_.in_optimizer && !batch) {
      sentence(
          "  An optimizer's step failed, after activations were freed: a smaller batch, checkpointing or autocast "
          "would not help at this moment.");
    }
    const std::string outside = text::outside_phrase(story_.balance);
    if (!outside.empty()) sentence("  " + outside);
    if (!missing_.empty()) sentence("  " + missing_, Style::warning, 2);
  }

  void larger_than_all() {
    sentence(fmt::format("  Freeing memory cannot help: {} is more than {} has in total. Check the shapes.",
                         bytes(story_.request), subject()),
             Style::plain, 2);
    if (story_.operands.empty()) return;
    sentence("  tensors in local variables of the function that failed:", Style::plain, 2);
    for (const analyzer::oom::Operand& operand : story_.operands) {
      sentence("    " + text::operand_phrase(opened_.dump, operand), Style::plain, 6);
    }
  }

  analyzer::ComparedDumps& dumps_;
  analyzer::OpenedDump& opened_;
  const std::vector<analyzer::View> views_;
  const analyzer::View& view_;
  const OomAnalysis& story_;
  const OomTextOptions& options_;
  const Terminal& terminal_;
  const int width_;
  const std::string missing_;  // why there may be more remedies
  const Failure* failure_ = nullptr;
  Glossary glossary_;
  std::string out_;
};

}  // namespace

std::string oom_text(analyzer::ComparedDumps& dumps, const OomAnalysis& analysis, const OomTextOptions& options,
                     const Terminal& terminal) {
  return OomText(dumps, analysis, options, terminal).text();
}

}  // namespace tensorscope::text
