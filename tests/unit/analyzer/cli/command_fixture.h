// SPDX-License-Identifier: Apache-2.0
// Runs whole commands in the test's process, on synthetic dumps in a directory of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "sample_dumps.h"

namespace tensorscope::testing {

struct Result {
  int status = -1;
  std::string out, err;
};

inline Result run(std::vector<std::string> arguments, int width = 0, bool colour = false) {
  cli::Invocation invocation;
  text::Terminal terminal{.width = width, .colour = colour, .progress = false};
  int status = cli::run_command_line(std::move(arguments), &terminal, invocation);
  return {status, invocation.out, invocation.err};
}

// The working directory is a fresh one while the test runs, so that paths in outputs are short and the same everywhere.
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = std::filesystem::current_path();
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorscope-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    std::filesystem::current_path(directory_);
    setenv("XDG_CACHE_HOME", (directory_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }

  std::filesystem::path directory_;

 private:
  std::filesystem::path before_;
};

}  // namespace tensorscope::testing
