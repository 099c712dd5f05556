#include "cli/preload_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tensorscope::cli {

namespace fs = std::filesystem;

std::optional<std::string> find_preload_library(std::string& problem) {
  std::error_code ignored;
  std::optional<fs::path> found;
  if (const char* chosen = getenv("TENSORSCOPE_LIB"); chosen != nullptr && chosen[0] != 0) {
    if (!fs::is_regular_file(chosen, ignored)) {
      problem = fmt::format("TENSORSCOPE_LIB={}: no such file.", chosen);
      return std::nullopt;
    }
    found = chosen;
  } else {
    fs::path self = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    // A build tree, an installation, and a folder with both files.
    for (const char* place : {"../preload", "../" TENSORSCOPE_LIBDIR, "../lib", "."}) {
      fs::path candidate = self / place / "libtensorscope.so";
      if (!found && fs::is_regular_file(candidate, ignored)) found = candidate;
    }
    if (!found) {
      problem = fmt::format("libtensorscope.so not found next to {}; set TENSORSCOPE_LIB=FILE.",
                            (self / "tensorscope").string());
      return std::nullopt;
    }
  }
  std::string path = fs::canonical(*found, ignored).string();
  if (path.find_first_of(": ") != std::string::npos) {
    problem = fmt::format("LD_PRELOAD cannot name a file with a space or colon in its path: {}", path);
    return std::nullopt;
  }
  return path;
}

}  // namespace tensorscope::cli
