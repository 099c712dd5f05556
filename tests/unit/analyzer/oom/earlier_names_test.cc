// SPDX-License-Identifier: Apache-2.0
// An out-of-memory dump without names uses those of an earlier dump of its run that lies beside it.
#include "oom/earlier_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../questions_fixture.h"
#include "memory/no_module.h"
#include "memory/taken_names.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DumpBuilder;
using ::testing::HasSubstr;

class EarlierNames : public ::testing::Test {
 protected:
  EarlierNames() : folder_(std::filesystem::temp_directory_path() / ("earlier-names-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~EarlierNames() override { std::filesystem::remove_all(folder_); }

  // A list of two tensors; `named`: Python was looked at.
  DumpBuilder builder(uint64_t dump_ns, bool named) {
    DumpBuilder builder;
    builder.dump_ns = dump_ns;
    builder.has_references = true;
    builder.references_complete = named;
    for (uint64_t serial : {101, 103}) {
      testing::owned(builder, 1000, 0, serial);
      if (!named) continue;
      builder.reference({serial, serial == 101 ? "history[0]" : "history[1]", "train.py", "list"});
      builder.tensor_object({serial});
    }
    return builder;
  }
  Dump write(const DumpBuilder& builder, const std::string& name) {
    const std::string path = folder_ / name, bytes = builder.bytes();
    std::ofstream(path, std::ios::binary) << bytes;
    return read_dump(path);
  }

  const std::filesystem::path folder_;
};

TEST_F(EarlierNames, AreTakenFromTheDumpBeside) {
  write(builder(1'000'000'000, true), "train.1.low-memory-1.tscope");
  DumpBuilder failed = builder(4'000'000'000, false);
  testing::owned(failed, 1000, 0, 105);
  Dump dump = write(failed, "train.1.oom-1.tscope");
  ASSERT_TRUE(lacks_names(dump));
  const std::optional<Dump> earlier = earlier_with_names(dump);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(take_names(dump, *earlier), 2u);
  ASSERT_EQ(dump.references.of(0).size(), 1u);
  EXPECT_EQ(dump.references.of(0)[0].line(), "train.py: history[0]");
  EXPECT_EQ(dump.references.of(1)[0].tensor, 1u);
  EXPECT_TRUE(dump.references.of(2).empty());
  EXPECT_FALSE(dump.references.complete);
  EXPECT_THAT(dump.references.detail,
              HasSubstr("2 of 3 tensors have the names and holders of train.1.low-memory-1.tscope"));
}

TEST_F(EarlierNames, ModulesHaveTheirsAlsoWhereNoTensorIsInBoth) {
  DumpBuilder before = builder(1'000'000'000, true);
  before.module_name(0x500, "net.inner", "Linear");
  DumpBuilder later;
  later.dump_ns = 4'000'000'000;
  later.has_references = true;
  later.references_complete = false;
  later.coverage("module paths", format::Seen::no, "not asked for");
  testing::owned(later, 1000, 0, 105);
  Dump dump = write(later, "train.1.2.tscope");
  EXPECT_EQ(take_names(dump, write(before, "train.1.1.tscope")), 0u);
  EXPECT_EQ(dump.module_names.at(0x500).path, "net.inner");
  EXPECT_EQ(modules_seen(dump), format::Seen::partly);
  EXPECT_EQ(dump.coverage.at(0).detail, "those of train.1.1.tscope, 3.0 s before; here not asked for");
}

TEST_F(EarlierNames, HaveNoNumbersOfTheEarlierGraph) {
  DumpBuilder before = builder(1'000'000'000, true);
  before.reference({101, "odd", "train.py", "list", format::ReferenceRoot::global, format::ReferenceRole::plain, 1,
                    before.graph_node({"N5torch8autograd9generated9TBackwardE"})});
  Dump dump = write(builder(4'000'000'000, false), "train.1.oom-1.tscope");
  const Dump earlier = write(before, "train.1.1.tscope");
  const auto numbered = [](const Reference& row) { return row.node != kNoNode; };
  ASSERT_EQ(std::ranges::count_if(earlier.references.rows, numbered), 1);
  ASSERT_GT(take_names(dump, earlier), 0u);
  EXPECT_EQ(std::ranges::count_if(dump.references.rows, numbered), 0);
}

TEST_F(EarlierNames, AreNotThoseOfAnotherRunOrALaterMoment) {
  DumpBuilder other = builder(1'000'000'000, true);
  other.run_id = "run-2";
  write(other, "train.1.low-memory-1.tscope");
  write(builder(9'000'000'000, true), "train.1.2.tscope");
  std::ofstream(folder_ / "broken.tscope") << "no dump";
  EXPECT_FALSE(earlier_with_names(write(builder(4'000'000'000, false), "train.1.oom-1.tscope")));
}

TEST_F(EarlierNames, AreNotWantedWhereAllAreKnown) {
  EXPECT_FALSE(lacks_names(write(builder(1'000'000'000, true), "train.1.oom-1.tscope")));
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
