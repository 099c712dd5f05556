// SPDX-License-Identifier: Apache-2.0
// The list of chunk types, what the reader does with each, and what docs/dump-format.md says of them.
#include "tensorscope/dump_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "dump/chunk_reader.h"
#include "dump/reader.h"
#include "support/dump_builder.h"

namespace tensorscope::analyzer {
namespace {

using testing::Chunk;
using ::testing::Contains;
using testing::DumpBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string letters_of(uint32_t type) {
  std::string letters;
  for (int shift = 0; shift < 32; shift += 8) letters += char(type >> shift);
  return letters;
}

class DumpFormatPage : public ::testing::Test {
 protected:
  DumpFormatPage() {
    std::ifstream file(DUMP_FORMAT_PAGE);
    std::stringstream text;
    text << file.rdbuf();
    text_ = text.str();
  }
  // What the page says in the first place that matches: the pattern's group.
  std::string said(const std::string& pattern) const {
    std::smatch found;
    return std::regex_search(text_, found, std::regex(pattern)) ? found[1].str() : "nothing";
  }
  std::string text_;
};

TEST_F(DumpFormatPage, HasTheVersionOfTheHeader) {
  EXPECT_EQ(said("major version, now ([0-9]+)"), std::to_string(format::kFormatMajor));
  EXPECT_EQ(said("minor version, now ([0-9]+)"), std::to_string(format::kFormatMinor));
}

TEST_F(DumpFormatPage, ListsEveryChunkTypeAndNoOther) {
  std::set<std::string> listed, known;
  const std::regex row("\n\\| `(....)` \\| `[A-Za-z]+` \\|");
  for (std::sregex_iterator at(text_.begin(), text_.end(), row), end; at != end; ++at) listed.insert((*at)[1]);
  for (const format::ChunkKind& kind : format::kChunkKinds) known.insert(letters_of(kind.type));
  EXPECT_EQ(listed, known);
}

TEST(ChunkKinds, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const format::ChunkKind& kind : format::kChunkKinds) {
    EXPECT_THAT(chunk_name(kind.type), Not(HasSubstr("unknown"))) << letters_of(kind.type);
    EXPECT_TRUE(names.insert(chunk_name(kind.type)).second) << kind.name;
  }
  EXPECT_EQ(chunk_name(format::chunk_type("ABCD")), "unknown (ABCD)");
}

// A reader that skips a type of its own version would not notice what is wrong with it.
TEST(ChunkKinds, EachIsReadAndCalledByItsName) {
  for (const format::ChunkKind& kind : format::kChunkKinds) {
    if (kind.type == format::kProcess) continue;
    std::vector<Chunk> chunks = {DumpBuilder().chunks()[0], {kind.type, "no FlatBuffer"}};
    const std::string bytes = DumpBuilder::frame(chunks);
    const Dump dump = read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
    EXPECT_THAT(dump.problems, Contains(HasSubstr("the '" + std::string(kind.name) + "' chunk"))) << kind.name;
  }
}

}  // namespace
}  // namespace tensorscope::analyzer
