// SPDX-License-Identifier: Apache-2.0
#include "text/oom/failure_report.h"

#include <fmt/format.h>

#include "dump_generated.h"
#include "oom/callers.h"
#include "text/dump/headline.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Failure;
using format::FailureKind;
using format::MemoryLimit;

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

}  // namespace

std::string subject_of(const analyzer::Device& device) { return device.is_cpu() ? "the host" : device.text(); }

FailureReport::FailureReport(const analyzer::View& view, analyzer::OpenedDump& opened,
                             const analyzer::oom::OomAnalysis& analysis)
    : view_(view), opened_(opened), story_(analysis) {
  const std::optional<Failure>& failure = opened.dump.failure;
  if (failure && analyzer::oom::concerns(*failure, analysis.device)) failure_ = &*failure;
}

std::string FailureReport::where(uint32_t site) const {
  if (site == 0) return "";
  const std::string source = opened_.places.source_line(site);
  const std::string& place = opened_.places.at(site).where;
  return source.empty() ? place : fmt::format("{}   {}", place, source);
}

// "in backward of SoftmaxBackward0, made at model.py:31 Block.forward"
std::string FailureReport::backward() const {
  if (failure_->node_serial == 0) return "";
  if (failure_->node == analyzer::kNone) return "a backward pass; operation not known";
  const analyzer::Node& node = opened_.dump.nodes[failure_->node];
  const size_t scope = node.class_name.rfind("::");
  std::string text = scope == std::string::npos ? node.class_name : node.class_name.substr(scope + 2);
  if (node.site != 0) text += ", forward line " + where(node.site);
  if (story_.backward_site != 0) text += "; backward was called at " + where(story_.backward_site);
  return text;
}

bool FailureReport::of_shared_memory() const {
  return failure_ != nullptr && MemoryLimit(failure_->limit) == MemoryLimit::shared_memory;
}

std::string FailureReport::first_line(bool with_error) const {
  if (failure_ == nullptr) {
    const bool elsewhere = opened_.dump.failure.has_value();
    return fmt::format("nothing has failed {}: memory of {}, {}",
                       elsewhere ? fmt::format("on {}", subject_of(story_.device)) : "in this dump",
                       subject_of(story_.device), trigger_text(opened_.dump.process));
  }
  const std::string asked =
      failure_->requested == 0 ? "" : fmt::format(" while asking for {}", bytes(failure_->requested));
  constexpr size_t kShort = 40;  // the whole of it stands further below
  const bool brief = !failure_->error.empty() && failure_->error.size() <= kShort && with_error;
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
      return fmt::format("out of memory on {}{}{}", subject_of(story_.device), asked, error);
  }
}

// An autograd worker's stack has no line of the program: the forward line of the operation, and who called backward.
std::string FailureReport::where_it_failed() const {
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

void FailureReport::add_to(AnswerText& out, bool full_stacks) const {
  const Failure& failure = *failure_;
  const bool low = FailureKind(failure.kind) == FailureKind::low_memory;
  out.title(low ? "low memory" : "what failed");
  if (failure.requested != 0) {
    std::string text = fmt::format("{} ({} bytes)", bytes(failure.requested), text::count(failure.requested));
    if (!low && !story_.device.is_cpu() && story_.cached.native) {
      const uint64_t segment = analyzer::oom::segment_for(failure.requested, story_.cached);
      if (segment != failure.requested)
        text += fmt::format("; torch requests {} from the driver for it", bytes(segment));
    }
    out.labelled("request", text);
  }
  if (failure.limit != 0 && (failure.limit_bytes != 0 || MemoryLimit(failure.limit) != MemoryLimit::device)) {
    std::string text = limit_words(failure.limit);
    if (failure.limit_bytes != 0) {
      text += fmt::format(": {} of {} left", bytes(failure.left_bytes), bytes(failure.limit_bytes));
    }
    out.labelled("limit", text);
  }
  out.labelled("error", failure.error);
  if (full_stacks) {
    bool first = true;
    for (const analyzer::Frame& frame : opened_.places.stack(failure.site)) {
      out.labelled(first ? "stack" : "", opened_.places.shown(frame).where);
      first = false;
    }
  } else {
    out.labelled("at", where(failure.site));
    out.labelled("called by", failure.site == 0 ? "" : opened_.places.callers(failure.site));
    out.labelled("in C++", analyzer::oom::native_caller(view_, failure.site));
  }
  if (analyzer::oom::asked_by_cudnn(view_, failure.site)) {
    out.labelled("for",
                 "what cuDNN would work in during a convolution: torch then tries algorithms that need less, so this "
                 "need not have ended the program");
  }
  out.labelled("in backward", backward());
  const analyzer::Thread& thread = opened_.dump.threads[failure.thread];
  if (failure.thread != 0) out.labelled("thread", fmt::format("{} \"{}\"", thread.tid, thread.name));
  if (failure.failures > 1) {
    std::string text = fmt::format("{} in this process so far", text::count(failure.failures));
    if (failure.without_dump > 0) {
      text += fmt::format("; {} of them without a dump (too many, or too soon after another)",
                          text::count(failure.without_dump));
    }
    out.labelled("failures", text);
  }
}

}  // namespace tensorscope::text
