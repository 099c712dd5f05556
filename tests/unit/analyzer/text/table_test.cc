// SPDX-License-Identifier: Apache-2.0
#include "text/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace tensorscope::text {
namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

Table sample() {
  Table table({{.title = "bytes", .align = Align::right},
               {.title = "unused"},
               {.title = "where", .least = 10, .cut = Cut::start},
               {.title = "", .least = 6}});
  table.row({"1 B", "", "some/long/path/train.py:57", "loss.append(x)"});
  table.row({"100 B", "", "b.py:1", ""});
  table.note(2, "in model.layers.*");
  return table;
}

TEST(Table, AlignsAndLeavesEmptyColumnsOut) {
  EXPECT_EQ(sample().text({}),
            "  bytes  where\n"
            "    1 B  some/long/path/train.py:57  loss.append(x)\n"
            "  100 B  b.py:1\n"
            "         in model.layers.*\n");
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  for (int width : {40, 41, 50, 60}) {
    for (const std::string& line : lines(sample().text({.width = width}))) EXPECT_LE(columns(line), width) << line;
  }
  // The last flexible column gives way first, the numbers never.
  std::string text = sample().text({.width = 45});
  EXPECT_THAT(text, testing::HasSubstr("100 B"));
  EXPECT_THAT(text, testing::HasSubstr("loss..."));
  EXPECT_THAT(text, testing::HasSubstr("train.py:57"));
}

TEST(Table, NarrowTerminalsCutBeyondTheLeastWidth) {
  Table table({{.title = "", .least = 30}, {.title = "", .least = 30}});
  table.row({std::string(50, 'a'), std::string(50, 'b')});
  const std::string text = table.text({.width = 40}, false);
  EXPECT_LE(columns(lines(text)[0]), 40);
  EXPECT_THAT(text, testing::HasSubstr("bbb")) << text;
}

TEST(Table, ASpillingCellWidensNoColumn) {
  Table table({{.title = "a"}, {.title = "b", .least = 4, .spills = true}, {.title = "c"}});
  table.row({"x", "f", "source"});
  table.row({"y", "a long native name"});
  EXPECT_EQ(table.text({}, false), "  x  f  source\n  y  a long native name\n");
  EXPECT_EQ(table.text({.width = 14}, false), "  x  f  source\n  y  a long...\n");
  Table alone({{.title = "a"}, {.title = "b", .spills = true}, {.title = "c"}});
  alone.row({"y", "a long native name"});
  EXPECT_EQ(alone.text({}, false), "  y  a long native name\n");
}

TEST(Table, ColourDoesNotMoveColumns) {
  std::string plain = sample().text({}), coloured;
  Table table({{.title = "a"}, {.title = "b"}});
  table.row({"x", "y"}, Style::bad);
  EXPECT_EQ(table.text({.colour = true}, false), "  \033[31mx\033[0m  \033[31my\033[0m\n");
  EXPECT_EQ(plain.find('\033'), std::string::npos);
}

TEST(Table, CellsAndNotesAreCleaned) {
  Table table({{.title = "a"}});
  table.row({"x\033[2J\ny"});
  table.note(0, "n\033[2J");
  EXPECT_EQ(lines(table.text({})).size(), 3u);
  EXPECT_EQ(table.text({}).find('\033'), std::string::npos);
}

TEST(Table, ColumnsThatMatterLessLeaveBeforeOthersAreCut) {
  Table table({{.title = "id"},
               {.title = "age", .leaves = 1},
               {.title = "name", .least = 4, .wish = 12},
               {.title = "kind", .leaves = 2}},
              0);
  table.row({"1", "12m", "a long name", "parameter"});
  EXPECT_EQ(table.text({.width = 40}), "id  age  name         kind\n1   12m  a long name  parameter\n");
  EXPECT_EQ(table.text({.width = 28}), "id  name         kind\n1   a long name  parameter\n");
  EXPECT_EQ(table.text({.width = 16}), "id  name\n1   a long name\n");
  EXPECT_EQ(table.text({.width = 11}), "id  name\n1   a lo...\n");
}

}  // namespace
}  // namespace tensorscope::text
