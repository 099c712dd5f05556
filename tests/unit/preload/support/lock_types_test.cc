// SPDX-License-Identifier: Apache-2.0
// Every lock of the preload is of a type that a forked child finds free (support/locks/lock_word.h): no other is in its
// sources. What waits by itself, or walks over the loaded objects, has one file each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace {

struct Forbidden {
  const char* pattern;
  const char* only_in;  // beside these files; "": nowhere
};
const Forbidden kForbidden[] = {
    {R"(\bpthread_(mutex|cond|rwlock|spin|barrier|once)\w*\b)", ""},
    {R"(\bsem_(init|open|wait|post|t)\b)", ""},
    {R"(\b(mtx|cnd)_\w+\b)", ""},
    {R"(\bstd::\w*(mutex|lock_guard|unique_lock|scoped_lock|condition_variable|once_flag|call_once|semaphore|latch)\b)",
     ""},
    {R"(\batomic_flag\b)", ""},
    {R"(\bflock\w*\()", "dump/disk_limit.cc"},  // of a folder, only ever tried; its descriptor is the collector's
    {R"(\bSYS_futex\b)",
     "support/locks/futex.h support/private_descriptor_table.cc"},  // the latter waits for the end of a thread
    {R"(\bdl_iterate_phdr\()", "support/locks/loader_walk.cc"},
    {R"(\.exchange\((true|1)\b[^;]*memory_order_acquire\))", ""},  // a flag that is taken and given back is a SpinLock
};

bool is_allowed(const Forbidden& forbidden, const std::string& file) {
  return (" " + std::string(forbidden.only_in) + " ").find(" " + file + " ") != std::string::npos;
}

TEST(LockTypes, AreOurOwn) {
  const std::filesystem::path root = getenv("PRELOAD_SOURCES");
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().lexically_relative(root);
    if (!name.ends_with(".cc") && !name.ends_with(".h")) continue;
    ++files;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
    for (const Forbidden& forbidden : kForbidden) {
      std::smatch match;
      if (!is_allowed(forbidden, name) && std::regex_search(source, match, std::regex(forbidden.pattern))) {
        ADD_FAILURE() << "preload/" << name << ": " << match.str();
      }
    }
  }
  EXPECT_GT(files, 100u);
}

}  // namespace
