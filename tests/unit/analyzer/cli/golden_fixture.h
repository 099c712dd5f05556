// SPDX-License-Identifier: Apache-2.0
// Compares whole commands with tests/golden/*.txt, word for word. After a change that is meant,
// TENSORSCOPE_UPDATE_GOLDEN=1 meson test -C build commands writes the files anew.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "command_fixture.h"

namespace tensorscope::testing {

class GoldenFixture : public CommandTest {
 protected:
  // Output, errors and status of one command, at the width of a common terminal.
  void expect(const std::string& name, std::vector<std::string> arguments, int width = 120) {
    std::string shown = "$ tensorscope";
    for (const std::string& word : arguments) shown += " " + word;
    Result result = run(std::move(arguments), width);
    std::string text = shown + "\n" + result.out;
    if (!result.err.empty()) text += "-- standard error\n" + result.err;
    text += "-- status " + std::to_string(result.status) + "\n";

    for (size_t at; (at = text.find(directory_.string())) != std::string::npos;) {
      text.replace(at, directory_.string().size(), "/home/user");
    }

    std::string path = std::string(GOLDEN_DIR) + "/" + name + ".txt";
    if (const char* update = getenv("TENSORSCOPE_UPDATE_GOLDEN"); update != nullptr && *update == '1') {
      std::ofstream(path) << text;
      return;
    }
    std::ifstream file(path);
    std::ostringstream golden;
    golden << file.rdbuf();
    ASSERT_TRUE(file.good()) << path << " is not there";
    EXPECT_EQ(text, golden.str()) << path;
  }
};

}  // namespace tensorscope::testing
