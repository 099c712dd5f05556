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

TEST(ObjectMaps, APageOfAnObjectThatLiesBeforeItIsLeftOut) {
  EXPECT_EQ(maps_of_objects(kOwnCode + kNoFile + kObject), kNoFile + kObject);
}

TEST(ObjectMaps, APageOfAnObjectThatLiesBehindItIsLeftOut) {
  EXPECT_EQ(maps_of_objects(kObject + kNoFile + kOwnCode), kObject + kNoFile);
  EXPECT_EQ(maps_of_objects(kObject + kOwnCode), kObject);
}

TEST(ObjectMaps, WhatIsMappedTwiceStaysTwice) {
  EXPECT_EQ(maps_of_objects(kObject + kNoFile + kObject), kObject + kNoFile + kObject);
}

TEST(ObjectMaps, WhatIsNoFileStays) {
  const std::string vdso = "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]\n";
  EXPECT_EQ(maps_of_objects(kNoFile + vdso), kNoFile + vdso);
  EXPECT_EQ(maps_of_objects(""), "");
}

}  // namespace
}  // namespace tensorscope::process
