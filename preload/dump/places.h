// SPDX-License-Identifier: Apache-2.0
// Where something was made, in one line as the analyzer says it (tensorscope/rules/headline.h).
//
// Context: collector. No memory is needed but for demangling; where there is none for that, names stay mangled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/snapshot_view.h"
#include "support/ids.h"

namespace tensorscope::dump {

inline constexpr size_t kPlaceBytes = 256;

// The frame that stands for a stack: of the Python trie or of the native one; both 0: there is no stack.
struct Headline {
  StackId python = 0;
  StackId native = 0;
};

Headline headline(const live::SiteCounters& site);

// "train.py:57 train_step", "libmodel.so Trainer::step", "(no stack)". `directory` is left out before file names.
void write_place(const Headline& headline, const char* directory, char (&out)[kPlaceBytes]);

// Sites of one line of Python have one key; of native stacks each has its own, since to name them takes long.
uint64_t place_key(const live::SiteCounters& site);

}  // namespace tensorscope::dump
