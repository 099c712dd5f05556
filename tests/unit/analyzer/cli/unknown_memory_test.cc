// SPDX-License-Identifier: Apache-2.0
// Tensors whose memory a dump does not know, because their fields could not be read, or because they were freed while
// the dump was written: not known is never shown as none. Covers: analyzer/text/dump/live_table.cc
#include <gmock/gmock.h>

#include "command_fixture.h"
#include "dump_generated.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class UnknownMemoryTest : public CommandTest {
 protected:
  // A block that no tensor is known to use, and tensors of which nothing was read.
  void write(int unread, int freed) {
    DumpBuilder dump;
    AllocationSpec block;
    block.pointer = 0x1000;
    block.nbytes = 4096;
    dump.allocation(block);
    TensorSpec tensor;
    tensor.known = 0;
    tensor.device_type = -1;
    for (int i = 0; i < unread; ++i) dump.tensor(tensor);
    tensor.flags = uint32_t(format::TensorFlag::freed_during_dump);
    for (int i = 0; i < freed; ++i) dump.tensor(tensor);
    dump.write("a.tscope");
  }

  std::string output(const std::vector<std::string>& arguments) { return run(arguments).out; }
};

constexpr char kFreedDuringDump[] = "2 tensors freed while the dump was written";

TEST_F(UnknownMemoryTest, FreedDuringTheDump) {
  write(0, 2);
  const std::string report = output({"report", "a.tscope"});
  EXPECT_THAT(report, ContainsRegex("device not known +2 +[?] +[?]  freed while the dump was written: their memory"));
  EXPECT_THAT(report, HasSubstr(std::string("perhaps used by ") + kFreedDuringDump));
  EXPECT_THAT(report, AllOf(Not(HasSubstr("no memory")), Not(HasSubstr("used by no tensor"))));
  EXPECT_THAT(output({"info", "a.tscope"}), HasSubstr(std::string("not known for ") + kFreedDuringDump));
  EXPECT_THAT(output({"list", "a.tscope"}), HasSubstr(std::string("without ") + kFreedDuringDump));
  EXPECT_THAT(output({"export", "a.tscope", "--format", "json"}), HasSubstr("\"memory_is_known\":false"));
}

TEST_F(UnknownMemoryTest, BothReasonsHaveTheirLine) {
  write(1, 2);
  const std::string report = output({"report", "a.tscope"});
  EXPECT_THAT(report, ContainsRegex("device not known +3 +[?] +[?] *\n"));
  EXPECT_THAT(report, ContainsRegex("  not known +1 +[?] +[?]  could not be read: their memory is not known"));
  EXPECT_THAT(report, ContainsRegex("  not known +2 +[?] +[?]  freed while the dump was written: their memory"));
  EXPECT_THAT(output({"info", "a.tscope"}),
              HasSubstr(std::string("not known for 1 tensor that could not be read and ") + kFreedDuringDump));
}

TEST_F(UnknownMemoryTest, NothingIsSaidIfAllIsKnown) {
  write(0, 0);
  EXPECT_THAT(output({"report", "a.tscope"}), AllOf(HasSubstr("used by no tensor"), Not(HasSubstr("not known"))));
}

}  // namespace
}  // namespace tensorscope::testing
