// SPDX-License-Identifier: Apache-2.0
// A moment of a recording, as a user names it behind the file: FILE@peak, @12.5s, @step=40, @step=40:peak, @oom, @end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dump/dump.h"
#include "recording/recording_file.h"

namespace tensorscope::analyzer {

struct MomentName {
  enum class What : uint8_t { end, peak, time, step, step_peak, failure } what = What::end;
  uint64_t ns = 0;  // after the start of the process
  uint64_t step = 0;
};
// Of what follows the '@'; none: it is not a moment.
std::optional<MomentName> read_moment_name(std::string_view text);

struct Moment {
  uint64_t events = 0;  // so many have happened
  uint64_t ns = 0;      // monotonic
};
// Throws BadInput where the recording has no such moment, with what it has.
Moment find_moment(const RecordingFile& file, const MomentName& name);

// The dump that would have been written at that moment, as far as a recording knows.
Dump dump_at(const RecordingFile& file, const std::string& path, const Moment& moment);

// The file of a moment's name: FILE of FILE@peak.
std::string recording_path(const std::string& moment);

// A dump, or a moment of a recording: `path` may end in '@' and the moment's name; a recording without one is taken at
// its end. Throws BadInput.
Dump read_dump_or_moment(const std::string& path);

}  // namespace tensorscope::analyzer
