// SPDX-License-Identifier: Apache-2.0
#include "dump/mappings.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tensorscope::dump {
namespace {

using format::MappingKind;

std::string mapping(const std::string& name, uint64_t resident_kib, uint64_t anonymous_kib = 0) {
  return "7f0000000000-7f0000100000 rw-p 00000000 fe:00 1234    " + name +
         "\nSize:   4096 kB\nRss:   " + std::to_string(resident_kib) +
         " kB\nShared_Clean:  8 kB\nPrivate_Clean:  4 kB\nPrivate_Dirty:  " + std::to_string(anonymous_kib) +
         " kB\nAnonymous:  " + std::to_string(anonymous_kib) + " kB\nVmFlags: rd wr mr\n";
}

const Mapping* find(const std::vector<Mapping>& rows, const std::string& name, MappingKind kind) {
  for (const Mapping& row : rows) {
    if (row.name == name && row.kind == kind) return &row;
  }
  return nullptr;
}

TEST(Mappings, AreSummedByName) {
  const std::string text = mapping("/a b/libx.so", 1000, 100) + mapping("", 5000, 5000) + mapping("/a b/libx.so", 24) +
                           mapping("[heap]", 7, 7) + mapping("/dev/shm/block (deleted)", 300) + mapping("[vdso]", 8) +
                           mapping("/small", 10) + mapping("/smaller", 5);
  for (const size_t piece : {size_t{1}, size_t{37}, text.size()}) {
    MappingSums sums;
    std::string kept;
    for (size_t at = 0; at < text.size(); at += piece) {
      kept += text.substr(at, piece);
      kept.erase(0, sums.take(kept));
    }
    EXPECT_EQ(kept, "");
    const std::vector<Mapping> rows = sums.largest();
    ASSERT_EQ(rows.size(), 6u);
    EXPECT_EQ(rows[0].kind, MappingKind::anonymous);
    const Mapping* library = find(rows, "/a b/libx.so", MappingKind::file);
    ASSERT_NE(library, nullptr);
    EXPECT_EQ(library->count, 2u);
    EXPECT_EQ(library->resident, 1024u << 10);
    EXPECT_EQ(library->anonymous, 100u << 10);
    EXPECT_EQ(library->private_bytes, 108u << 10);
    EXPECT_EQ(find(rows, "", MappingKind::file)->resident, 15u << 10);
    EXPECT_EQ(find(rows, "", MappingKind::file)->count, 2u);
    EXPECT_NE(find(rows, "/dev/shm/block (deleted)", MappingKind::shared), nullptr);
    EXPECT_NE(find(rows, "[heap]", MappingKind::heap), nullptr);
    EXPECT_EQ(find(rows, "", MappingKind::other)->resident, 8u << 10);
  }
}

TEST(Mappings, TooManyAreOneRow) {
  MappingSums sums;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += mapping("/file" + std::to_string(i), 1000);
  sums.take(text);
  const std::vector<Mapping> rows = sums.largest();
  EXPECT_EQ(rows.size(), kMaxMappingRows + 1);
  EXPECT_EQ(rows[0].name, "");
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), uint64_t{0},
                            [](uint64_t a, const Mapping& b) { return a + b.resident; }),
            uint64_t{1000 * 1000} << 10);
}

TEST(Mappings, AreThisProcesss) {
  Mappings mappings;
  read_mappings(mappings);
  EXPECT_STREQ(mappings.detail, "");
  EXPECT_NE(find(mappings.rows, "", MappingKind::anonymous), nullptr);
  EXPECT_NE(find(mappings.rows, "[stack]", MappingKind::stack), nullptr);
}

}  // namespace
}  // namespace tensorscope::dump
