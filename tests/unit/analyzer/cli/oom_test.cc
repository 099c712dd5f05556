// SPDX-License-Identifier: Apache-2.0
// `oom`, word for word, on built dumps of a failure on a GPU, of low memory on the host, and of no failure at all.
// Covers: analyzer/text/oom/{answer_text,balance_report,failure_report,glossary,memory_phrases,report}.cc
// Covers: analyzer/export/json/{oom,suspect}.cc
// Covers: analyzer/oom/{callers,oom_analysis}.cc
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "golden_fixture.h"
#include "oom_dumps.h"

namespace tensorscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OomTest : public GoldenFixture {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    const std::string directory = directory_.string();
    gpu_dump(1, directory, false).write("gpu.1.tscope");
    gpu_dump(3, directory).write("gpu.oom.tscope");
    held_dump(2, directory).write("held.1.tscope");
    DumpBuilder low = held_dump(5, directory);
    low.trigger = format::Trigger::low_memory;
    low.trigger_detail = "control group";
    low.cgroup_limit = 2048 * kMiB;
    low.cgroup_current = 1950 * kMiB;
    low.children = 4;
    low.children_resident_bytes = 900 * kMiB;
    low.heap_in_use = 300 * kMiB;
    low.heap_free = 20 * kMiB;
    FailureSpec failure;
    failure.kind = format::FailureKind::low_memory;
    failure.limit = format::MemoryLimit::cgroup;
    failure.device_type = 0;
    failure.device_index = -1;
    failure.requested = 4 * kMiB;
    failure.limit_bytes = 2048 * kMiB;
    failure.left_bytes = 98 * kMiB;
    failure.error = "";
    failure.site = 1;
    failure.thread = 1;
    low.failure(failure);
    low.write("low.tscope");
  }
  static constexpr uint64_t kMiB = uint64_t{1} << 20;
};

TEST_F(OomTest, OnAGpu) { expect("oom-gpu", {"oom", "gpu.oom.tscope"}); }
TEST_F(OomTest, OnAGpuNarrow) { expect("oom-gpu-narrow", {"oom", "gpu.oom.tscope", "--no-glossary"}, 72); }
TEST_F(OomTest, SinceAnEarlierDump) {
  expect("oom-growth", {"oom", "gpu.oom.tscope", "gpu.1.tscope", "--no-glossary", "--top", "2"});
}
TEST_F(OomTest, NothingFailed) { expect("oom-nothing", {"oom", "gpu.1.tscope", "--no-glossary"}); }
TEST_F(OomTest, LowMemory) { expect("oom-low", {"oom", "low.tscope"}); }
TEST_F(OomTest, Json) { expect("oom-json", {"oom", "gpu.oom.tscope", "gpu.1.tscope", "--json", "--top", "1"}); }

TEST_F(OomTest, TheFirstFiveLinesSayItAll) {
  const std::string out = run({"oom", "gpu.oom.tscope"}, 110).out;
  size_t end = 0;
  for (int line = 0; line < 5; ++line) end = out.find('\n', end + 1);
  const std::string first = out.substr(0, end);
  EXPECT_THAT(first, HasSubstr("out of memory on cuda:0 while asking for 1.00 GiB"));
  EXPECT_THAT(first, HasSubstr("model.py:88 Attention.forward"));
  EXPECT_THAT(first, HasSubstr("saved activation 6.00 GiB"));
  EXPECT_THAT(first, HasSubstr("first to try: "));
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
}

TEST_F(OomTest, TheGlossaryExplainsWhatWasSaid) {
  const std::string gpu = run({"oom", "gpu.oom.tscope"}).out, host = run({"oom", "low.tscope"}).out;
  EXPECT_THAT(gpu, HasSubstr("  private pool "));
  EXPECT_THAT(host, Not(HasSubstr("  private pool ")));
  EXPECT_THAT(host, HasSubstr("  resident "));
  EXPECT_THAT(run({"oom", "gpu.oom.tscope", "--no-glossary"}).out, Not(HasSubstr("\nterms\n")));
}

TEST_F(OomTest, JsonIsJsonAndItsSumsAgree) {
  const nlohmann::json answer = nlohmann::json::parse(run({"oom", "gpu.oom.tscope", "--json"}).out);
  EXPECT_EQ(answer["answer"]["device"], "cuda:0");
  EXPECT_EQ(answer["failure"]["backward"]["class"], "torch::autograd::generated::NllLossBackward0");
  EXPECT_EQ(answer["balance"]["bytes"], 16384 * kMiB);
  int64_t sum = 0;
  for (const auto& part : answer["balance"]["parts"]) sum += part["bytes"].get<int64_t>();
  EXPECT_EQ(sum, int64_t(16384 * kMiB));
  EXPECT_TRUE(answer["growth"].is_null());
  EXPECT_FALSE(answer["remedies"].empty());
}

TEST_F(OomTest, WrongInputIsOneLine) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"oom"},
                                                {"oom", "nowhere.tscope"},
                                                {"oom", "train.py"},
                                                {"oom", "gpu.oom.tscope", "held.1.tscope"},
                                                {"oom", "gpu.oom.tscope", "--device", "cuda:7"},
                                                {"oom", "gpu.oom.tscope", "gpu.1.tscope", "held.1.tscope"}}) {
    const Result result = run(words);
    EXPECT_EQ(result.status, 2) << words.back();
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, ::testing::StartsWith("tensorscope: "));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(OomTest, AnotherDeviceThanTheOneThatFailed) {
  const std::string out = run({"oom", "gpu.oom.tscope", "--device", "cpu"}).out;
  EXPECT_THAT(out, HasSubstr("nothing has failed on the host"));
  EXPECT_THAT(out, Not(HasSubstr("what failed")));
}

}  // namespace
}  // namespace tensorscope::testing
