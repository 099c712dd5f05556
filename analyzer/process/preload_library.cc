// SPDX-License-Identifier: Apache-2.0
#include "process/preload_library.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include "process/elf_program.h"
#include "support/error.h"

namespace tensorscope::process {

namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libtensorscope.so";

fs::path own_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

// Where pip puts a package whose scripts are in `bin`: the newest Python first.
std::vector<fs::path> packages_of(const fs::path& bin) {
  std::vector<fs::path> places = {bin / "../tensorscope"};  // pip install --target
  for (const char* lib : {"../lib", "../lib64", "../local/lib"}) {
    std::vector<fs::path> pythons;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(bin / lib, ignored)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("python") || name.starts_with("pypy")) pythons.push_back(entry.path());
    }
    std::sort(pythons.rbegin(), pythons.rend());
    for (const fs::path& python : pythons) {
      for (const char* packages : {"site-packages", "dist-packages"})
        places.push_back(python / packages / "tensorscope");
    }
  }
  return places;
}

fs::path find_beside(const fs::path& self) {
  // A build tree, an installation, a folder with both files, Python packages.
  std::vector<fs::path> places = {self / "../preload", self / ("../" TENSORSCOPE_LIBDIR), self / "../lib", self};
  std::ranges::copy(packages_of(self), std::back_inserter(places));
  std::string others;
  for (const fs::path& place : places) {
    const fs::path candidate = place / kLibrary;
    std::error_code ignored;
    if (!fs::is_regular_file(candidate, ignored)) continue;
    const std::string version = library_version(candidate).value_or("unknown");
    if (version == TENSORSCOPE_VERSION) return candidate;
    others +=
        fmt::format("{}{} (version {})", others.empty() ? "" : ", ", candidate.lexically_normal().string(), version);
  }
  if (others.empty()) {
    throw analyzer::BadInput(fmt::format("libtensorscope.so not found next to {}; set TENSORSCOPE_LIB=FILE.",
                                         (self / "tensorscope").string()));
  }
  throw analyzer::BadInput(fmt::format("no libtensorscope.so of version " TENSORSCOPE_VERSION
                                       ", which {} is; found {}. Install both again, or set TENSORSCOPE_LIB=FILE.",
                                       (self / "tensorscope").string(), others));
}

}  // namespace

std::string find_preload_library() {
  std::error_code ignored;
  fs::path found;
  if (const char* chosen = getenv("TENSORSCOPE_LIB"); chosen != nullptr && chosen[0] != 0) {
    if (!fs::is_regular_file(chosen, ignored)) {
      throw analyzer::BadInput(fmt::format("TENSORSCOPE_LIB={}: no such file.", chosen));
    }
    found = chosen;
  } else {
    found = find_beside(own_folder());
  }
  std::string path = fs::canonical(found, ignored).string();
  if (path.find_first_of(": ") != std::string::npos) {
    throw analyzer::BadInput(fmt::format("LD_PRELOAD cannot name a file with a space or colon in its path: {}", path));
  }
  return path;
}

std::string own_environment() {
  const fs::path bin = own_folder();
  std::error_code ignored;
  // Called by a link elsewhere (pipx, uv tool): that environment is the tool's, not the program's.
  const auto* called = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (called == nullptr || !fs::equivalent(fs::absolute(called, ignored).parent_path(), bin, ignored)) return "";
  if (!fs::exists(bin / "../pyvenv.cfg", ignored) && !fs::exists(bin / "../conda-meta", ignored)) return "";
  const char* path = getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && fs::equivalent(folder, bin, ignored)) return "";
  }
  return bin;
}

}  // namespace tensorscope::process
