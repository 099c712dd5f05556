// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_line_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace tensorscope::stacks {
namespace {

struct Run {
  int32_t offset;  // from here to the next run's offset
  int32_t line;    // 0: none
};
struct Example {
  LineFormat format;
  std::span<const uint8_t> table;
  std::span<const Run> runs;
  int32_t first_line;
  int32_t end;  // bytes of bytecode
};

// Tables of one function (a multi-line call, a comprehension, try/finally, a gap of 140 lines) as four interpreters
// compiled it, with the runs of lines that the same interpreters report: co_lines(), in 3.8 PyCode_Addr2Line.

const uint8_t kTable38[] = {0, 1,  2,  2,   2, 254, 4,  3,   2,  1,  2,  255, 8,  2, 4, 1, 6, 1,
                            2, 1,  2,  255, 2, 255, 10, 3,   14, 0,  10, 2,   12, 1, 4, 1, 2, 127,
                            0, 15, 12, 128, 0, 241, 6,  127, 0,  18, 6,  1,   22, 1, 4, 1, 2, 255};
const Run kRuns38[] = {{0, 3},    {2, 5},    {4, 3},     {8, 6},     {10, 7},    {12, 6},    {20, 8},   {24, 9},
                       {30, 10},  {32, 11},  {34, 10},   {36, 9},    {46, 12},   {70, 14},   {82, 15},  {86, 16},
                       {88, 158}, {100, 15}, {106, 160}, {112, 161}, {134, 162}, {138, 163}, {140, 162}};
const Example kExample38{LineFormat::lnotab, kTable38, kRuns38, 2, 144};

const uint8_t kTable310[] = {2, 1,   2,   2,   4,   254, 2, 3,  2,   1,  8,  255, 4, 2, 6, 1, 2,   1,  2,
                             1, 2,   255, 10,  255, 18,  3, 2,  128, 20, 2,  4,   1, 2, 1, 0, 127, 12, 15,
                             0, 129, 6,   240, 0,   127, 6, 18, 2,   1,  32, 255, 4, 2, 2, 1, 4,   255};
const Run kRuns310[] = {{0, 3},     {2, 5},     {4, 3},     {8, 6},    {10, 7},   {12, 6},    {20, 8},
                        {24, 9},    {30, 10},   {32, 11},   {34, 10},  {36, 9},   {46, 12},   {64, 0},
                        {66, 14},   {86, 15},   {90, 16},   {92, 158}, {104, 15}, {110, 160}, {116, 161},
                        {118, 160}, {150, 162}, {154, 163}, {156, 162}};
const Example kExample310{LineFormat::ranges, kTable310, kRuns310, 2, 160};

const uint8_t kTable311[] = {
    248, 128, 0,   216, 9,   10,  224, 9,   10,  241, 5,   2,   10,  11,  128, 65,  245, 6,   0,   14,  19,  216, 12,
    13,  241, 3,   1,   14,  15,  244, 0,   1,   14,  15,  240, 0,   8,   5,   19,  240, 0,   8,   5,   19,  136, 1,
    240, 4,   6,   9,   19,  240, 2,   2,   17,  31,  240, 0,   2,   17,  31,  216, 27,  28,  216, 27,  28,  240, 3,
    1,   27,  30,  240, 3,   2,   17,  31,  241, 0,   2,   17,  31,  244, 0,   2,   17,  31,  136, 65,  136, 65,  248,
    245, 6,   0,   16,  26,  208, 8,   31,  208, 8,   31,  208, 8,   31,  152, 52,  152, 52,  208, 8,   31,  248, 248,
    248, 224, 12,  13,  144, 17,  137, 70,  136, 65,  136, 65,  248, 136, 65,  144, 17,  137, 70,  136, 65,  136, 65,
    136, 65,  136, 65,  136, 65,  216, 7,   8,   240, 0,   80,  2,   5,   6,   216, 13,  14,  240, 92,  4,   0,   15,
    24,  136, 105, 136, 105, 136, 105, 136, 105, 137, 93,  140, 93,  240, 95,  4,   80,  2,   18,  6,   240, 0,   80,
    2,   18,  6,   240, 0,   80,  2,   11,  6,   240, 98,  4,   0,   10,  11,  240, 0,   1,   5,   17,  136, 97,  216,
    15,  16,  240, 3,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  241,
    0,   1,   5,   17,  244, 0,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,
    17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  248, 248, 248, 240, 0,   1,   5,
    17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  240, 0,   1,   5,   17,  229, 11,  12,  136, 81,  216, 6,
    7,   241, 3,   1,   12,  9,   244, 0,   1,   12,  9,   240, 0,   1,   5,   9};
const Run kRuns311[] = {{0, 0},     {2, 2},     {4, 3},     {6, 5},    {8, 3},     {14, 6},    {26, 7},    {28, 6},
                        {48, 8},    {50, 9},    {54, 10},   {56, 11},  {58, 10},   {60, 9},    {80, 0},    {82, 12},
                        {106, 0},   {112, 14},  {124, 0},   {126, 14}, {144, 15},  {148, 16},  {150, 158}, {174, 15},
                        {180, 160}, {186, 161}, {188, 160}, {222, 0},  {228, 160}, {236, 162}, {250, 163}, {252, 162}};
const Example kExample311{LineFormat::locations, kTable311, kRuns311, 2, 268};

const uint8_t kTable314[] = {
    248, 128, 0,   216, 9,   10,  224, 9,   10,  245, 5,   2,   10,  11,  128, 65,  244, 6,   0,   14,  19,  216, 12,
    13,  246, 3,   1,   14,  15,  136, 1,   240, 4,   6,   9,   19,  224, 27,  28,  216, 27,  28,  241, 3,   1,   27,
    30,  243, 3,   2,   17,  31,  241, 2,   1,   27,  30,  144, 81,  243, 3,   0,   18,  19,  241, 2,   1,   27,  30,
    241, 3,   2,   17,  31,  136, 65,  240, 10,  0,   13,  14,  144, 17,  141, 70,  138, 65,  241, 17,  1,   14,  15,
    247, 18,  0,   8,   9,   216, 8,   11,  136, 81,  240, 92,  4,   0,   9,   12,  141, 105, 139, 93,  240, 95,  4,
    80,  2,   18,  6,   240, 0,   80,  2,   11,  6,   247, 98,  4,   0,   10,  11,  137, 17,  136, 97,  216, 15,  16,
    247, 3,   0,   10,  11,  138, 17,  249, 242, 111, 4,   2,   17,  31,  248, 244, 6,   0,   16,  26,  212, 8,   31,
    153, 52,  208, 8,   31,  251, 224, 12,  13,  144, 17,  141, 70,  137, 65,  250, 247, 100, 4,   0,   10,  11,  143,
    17,  250, 228, 11,  12,  136, 81,  216, 6,   7,   243, 3,   1,   12,  9,   240, 0,   1,   5,   9};
const Run kRuns314[] = {{0, 0},     {2, 2},     {4, 3},   {6, 5},     {8, 3},     {22, 6},    {32, 7},   {34, 6},
                        {50, 8},    {52, 10},   {54, 11}, {56, 10},   {60, 9},    {68, 10},   {74, 9},   {82, 10},
                        {86, 9},    {92, 14},   {114, 6}, {118, 15},  {134, 16},  {138, 158}, {160, 15}, {164, 160},
                        {186, 161}, {188, 160}, {210, 0}, {214, 9},   {220, 0},   {222, 12},  {248, 0},  {256, 14},
                        {276, 0},   {282, 160}, {314, 0}, {320, 162}, {332, 163}, {334, 162}};
const Example kExample314{LineFormat::locations, kTable314, kRuns314, 2, 344};

class LineTable : public testing::TestWithParam<const Example*> {};

TEST_P(LineTable, GivesEveryInstructionTheInterpretersLine) {
  const Example& example = *GetParam();
  size_t run = 0;
  for (int32_t offset = 0; offset < example.end; offset += 2) {
    while (run + 1 < example.runs.size() && example.runs[run + 1].offset <= offset) ++run;
    EXPECT_EQ(decode_line(example.format, example.table, example.first_line, offset), example.runs[run].line)
        << "at offset " << offset;
  }
}

TEST_P(LineTable, PutsAFrameThatHasNotBegunOnItsFirstLine) {
  EXPECT_EQ(decode_line(GetParam()->format, GetParam()->table, 7, -1), 7);
}

// The sanitizer builds see a read beyond the copy.
TEST_P(LineTable, StaysInsideATableThatIsCutAnywhere) {
  const Example& example = *GetParam();
  for (size_t size = 0; size < example.table.size(); ++size) {
    std::vector<uint8_t> cut(example.table.begin(), example.table.begin() + ptrdiff_t(size));
    decode_line(example.format, cut, example.first_line, 1 << 30);
    EXPECT_EQ(decode_line(example.format, cut, example.first_line, -1), example.first_line);
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreters, LineTable,
                         testing::Values(&kExample38, &kExample310, &kExample311, &kExample314));

TEST(LineTableTest, KnowsNoLineBeyondTheEnd) {
  EXPECT_EQ(decode_line(LineFormat::ranges, kTable310, 2, kExample310.end), 0);
  EXPECT_EQ(decode_line(LineFormat::locations, kTable311, 2, kExample311.end), 0);
}

TEST(LineTableTest, LeavesTheLastRangeOfAnLnotabOpen) {
  EXPECT_EQ(decode_line(LineFormat::lnotab, kTable38, 2, 1 << 30), kRuns38[std::size(kRuns38) - 1].line);
}

TEST(LineTableTest, ReadsLongDeltas) {
  // Code 14 (long): line delta -1000 as a signed varint (2001 = 17 + 31 * 64), then end line, column, end column.
  const uint8_t table[] = {0x80 | 14 << 3, 64 | 17, 31, 0, 0, 0};
  EXPECT_EQ(decode_line(LineFormat::locations, table, 1500, 0), 500);
}

}  // namespace
}  // namespace tensorscope::stacks
