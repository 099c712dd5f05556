// SPDX-License-Identifier: Apache-2.0
// Without a collector thread, so that the file is in this thread's own descriptor table.
#include "collector/settings_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {
namespace {

// Numbers of open descriptors whose file has the name by which others look for it.
std::vector<int> settings_files() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
    if (file.find(rules::kSettingsName) != std::string::npos) found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

std::string content(int file) {
  char bytes[256];
  const ssize_t length = pread(file, bytes, sizeof bytes, 0);
  return {bytes, size_t(length > 0 ? length : 0)};
}

TEST(SettingsFile, IsThereForSettingsAloneAndAgainInACollectorThatBeginsLater) {
  keep_settings(nullptr);
  keep_settings("");
  open_settings_file();
  EXPECT_TRUE(settings_files().empty());

  const std::string texts = std::string("TENSORSCOPE_DIR=/data") + '\0' + "TENSORSCOPE_RECORD=1" + '\0';
  {
    const std::string given = texts + '\0';
    keep_settings(given.c_str());
  }
  EXPECT_TRUE(settings_files().empty());  // the collector makes the file, and nobody waits for it
  open_settings_file();
  std::vector<int> files = settings_files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(content(files[0]), texts);
  EXPECT_EQ(fcntl(files[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

  close(files[0]);  // the table of a collector that has ended
  open_settings_file();
  files = settings_files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(content(files[0]), texts);  // a copy: the text that was given is gone
  close(files[0]);
}

}  // namespace
}  // namespace tensorscope::collector
