// SPDX-License-Identifier: Apache-2.0
// Which lines of which source files the stacks of a dump need: those of the program's own frames first, the largest
// sites first among them, then those of libraries and of torch.
//
// Context: collector, after phase 1. Allocates: inside run_or_abandon_on_oom().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "live/snapshot_view.h"

namespace tensorscope::dump {

struct WantedLines {
  struct File {
    std::string path;  // as the code objects name it
    std::vector<uint32_t> lines;
  };
  std::vector<File> files;  // the most wanted first; lines ascending
  bool all = true;          // false: a limit was reached, and some lines are not among them
};

struct WantedLimits {
  size_t files = 256;
  size_t lines = 16384;
};

// `more_sites` are sites besides those of the view with something alive: of a failure, of what CUPTI reported.
WantedLines wanted_lines(const live::SnapshotView& view, const std::vector<SiteId>& more_sites,
                         const WantedLimits& limits = {});

}  // namespace tensorscope::dump
