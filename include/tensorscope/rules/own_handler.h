// SPDX-License-Identifier: Apache-2.0
// How another process knows that the program has its own handler for the signal that requests a dump: by the
// name of the collector thread, and in a dump by the detail of the coverage record of the signal.
//
// Context: any.
#pragma once

namespace tensorscope::rules {

// Names of threads have at most 15 characters.
inline constexpr char kCollectorName[] = "tensorscope";
inline constexpr char kCollectorNameOwnHandler[] = "tensorscope+own";
inline constexpr char kProgramsSideName[] = "tensorscope-out";
inline constexpr char kOwnHandlerRuns[] = "the program has a handler of its own for this signal, which runs too";

}  // namespace tensorscope::rules
