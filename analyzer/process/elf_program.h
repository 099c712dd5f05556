// SPDX-License-Identifier: Apache-2.0
// What a program file is, as far as a preload depends on it: read before `run` starts it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::process {

// The file that execvp() would take for `name`; empty where there is none. `first`: a folder that is looked in before
// those of PATH; may be empty.
std::string find_program(const std::string& name, const std::string& first = "");

enum class PreloadEffect : unsigned char {
  loaded,
  programs_it_starts,  // statically linked: this program ignores LD_PRELOAD, and hands it on
  removed,             // more rights than the user: the system takes LD_PRELOAD out of its environment
};

struct PreloadOutlook {
  PreloadEffect effect = PreloadEffect::loaded;
  std::string file;          // the one that ignores it: the program, or the interpreter of a script
  std::string reason;        // "is statically linked"
  std::string needed_first;  // AddressSanitizer's runtime, which must stand before the preload; empty: none
};

// Whether a list of libraries begins with AddressSanitizer's runtime (GCC's name or clang's). It ends a program in
// which another library stands before it.
bool is_address_sanitizer(std::string_view libraries);

// What LD_PRELOAD does in this command. Scripts are followed to their interpreters (#!, also by env).
PreloadOutlook preload_outlook(const std::vector<std::string>& command, const std::string& file);

// The version that a libtensorscope.so was built as; nothing where the file says none.
std::optional<std::string> library_version(const std::string& file);

}  // namespace tensorscope::process
