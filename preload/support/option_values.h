// SPDX-License-Identifier: Apache-2.0
// Option values as text: one pair of functions for each type that options.def uses.
//
// Context: activation. No malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/option_types.h"
#include "support/status.h"

namespace tensorscope {

inline constexpr size_t kOptionTextBytes = 64;

// Done, and `out` set; else why() is what the value should have been ("on or off"), and `out` is as it was.
Status parse_option_value(std::string_view text, bool& out);
Status parse_option_value(std::string_view text, int& signal_out);  // 0: none
Status parse_option_value(std::string_view text, ExitDump& out);
Status parse_option_value(std::string_view text, ChildDumps& out);
Status parse_option_value(std::string_view text, CuptiMode& out);
Status parse_option_value(std::string_view text, FindNanMode& out);
Status parse_option_value(std::string_view text, const char*& out);  // copied
Status parse_option_value(std::string_view text, unsigned& milliseconds_out);
Status parse_option_value(std::string_view text, uint16_t& count_out);
Status parse_option_value(std::string_view text, uint64_t& bytes_out);
Status parse_option_value(std::string_view text, NativeStacks& out);
Status parse_option_value(std::string_view text, RecordWindow& out);
Status parse_option_value(std::string_view text, ShareOrSize& out);
Status parse_option_value(std::string_view text, ShareOfLimit& out);

// The value as it may be given. `buffer` has kOptionTextBytes; the result is in it or lives as long as the value.
const char* format_option_value(bool value, char* buffer);
const char* format_option_value(int signal, char* buffer);
const char* format_option_value(ExitDump value, char* buffer);
const char* format_option_value(ChildDumps value, char* buffer);
const char* format_option_value(CuptiMode value, char* buffer);
const char* format_option_value(FindNanMode value, char* buffer);
const char* format_option_value(const char* value, char* buffer);
const char* format_option_value(unsigned milliseconds, char* buffer);
const char* format_option_value(uint16_t count, char* buffer);
const char* format_option_value(uint64_t bytes, char* buffer);
const char* format_option_value(const NativeStacks& value, char* buffer);
const char* format_option_value(const RecordWindow& value, char* buffer);
const char* format_option_value(const ShareOrSize& value, char* buffer);

}  // namespace tensorscope
