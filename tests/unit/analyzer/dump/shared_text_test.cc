// SPDX-License-Identifier: Apache-2.0
#include "dump/shared_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {
namespace {

TEST(SharedText, IsATextThatCopiesShare) {
  static_assert(sizeof(SharedText) == sizeof(void*));
  const SharedText name("AddmmBackward0");
  SharedText copy = name;
  EXPECT_EQ(&copy.str(), &name.str());
  EXPECT_EQ(copy, "AddmmBackward0");
  EXPECT_EQ("class " + copy + "!", "class AddmmBackward0!");
  EXPECT_EQ(fmt::format("{:>16}", name), "  AddmmBackward0");
  copy = SharedText("TanhBackward0");
  EXPECT_EQ(name.str(), "AddmmBackward0");
  EXPECT_LT(name, copy);
}

TEST(SharedText, OutlivesTheOneItWasMadeFrom) {
  std::vector<SharedText> kept;
  {
    const SharedText first(std::string(100, 'x'));
    kept.assign(3, first);
  }
  SharedText moved = std::move(kept[0]);
  kept.clear();
  EXPECT_EQ(moved.size(), 100u);
}

TEST(SharedText, NoTextIsEmpty) {
  const SharedText none, also_none("");
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none, also_none);
  EXPECT_EQ(none.str(), "");
}

}  // namespace
}  // namespace tensorscope::analyzer
