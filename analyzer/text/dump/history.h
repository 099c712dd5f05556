// SPDX-License-Identifier: Apache-2.0
// The time before a dump in words: whether memory grew, its curve, and what the highest peak was made of.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "memory/opened_dump.h"
#include "memory/peak_places.h"
#include "text/terminal.h"

namespace tensorscope::text {

// "cpu memory grew by 52.0 KiB a step from step 40 to 390: 36.1 MiB to 54.3 MiB at the end of a step". "" without a
// history. `only`: of this device; else of the one that grew most, or had the most.
std::string growth_sentence(const analyzer::Dump& dump, std::optional<analyzer::Device> only = std::nullopt);

// Whether enough steps or seconds were seen to say so.
bool growth_is_known(const analyzer::Dump& dump);

// A line for each device that had something to speak of: the most live bytes over the run, from left to right. ""
// without a history of at least a few moments.
std::string history_curve(const analyzer::Dump& dump, const Terminal& terminal,
                          std::optional<analyzer::Device> only = std::nullopt);

// "26.2 MiB in step 35, 1.2 s before this dump"; "" where it was not kept.
std::string peak_line(const analyzer::Dump& dump);

// Whether so little of the peak is alive that a reader wants to know of the peak.
bool nearly_all_freed(const analyzer::OpenedDump& opened);

// "Everything was freed before this dump. Peak: 36.0 MiB in step 12; largest allocation site then: ..."
std::string freed_answer(const analyzer::OpenedDump& opened, const analyzer::PeakPlaces& places);
// "36.0 MiB live at the highest peak so far, in step 12; largest allocation site: ..."
std::string peak_answer(const analyzer::Dump& dump, const analyzer::PeakPlaces& places);

// When it was kept, and how much less it is than the peak, by device. As sentences, cleaned and wrapped.
std::string peak_moment(const analyzer::Dump& dump, const Terminal& terminal);
// "By category: saved activation ~ 20.1 MiB, not known 1.0 MiB."
std::string peak_categories_line(const analyzer::PeakPlaces& places, const Terminal& terminal);
// The rows, `top` at most (0: all), and what is in none of them. They add up to the peak.
std::string peak_table(analyzer::OpenedDump& opened, const analyzer::PeakPlaces& places, size_t top,
                       const Terminal& terminal);

}  // namespace tensorscope::text
