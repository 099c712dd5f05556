// SPDX-License-Identifier: Apache-2.0
// Reads the dumps of a job, several at a time, and keeps of each what RankDump has.
#pragma once

#include <string>
#include <vector>

#include "ranks/rank_dump.h"

namespace tensorscope::analyzer {

struct ReadRanks {
  std::vector<RankDump> dumps;          // in the order of the paths
  std::vector<std::string> unreadable;  // a sentence for each file that is no dump
};

// Files as they are; of a folder every .tscope file in it and below, by name. Throws BadInput for what does not exist
// and for a folder without a dump.
std::vector<std::string> dump_files(const std::vector<std::string>& files_and_folders);

// `threads`: how many dumps are open at a time. Throws BadFilter.
ReadRanks read_ranks(const std::vector<std::string>& paths, const Filter& filter, const SymbolOptions& symbols,
                     size_t threads, NamePool& names);

}  // namespace tensorscope::analyzer
