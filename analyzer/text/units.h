// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, as every verb prints them, and the sizes and durations that options take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensorscope::text {

// From now on bytes() and signed_bytes() give every digit: "1,048,576 B". For the whole program; it starts with false.
void show_exact_bytes(bool exact);
std::string bytes(uint64_t value);                           // "512 B", "812.0 MiB", "1.42 GiB"
std::string signed_bytes(int64_t value);                     // "+128.0 MiB", "-4.1 MiB", "0 B"
std::string count(uint64_t value);                           // "1,043"
std::string signed_count(int64_t value);                     // "+32", "0"
std::string percent(uint64_t part, uint64_t whole);          // "36 %", "<1 %", "" where there is no whole
std::string counted(uint64_t value, std::string_view noun);  // "1 tensor", "1,043 tensors"

std::string duration(uint64_t nanoseconds);  // "41 ms", "4.2 s", "12m03s", "2h05m", "3d04h"
std::string age(uint64_t nanoseconds);       // short, for columns: "4s", "12m", "2h", "3d"

// "10M", "1.5GiB", "4096": a bare letter and KiB, MiB ... are powers of 1024; KB, MB ... powers of 1000.
std::optional<uint64_t> parse_size(std::string_view text);
// "90s", "5m", "2h", "1d", "250ms"; a bare number is seconds. Nanoseconds.
std::optional<uint64_t> parse_duration(std::string_view text);

}  // namespace tensorscope::text
