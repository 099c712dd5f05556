// What a program will need at other sizes: the peak with its error, what it consists of, what fits, and what is the
// first to hit the limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/replay.h"
#include "forecast/samples.h"
#include "forecast/sizes.h"
#include "forecast/whatif/scenario.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::forecast {

struct Question {
  std::vector<Size> told;                            // --vary; empty: found from shapes
  std::vector<std::pair<std::string, int64_t>> set;  // what is asked for; a size that is not set is as in the base
  std::optional<uint64_t> limit;                     // bytes of the device
  std::vector<std::pair<std::string, Changes>> scenarios;  // with what to call them
};

// Bytes, and how far they may be off.
struct Amount {
  double bytes = 0, spread = 0;
};

// A peak, and how much more and less it may be. What may be missing or may come besides goes one way only; where both
// are alike they are equal.
struct PeakRange {
  double bytes = 0, more = 0, less = 0;
  double most() const { return bytes + more; }
  double least() const { return bytes - less; }
};

struct CategoryRow {
  Category category = Category::unknown;
  std::vector<uint64_t> seen;  // at the peak of each input
  Amount predicted;            // at the predicted peak
  Powers powers{};             // the highest of what it consists of
};

// Blocks of one line, of one module and category.
struct SiteRow {
  uint32_t site = 0;     // of the base
  uint32_t forward = 0;  // in the backward of this one
  std::string where, modules;
  Category category = Category::unknown;
  uint64_t seen = 0;  // of the base, at its peak
  Amount predicted;
  Powers powers{};
  Basis basis = Basis::constant;  // the worst of what it consists of
};

using oom::Fits;

struct LargestSize {
  size_t size = 0;  // index
  int64_t value = 0;
  bool none = false;  // not even 1 fits
  bool more = false;  // more than any that was tried
  // Of one more: the allocation that passes the limit.
  std::string first_over;
  double first_over_bytes = 0;
};

// What is alive at the peak and of which a what-if does not know the type.
struct UnknownType {
  std::string where, modules;
  double bytes = 0;  // up and down
};

struct Outcome {
  std::string name;  // "" as it is
  PeakRange peak;
  PeakRange without_scratch;  // the same without what cuDNN works in; 0: it runs no convolutions
  // Its convolutions have another type than in the base, so what cuDNN works in is not known: the peak is without it,
  // and would be so much higher with what it was in the type of the base.
  std::optional<double> scratch_as_recorded;
  std::vector<UnknownType> unknown_types;  // the most first
  bool unread = false;                     // it depends on files that could not be read
  PeakRange reserved;                      // by the device's allocator; 0: not known
  Fits fits = Fits::unknown;
  std::vector<LargestSize> largest;  // of each size, the others as asked for; empty without a limit
};

// An input against what the growths say of it, from the base.
struct Check {
  size_t sample = 0;
  double predicted = 0;
};

struct Answer {
  std::vector<Size> sizes;
  size_t base = 0;
  SizeValues target;
  Outcome plain;
  std::vector<Outcome> scenarios;
  std::vector<CategoryRow> categories;  // by predicted bytes, most first
  std::vector<SiteRow> sites;           // likewise
  std::vector<SiteRow> unexplained;     // those that no shape explains and that vary or have no counterpart
  std::vector<Check> checks;
  double matched = 1;       // the part of the base's peak that has a counterpart in the others
  UnreadFiles unread;       // that the answer lacks; empty where it makes no difference
  bool peak_moves = false;  // it is reached at another moment than in the base
};

// Throws BadInput.
Answer answer(const std::vector<Sample>& samples, const Question& question);

}  // namespace tensorscope::analyzer::forecast
