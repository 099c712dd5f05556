// SPDX-License-Identifier: Apache-2.0
#include "process/object_maps.h"

#include <gtest/gtest.h>

namespace tensorscope::process {
namespace {

const std::string kObject =
    "7f0000002000-7f0000004000 r--p 00000000 fe:00 11 /lib/libffi.so.8\n"
    "7f0000004000-7f0000011000 r-xp 00002000 fe:00 11 /lib/libffi.so.8\n"
    "7f0000011000-7f0000013000 r--p 0000f000 fe:00 11 /lib/libffi.so.8\n"
    "7f0000013000-7f0000014000 rw-p 00011000 fe:00 11 /lib/libffi.so.8\n";
const std::string kNoFile = "7f0000001000-7f0000002000 rw-p 00000000 00:00 0\n";
const std::string kOwnCode = "7f0000000000-7f0000001000 r-xp 0000d000 fe:00 11 /lib/libffi.so.8\n";

std::string lines_of(const std::string& maps) {
  std::string text;
  for (const Mapping& mapping : object_mappings(maps)) text += mapping.line + '\n';
  return text;
}

TEST(ObjectMaps, APageOfAnObjectThatLiesBeforeItIsLeftOut) {
  EXPECT_EQ(lines_of(kOwnCode + kNoFile + kObject), kNoFile + kObject);
}

TEST(ObjectMaps, APageOfAnObjectThatLiesBehindItIsLeftOut) {
  EXPECT_EQ(lines_of(kObject + kNoFile + kOwnCode), kObject + kNoFile);
  EXPECT_EQ(lines_of(kObject + kOwnCode), kObject);
}

TEST(ObjectMaps, WhatIsMappedTwiceStaysTwice) {
  EXPECT_EQ(lines_of(kObject + kNoFile + kObject), kObject + kNoFile + kObject);
}

TEST(ObjectMaps, WhatIsNoFileStays) {
  const std::string vdso = "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]\n";
  EXPECT_EQ(lines_of(kNoFile + vdso), kNoFile + vdso);
  EXPECT_EQ(lines_of(""), "");
}

TEST(ObjectMaps, EachMappingHasItsPlaceAndItsName) {
  const std::vector<Mapping> all =
      object_mappings(kNoFile + "7f10-7f20 r--p 000000a0 fe:00 11      /a b/c.so (deleted)\n");
  ASSERT_EQ(all.size(), 1u);  // the second begins with no part of its file
  EXPECT_EQ(all[0].begin, 0x7f0000001000u);
  EXPECT_EQ(all[0].end, 0x7f0000002000u);
  EXPECT_EQ(all[0].name, "");
  const std::vector<Mapping> named =
      object_mappings("7f10-7f20 r--p 00000000 fe:00 11      /a b/c.so (deleted)\nno line\n");
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].name, "/a b/c.so (deleted)");
  EXPECT_EQ(object_mappings(kObject)[2].offset, 0xf000u);
}

}  // namespace
}  // namespace tensorscope::process
