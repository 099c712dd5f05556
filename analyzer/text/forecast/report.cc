// SPDX-License-Identifier: Apache-2.0
#include "text/forecast/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/choice_words.h"
#include "text/table.h"
#include "text/units.h"
#include "text/unread_words.h"

namespace tensorscope::text {

namespace {

namespace forecast = analyzer::forecast;
using forecast::Amount;
using forecast::Fits;
using forecast::LargestSize;
using forecast::Outcome;
using forecast::Size;
using forecast::SizeValues;

std::string whole_bytes(double value) { return bytes(uint64_t(std::llround(std::max(0.0, value)))); }

// "71.3 GiB ± 0.4 GiB"; without an error what the shapes say to the byte.
std::string amount_words(const Amount& amount) {
  if (amount.spread < 0.5) return whole_bytes(amount.bytes);
  return whole_bytes(amount.bytes) + " ± " + whole_bytes(amount.spread);
}

// "26.6 MiB ± 0.4 MiB", "5.3 MiB (4.8 MiB to 25.1 MiB)"
std::string amount_words(const forecast::PeakRange& peak) {
  if (peak.less == peak.more) return amount_words(Amount{peak.bytes, peak.more});
  return fmt::format("{} ({} to {})", whole_bytes(peak.bytes), whole_bytes(peak.least()), whole_bytes(peak.most()));
}

std::string values_words(const std::vector<Size>& sizes, const SizeValues& at) {
  std::string words;
  for (size_t i = 0; i < sizes.size(); ++i) {
    words += fmt::format("{}{} {}", i == 0 ? "" : ", ", sizes[i].name, count(uint64_t(at[i])));
  }
  return words;
}

const char* fits_phrase(Fits fits) {
  switch (fits) {
    case Fits::unknown:
      return "";
    case Fits::no:
      return "does not fit";
    case Fits::may:
      return "may fit";
    case Fits::yes:
      return "fits";
  }
  return "";
}

std::string largest_words(const ForecastShown& shown, const LargestSize& largest) {
  const std::string& name = shown.answer.sizes[largest.size].name;
  if (largest.none) return fmt::format("no {} fits", name);
  if (largest.more) return fmt::format("every {} fits", name);
  return fmt::format("the largest {} that fits is {}", name, count(uint64_t(largest.value)));
}

std::string head(const ForecastShown& shown) {
  const forecast::Answer& answer = shown.answer;
  std::string line = fmt::format("{}: peak {} on {}", values_words(answer.sizes, answer.target),
                                 amount_words(answer.plain.peak), shown.samples[0].device.text());
  if (!shown.question.limit) return line + "\n";
  line += fmt::format(" of {}: {}", bytes(*shown.question.limit), fits_phrase(answer.plain.fits));
  for (size_t i = 0; i < answer.plain.largest.size(); ++i) {
    line += (i == 0 ? "; " : ", ") + largest_words(shown, answer.plain.largest[i]);
  }
  line += "\n";
  for (const LargestSize& largest : answer.plain.largest) {
    if (largest.first_over.empty()) continue;
    line += fmt::format("{} {} would be the first not to fit: at {}, which takes {}\n", answer.sizes[largest.size].name,
                        count(uint64_t(largest.value + 1)), largest.first_over, whole_bytes(largest.first_over_bytes));
  }
  return line;
}

std::string inputs_line(const ForecastShown& shown) {
  std::string line = "from";
  for (size_t i = 0; i < shown.samples.size(); ++i) {
    line += fmt::format("{} {} ({}: {})", i == 0 ? "" : ",", shown.samples[i].file,
                        values_words(shown.answer.sizes, forecast::values_of(shown.answer.sizes, i)),
                        bytes(shown.samples[i].peak));
  }
  if (shown.answer.sizes[0].found) line += "; sizes found in the shapes of tensors";
  return line + "\n";
}

std::string numbers_words(const std::vector<int64_t>& numbers) {
  std::string words;
  for (int64_t number : numbers) words += fmt::format("{}{}", words.empty() ? "" : ",", number);
  return words;
}

// Which dimension a name means is a guess where inputs have several.
std::string others_lines(const ForecastShown& shown) {
  constexpr size_t kMaxNamed = 3;
  std::string text;
  for (const Size& size : shown.answer.sizes) {
    if (size.others.empty()) continue;
    std::string others;
    for (size_t i = 0; i < std::min(kMaxNamed, size.others.size()); ++i) {
      others += (i == 0 ? "" : "; ") + numbers_words(size.others[i]);
    }
    text += fmt::format("{} is taken as the dimension that was {}; others fit as well: {}{}. To choose: --vary {}={}\n",
                        size.name, numbers_words(size.seen), others, size.others.size() > kMaxNamed ? "; ..." : "",
                        size.name, numbers_words(size.others[0]));
  }
  return text;
}

std::string notes(const ForecastShown& shown) {
  const forecast::Answer& answer = shown.answer;
  std::string text;
  if (!shown.samples[0].recording) {
    text +=
        "Dumps tell one moment of each run: the forecast is of that moment. Recordings tell whether another one "
        "will be the peak.\n";
  }
  if (answer.peak_moves) text += "The peak moves: it will be at another moment of the run than it was.\n";
  double worst = 0;
  for (const forecast::Check& check : answer.checks) {
    const double seen = double(std::max<uint64_t>(1, shown.samples[check.sample].peak));
    worst = std::max(worst, std::abs(check.predicted - seen) / seen);
  }
  if (worst >= 0.0005) {
    text += fmt::format("Check: the same rules miss the peak of an input by {:.1f} %; the error includes that.\n",
                        worst * 100);
  }
  if (answer.plain.without_scratch.bytes > 0) {
    text += fmt::format(
        "Not counting what cuDNN works in during convolutions: peak {}. How much that is only cuDNN knows for another "
        "size; where memory is short torch takes an algorithm that needs less, so 'fits' and the largest sizes do not "
        "count it.\n",
        amount_words(answer.plain.without_scratch));
  }
  if (answer.plain.reserved.bytes > 0) {
    text += fmt::format("The allocator of {} reserves {}; 'fits' counts that.\n", shown.samples[0].device.text(),
                        amount_words(answer.plain.reserved));
  }
  return text;
}

Table category_table(const ForecastShown& shown) {
  std::vector<Column> columns = {{"", Align::left}};
  for (size_t i = 0; i < shown.samples.size(); ++i) {
    columns.push_back({values_words(shown.answer.sizes, forecast::values_of(shown.answer.sizes, i)), Align::right});
  }
  columns.push_back({values_words(shown.answer.sizes, shown.answer.target), Align::right});
  columns.push_back({"grows"});
  Table table(columns);
  for (const forecast::CategoryRow& row : shown.answer.at_peak.categories) {
    std::vector<std::string> cells = {analyzer::text(row.category)};
    for (uint64_t seen : row.seen) cells.push_back(bytes(seen));
    cells.push_back(amount_words(row.predicted));
    cells.push_back(row.predicted.bytes < 0.5 ? "" : growth_phrase(row.powers, shown.answer.sizes));
    table.row(cells);
  }
  std::vector<std::string> total = {"peak"};
  for (const forecast::Sample& sample : shown.samples) total.push_back(bytes(sample.peak));
  total.push_back(whole_bytes(shown.answer.plain.peak.bytes));
  table.row(total, Style::bold);
  return table;
}

std::string place_words(const forecast::SiteRow& site) {
  return site.modules.empty() ? site.where : fmt::format("{}  [{}]", site.where, site.modules);
}

std::string sites_table(const ForecastShown& shown, size_t top, const Terminal& terminal) {
  const size_t rows = top == 0 ? shown.answer.at_peak.sites.size() : std::min(top, shown.answer.at_peak.sites.size());
  Table table(
      {{values_words(shown.answer.sizes, forecast::values_of(shown.answer.sizes, shown.answer.base)), Align::right},
       {"then", Align::right},
       {"%", Align::right},
       {"grows"},
       {"for"},
       {"where", Align::left, 30, Cut::middle}});
  for (size_t i = 0; i < rows; ++i) {
    const forecast::SiteRow& site = shown.answer.at_peak.sites[i];
    table.row({bytes(site.seen), whole_bytes(site.predicted.bytes),
               percent(uint64_t(site.predicted.bytes), uint64_t(shown.answer.plain.peak.bytes)),
               growth_phrase(site.powers, shown.answer.sizes), analyzer::text(site.category), place_words(site)});
  }
  return fmt::format("\nlargest allocation sites at the predicted peak  (showing {} of {}; --top N)\n", rows,
                     shown.answer.at_peak.sites.size()) +
         table.text(terminal);
}

const char* basis_words(forecast::Basis basis) {
  switch (basis) {
    case forecast::Basis::assumed:
      return "no shape tells how it grows; the inputs are too few to check";
    case forecast::Basis::not_matched:
      return "not in a smaller input, or more of it there; taken as constant";
    case forecast::Basis::irregular:
      return "not linear: fits no form";
    case forecast::Basis::scratch:
      return "not linear: cuDNN chooses it by the size, and may choose none or more for another";
    default:
      return "";
  }
}

std::string unexplained_table(const ForecastShown& shown, size_t top, const Terminal& terminal) {
  if (shown.answer.at_peak.unexplained.empty()) return "\nEvery site is constant or grows as its shape says.\n";
  const size_t all = shown.answer.at_peak.unexplained.size(), rows = top == 0 ? all : std::min(top, all);
  Table table(
      {{"then", Align::right}, {"±", Align::right}, {"why", Align::left, 20}, {"where", Align::left, 30, Cut::middle}});
  for (size_t i = 0; i < rows; ++i) {
    const forecast::SiteRow& site = shown.answer.at_peak.unexplained[i];
    table.row({whole_bytes(site.predicted.bytes), whole_bytes(site.predicted.spread), basis_words(site.basis),
               place_words(site)});
  }
  return fmt::format("\nnot explained by shapes  (showing {} of {})\n", rows, all) + table.text(terminal);
}

// Which part makes the range of a what-if.
std::string unknown_types(const ForecastShown& shown) {
  constexpr size_t kMaxNamed = 3;
  constexpr double kNamed = 0.01;  // of the peak
  std::string text;
  for (const Outcome& outcome : shown.answer.scenarios) {
    double all = 0;
    for (const forecast::UnknownType& site : outcome.unknown_types) all += site.bytes;
    if (all < kNamed * outcome.peak.bytes) continue;
    text += fmt::format("\n{}: ± {} are of what has a type that is not known then\n", outcome.name, whole_bytes(all));
    for (size_t i = 0; i < std::min(kMaxNamed, outcome.unknown_types.size()); ++i) {
      const forecast::UnknownType& site = outcome.unknown_types[i];
      text += fmt::format("  ± {}  {}{}\n", whole_bytes(site.bytes), site.where,
                          site.modules.empty() ? "" : fmt::format("  [{}]", site.modules));
    }
  }
  return text;
}

// What cuDNN works in, of the peak of a what-if or beside it.
std::string scratch_words(const Outcome& outcome) {
  if (!outcome.scratch_as_recorded) return whole_bytes(outcome.peak.bytes - outcome.without_scratch.bytes) + " of it";
  if (*outcome.scratch_as_recorded < 0.5) return "+ ?";
  return fmt::format("+ 0 to {}", whole_bytes(*outcome.scratch_as_recorded));
}

std::string scenarios_table(const ForecastShown& shown, const Terminal& terminal) {
  if (shown.answer.scenarios.empty()) return "";
  const Outcome& plain = shown.answer.plain;
  const bool convolves = plain.without_scratch.bytes > 0;
  std::vector<Column> columns = {{"estimate"}, {"peak", Align::right}};
  if (convolves) columns.push_back({"cuDNN's", Align::right});
  columns.push_back({"saves", Align::right});
  columns.push_back({""});
  Table table(columns);
  bool not_known = false;
  for (const Outcome& outcome : shown.answer.scenarios) {
    not_known = not_known || outcome.scratch_as_recorded;
    const forecast::PeakRange& before = outcome.scratch_as_recorded ? plain.without_scratch : plain.peak;
    std::string fit = fits_phrase(outcome.fits);
    for (const LargestSize& largest : outcome.largest) fit += "; " + largest_words(shown, largest);
    std::vector<std::string> cells = {outcome.name + (outcome.unread ? " *" : ""), amount_words(outcome.peak)};
    if (convolves) cells.push_back(scratch_words(outcome));
    cells.push_back(signed_bytes(std::llround(before.bytes - outcome.peak.bytes)));
    cells.push_back(fit);
    table.row(cells);
  }
  std::string note;
  if (not_known) {
    note =
        "What cuDNN works in is not known for convolutions in another type: 'peak' and 'saves' are without it, and "
        "'+ 0 to' ends with what it would be as in float32.\n";
  }
  const bool unread = std::ranges::any_of(shown.answer.scenarios, &Outcome::unread);
  return fmt::format("\nwhat if{}\n", unread ? "  (* larger error: files could not be read, see above)" : "") +
         table.text(terminal) + note + unknown_types(shown);
}

}  // namespace

std::string growth_phrase(const forecast::Powers& powers, const std::vector<Size>& sizes) {
  std::string words;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (powers[i] == 0) continue;
    words += (words.empty() ? "with " : " x ") + sizes[i].name;
    if (powers[i] > 1) words += fmt::format("^{}", powers[i]);
  }
  return words.empty() ? "constant" : words;
}

std::string unread_note(const forecast::Answer& answer) {
  std::vector<std::string> wider;
  if (answer.plain.unread) wider.emplace_back("the peak");
  for (const Outcome& outcome : answer.scenarios) {
    if (outcome.unread) wider.push_back("'" + outcome.name + "'");
  }
  return unread_phrase(answer.unread, fmt::format("the error of {} is larger than it needs to be", listed(wider)));
}

std::string forecast_text(const ForecastShown& shown, size_t top, const Terminal& terminal) {
  std::string unread = unread_note(shown.answer);
  if (!unread.empty()) unread = terminal.styled(Style::warning, wrap(unread, terminal.width, 2)) + "\n";
  return head(shown) + unread + inputs_line(shown) + others_lines(shown) + notes(shown) + "\n" +
         category_table(shown).text(terminal) + sites_table(shown, top, terminal) +
         unexplained_table(shown, top, terminal) + scenarios_table(shown, terminal);
}

}  // namespace tensorscope::text
