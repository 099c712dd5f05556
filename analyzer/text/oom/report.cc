// SPDX-License-Identifier: Apache-2.0
#include "text/oom/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/dump/change_table.h"
#include "text/dump/group_table.h"
#include "text/dump/headline.h"
#include "text/dump/history.h"
#include "text/leaks/suspects.h"
#include "text/oom/answer_text.h"
#include "text/oom/failure_report.h"
#include "text/oom/memory_phrases.h"
#include "text/oom/phrases.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::BalanceKind;
using analyzer::oom::BalanceNode;
using analyzer::oom::Fits;
using analyzer::oom::OomAnalysis;
using analyzer::oom::Remedy;
using analyzer::oom::RemedyKind;
using text::bytes;
using text::Style;
using text::Terminal;

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
        failure_(view_, opened_, analysis),
        missing_(text::missing_phrase(opened_.dump, analysis)),
        out_(terminal) {}

  std::string text() {
    summary();
    out_.sentence(process_line(opened_.dump.process), Style::dim, 2);
    if (failure_.has_failed()) failure_.add_to(out_, options_.full_stacks);
    who_has_it();
    places();
    growth();
    run();
    suspects();
    remedies();
    if (options_.glossary) {
      const std::string terms = glossary_.text(terminal_);
      if (!terms.empty()) out_.title("terms") += terms;
    }
    return out_.take();
  }

 private:
  // Five lines that say it all.
  void summary() {
    out_.sentence(failure_.first_line(!out_.is_narrow()), Style::bad);
    if (failure_.has_failed()) {
      const std::string place = text::clean("  " + failure_.where_it_failed());
      out_.sentence(text::cut(place, out_.width()), Style::plain, 4);
    }
    out_.sentence("  " + shares_phrase(story_), Style::plain, 4);
    const std::string most = largest_categories_phrase(story_);
    if (!most.empty()) out_.sentence("  " + most, Style::plain, 4);
    if (story_.too_large) {
      out_.sentence("  freeing memory cannot help: the request is larger than the whole memory", Style::plain, 4);
    } else if (const Remedy* first = best(story_.remedies)) {
      std::string text = fmt::format("  first to try: {}, {}", text::title_phrase(*first), text::gives_phrase(*first));
      const std::string fits = text::fits_phrase(*first);
      if (!fits.empty()) text += fmt::format(" ({})", fits);
      out_.sentence(text, Style::plain, 4);
    } else if (!missing_.empty()) {
      out_.sentence("  " + missing_, Style::plain, 4);
    }
  }

  void who_has_it() {
    out_.title(story_.device.is_cpu() ? "memory of the host"
                                      : fmt::format("memory of {}", subject_of(story_.device))) +=
        balance_text(story_.balance, terminal_, glossary_);
    if (failure_.of_shared_memory()) {
      out_.sentence(
          "  Batches that are kept, and DataLoader workers with batches that they have prefetched, hold files there. "
          "Files of no process stay until they are removed (rm /dev/shm/NAME). In a container, /dev/shm is as large "
          "as it was started with: docker run --shm-size=8g, or --ipc=host.");
    }
    if (!story_.device.is_cpu() && story_.cached.bytes > 0 && story_.request > 0)
      out_.sentence("  " + cached_phrase(story_), Style::plain, 2);
    const BalanceNode* left = story_.balance.find(BalanceKind::left);
    const bool room = left != nullptr && left->bytes && *left->bytes > 0 && uint64_t(*left->bytes) >= story_.request;
    if (story_.device.is_cpu() && story_.request > 0 && room) {
      out_.sentence(
          "  There was enough memory for the request: look for a limit of this process (ulimit -v, RLIMIT_DATA).");
    }
    for (const analyzer::DeviceMemory& memory : opened_.dump.device_memory) {
      if (memory.device == story_.device || memory.driver_total == 0) continue;
      out_.sentence(fmt::format("  other device: {} has {} free of {}", memory.device.text(), bytes(memory.driver_free),
                                bytes(memory.driver_total)));
    }
    const analyzer::DeviceMemory* memory = nullptr;
    for (const analyzer::DeviceMemory& entry : opened_.dump.device_memory) {
      if (entry.device == story_.device) memory = &entry;
    }
    if (memory == nullptr) return;
    for (const std::string& detail : {memory->driver_detail, memory->segments_detail}) {
      if (!detail.empty()) out_.sentence("  not known: " + detail, Style::warning);
    }
  }

  void places() {
    if (story_.places.empty()) return;
    const size_t all = story_.places.size(), shown = options_.top == 0 ? all : std::min(options_.top, all);
    out_.title("largest allocation sites",
               shown < all ? fmt::format("(showing {} of {}; --top N)", text::count(shown), text::count(all)) : "");
    const std::vector<analyzer::Group> groups(story_.places.begin(), story_.places.begin() + ptrdiff_t(shown));
    uint64_t total = 0;
    for (const analyzer::Group& group : story_.places) total += group.bytes;
    total = std::max(total, analyzer::oom::in_use(story_.balance));
    out_.add(group_table(opened_, groups, analyzer::GroupBy::line, total, options_.full_stacks, terminal_));
  }

  void growth() {
    if (!story_.growth) return;
    const analyzer::Difference& difference = *story_.growth;
    const analyzer::Process &from = dumps_.first().dump.process, &to = opened_.dump.process;
    out_.title(fmt::format("what grew since {}", dumps_.first().dump.path),
               fmt::format("({} before)", text::duration(to.dump_ns - from.dump_ns)));
    const auto change = int64_t(difference.bytes.back() - difference.bytes.front());
    out_.sentence(fmt::format("  live bytes of {} {} -> {}   {}", subject_of(story_.device),
                              bytes(difference.bytes.front()), bytes(difference.bytes.back()),
                              text::signed_bytes(change)));
    std::vector<analyzer::Change> grown;
    for (const analyzer::Change& entry : difference.changes) {
      if (entry.byte_growth() > 0) grown.push_back(entry);
    }
    if (!grown.empty()) {
      out_.add(change_table(dumps_, grown, analyzer::GroupBy::line, options_.top, options_.full_stacks, terminal_));
    }
  }

  void run() {
    const std::string growth = growth_sentence(opened_.dump, story_.device);
    if (growth.empty()) return;
    out_.title("over the run");
    out_.sentence("  " + growth, Style::plain, 2);
    out_.add(history_curve(opened_.dump, terminal_, story_.device));
  }

  void suspects() {
    if (story_.suspects.empty()) return;
    out_.title("suspected leaks");
    out_.sentence("  " + suspects_heading(story_.suspects, options_.top), Style::plain, 2);
    out_.add(suspects_table(opened_, story_.suspects, options_.top, terminal_));
  }

  void remedies() {
    out_.title(story_.request > 0 ? fmt::format("how to make {} fit", bytes(story_.request)) : "what could be freed");
    if (story_.too_large) return larger_than_all();
    if (story_.remedies.empty()) out_.sentence("  nothing found that would free a useful amount", Style::plain, 2);
    for (const Remedy& remedy : story_.remedies) {
      const std::string fits = text::fits_phrase(remedy);
      const Style style = remedy.fits == Fits::yes ? Style::good : Style::plain;
      constexpr int kIndent = 17;
      out_.sentence(fmt::format("  {:>16}  {}{}", text::gives_phrase(remedy), text::title_phrase(remedy),
                                fits.empty() ? "" : " (" + fits + ")"),
                    style, kIndent + 3);
      out_.sentence(std::string(kIndent + 3, ' ') + text::takes_words(remedy), Style::plain, kIndent + 3);
      const std::string estimate = text::estimate_words(remedy), range = text::range_words(remedy);
      if (!estimate.empty()) {
        out_.sentence(std::string(kIndent + 3, ' ') + "estimate: " + range + (range.empty() ? "" : ": ") + estimate,
                      Style::dim, kIndent + 3);
      }
      out_.sentence(std::string(kIndent + 3, ' ') + "price: " + text::price_phrase(remedy), Style::dim, kIndent + 3);
      if (remedy.kind == RemedyKind::checkpoint) glossary_.use(Term::checkpointing);
    }
    const bool batch = std::ranges::any_of(
        story_.remedies, [](const Remedy& remedy) { return remedy.kind == RemedyKind::smaller_batch; });
    if (story_.in_optimizer && !batch) {
      out_.sentence(
          "  An optimizer's step failed, after activations were freed: a smaller batch, checkpointing or autocast "
          "would not help at this moment.");
    }
    const std::string outside = text::outside_phrase(story_.balance);
    if (!outside.empty()) out_.sentence("  " + outside);
    if (!missing_.empty()) out_.sentence("  " + missing_, Style::warning, 2);
  }

  void larger_than_all() {
    out_.sentence(fmt::format("  Freeing memory cannot help: {} is more than {} has in total. Check the shapes.",
                              bytes(story_.request), subject_of(story_.device)),
                  Style::plain, 2);
    if (story_.operands.empty()) return;
    out_.sentence("  tensors in local variables of the function that failed:", Style::plain, 2);
    for (const analyzer::oom::Operand& operand : story_.operands) {
      out_.sentence("    " + text::operand_phrase(opened_.dump, operand), Style::plain, 6);
    }
  }

  analyzer::ComparedDumps& dumps_;
  analyzer::OpenedDump& opened_;
  const std::vector<analyzer::View> views_;
  const analyzer::View& view_;
  const OomAnalysis& story_;
  const OomTextOptions& options_;
  const Terminal& terminal_;
  const FailureReport failure_;
  const std::string missing_;  // why there may be more remedies
  Glossary glossary_;
  AnswerText out_;
};

}  // namespace

std::string oom_text(analyzer::ComparedDumps& dumps, const OomAnalysis& analysis, const OomTextOptions& options,
                     const Terminal& terminal) {
  return OomText(dumps, analysis, options, terminal).text();
}

}  // namespace tensorscope::text
