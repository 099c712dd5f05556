// SPDX-License-Identifier: Apache-2.0
// What each allocation site had alive at moments of a recording, and what it allocated in between.
#pragma once

#include <cstdint>
#include <vector>

#include "dump/device.h"
#include "recording/recording_file.h"

namespace tensorscope::html {

// Of one device. The recording's time is in equal parts. Moment 0 is its begin; part p has the moments 2p + 1, when the
// most was live in it, and 2p + 2, its end. Of moment m, change_end[m - 1] to change_end[m] - 1 are the sites whose
// bytes are others than at the moment before.
struct StateOverTime {
  analyzer::Device device;
  std::vector<uint64_t> change_end, change_site, change_bytes;
  std::vector<uint64_t> highest, highest_ns;
  // What was allocated in part p: made_end[p - 1] to made_end[p] - 1.
  std::vector<uint64_t> made_end, made_site, made_bytes, made_count;
};

// One look at the file.
std::vector<StateOverTime> state_over_time(const analyzer::RecordingFile& file, uint64_t begin_ns, uint64_t end_ns,
                                           size_t parts);

}  // namespace tensorscope::html
