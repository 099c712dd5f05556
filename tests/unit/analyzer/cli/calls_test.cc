// SPDX-License-Identifier: Apache-2.0
// The calls verb: its texts word for word, its JSON, its pictures, and its trace against that format's rules.
// Covers: analyzer/text/values/{calls,phrases}.cc
// Covers: analyzer/export/pictures/calls_dot.cc analyzer/export/json/calls.cc analyzer/export/profiles/chrome_trace.cc
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "golden_fixture.h"
#include "sample_values.h"
#include "text/values/phrases.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const char* const kRun = "train.4242.values";

class CallsTest : public GoldenFixture {
 protected:
  void SetUp() override {
    GoldenFixture::SetUp();
    sample_run({}).write(kRun);
    sample_run({.raises = true, .cut = true, .backwards = true, .threads = true}).write("much.4242.values", false);
  }
  Json json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out);
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void expect_mistake(const Result& result, const std::string& words) {
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(StartsWith("tensorscope: "), HasSubstr(words)));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
};

TEST_F(CallsTest, Tree) { expect("calls", {"calls", kRun}); }
TEST_F(CallsTest, TreeNarrow) { expect("calls-narrow", {"calls", kRun}, 60); }
TEST_F(CallsTest, TreeOfMuch) { expect("calls-much", {"calls", "much.4242.values"}); }
TEST_F(CallsTest, TreeUnfolded) { expect("calls-no-fold", {"calls", kRun, "--no-fold", "--depth", "3"}); }
TEST_F(CallsTest, Squashed) { expect("calls-squash", {"calls", kRun, "--squash"}); }
TEST_F(CallsTest, Order) { expect("calls-order", {"calls", "much.4242.values", "--order", "--top", "18"}); }
TEST_F(CallsTest, OrderOfAStep) { expect("calls-order-step", {"calls", kRun, "--order", "--step", "1", "--top", "3"}); }
TEST_F(CallsTest, Dot) { expect("calls-dot", {"calls", kRun, "--format", "dot", "--order", "--step", "0"}); }
TEST_F(CallsTest, DotSquashed) { expect("calls-dot-squash", {"calls", kRun, "--format", "dot", "--squash"}); }

TEST_F(CallsTest, TheTreeAsJson) {
  const Json answer = json({"calls", kRun});
  EXPECT_EQ(answer["schema"], 1);
  EXPECT_EQ(answer["calls"], 3 * (1 + 1 + 3 * 4 + 1));
  const Json& model = answer["tree"][0];
  EXPECT_EQ(model["name"], "model");
  EXPECT_EQ(model["class"], "Transformer");
  const Json& layers = model["children"][1];
  EXPECT_EQ(layers["label"], "layers.0..3 x 4");
  EXPECT_THAT(layers["indices"].get<std::vector<int>>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(layers["count"], 12);
  EXPECT_EQ(layers["children"][0]["name"], "attn");
  EXPECT_FALSE(answer.contains("sequence"));
}

TEST_F(CallsTest, NumbersOfModulesAreInNumericOrder) {
  sample_run({.steps = 1, .layers = 12}).write("twelve.values");
  const Json layers = json({"calls", "twelve.values"})["tree"][0]["children"][1];
  EXPECT_THAT(layers["indices"].get<std::vector<int>>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(run({"calls", "twelve.values"}).out, HasSubstr("layers.0..11 x 12  Block"));
}

TEST_F(CallsTest, TheSequenceAsJson) {
  const Json answer = json({"calls", kRun, "--order", "--step", "2"});
  std::vector<std::string> modules;
  for (const Json& call : answer["sequence"]) modules.push_back(call["module"]);
  ASSERT_EQ(modules.size(), 15);
  EXPECT_EQ(modules[0], "model") << "in the order in which calls begin";
  EXPECT_EQ(modules[1], "model.embed");
  EXPECT_EQ(modules[14], "model.head");
  EXPECT_EQ(answer["sequence"][2]["parent"], answer["sequence"][0]["id"]);
}

TEST_F(CallsTest, TheSquashedGraphAsJson) {
  const Json squashed = json({"calls", kRun, "--squash"})["squashed"];
  EXPECT_EQ(squashed["nodes"][0]["name"], "model");
  EXPECT_EQ(squashed["nodes"].size(), 6);
  EXPECT_EQ(squashed["edges"].size(), 5);
}

TEST_F(CallsTest, LeavesAreCut) {
  EXPECT_THAT(run({"calls", kRun, "--prune"}).out, AllOf(HasSubstr("layers.0..3 x 4"), Not(HasSubstr("attn"))));
}

TEST_F(CallsTest, PicturesOfGraphviz) {
  if (system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "no Graphviz";
  ASSERT_EQ(run({"calls", kRun, "-o", "calls.svg", "--order"}).status, 0);
  EXPECT_THAT(content("calls.svg"), AllOf(HasSubstr("<svg"), HasSubstr("layers.0..3 x 4"), HasSubstr(">2..5</text>")));
  ASSERT_EQ(run({"calls", kRun, "-o", "calls.png"}).status, 0);
  EXPECT_THAT(content("calls.png"), StartsWith("\x89PNG"));
  const auto pixels = [](const std::string& path) {
    const std::string png = content(path);
    const auto number = [&png](size_t at) {
      return uint8_t(png[at]) << 24 | uint8_t(png[at + 1]) << 16 | uint8_t(png[at + 2]) << 8 | uint8_t(png[at + 3]);
    };
    return std::pair{number(16), number(20)};
  };
  ASSERT_EQ(run({"calls", kRun, "-o", "sized.png", "--width", "4", "--height", "3", "--dpi", "100"}).status, 0);
  EXPECT_NEAR(pixels("sized.png").first, 400, 60) << "the title does not stretch";
  EXPECT_NEAR(pixels("sized.png").second, 300, 4);
  ASSERT_EQ(run({"calls", kRun, "-o", "flat.png", "--width", "8", "--height", "3", "--dpi", "100"}).status, 0);
  EXPECT_GT(pixels("flat.png").first, 2 * pixels("flat.png").second) << "filled";
  ASSERT_EQ(run({"calls", kRun, "-o", "wide.png", "--width", "4", "--dpi", "50"}).status, 0);
  EXPECT_NEAR(pixels("wide.png").first, 200, 2);
}

TEST_F(CallsTest, AFileIsNotOverwritten) {
  ASSERT_EQ(run({"calls", kRun, "-o", "calls.json"}).status, 0);
  EXPECT_EQ(Json::parse(content("calls.json"))["schema"], 1);
  expect_mistake(run({"calls", kRun, "-o", "calls.json"}), "already exists; use --force");
  EXPECT_EQ(run({"calls", kRun, "-o", "calls.json", "--force"}).status, 0);
}

TEST_F(CallsTest, WithoutCallsAClearLine) {
  expect_mistake(run({"calls", "missing.values"}), "missing.values cannot be opened");
  sample_run({.steps = 0}).write("empty.values");
  expect_mistake(run({"calls", "empty.values"}), "empty.values has no calls of modules: none ran.");
  sample_run({.steps = 1, .calls = false}).write("values.values");
  expect_mistake(run({"calls", "values.values"}), "they were not recorded (tensorscope run --calls)");
  expect_mistake(run({"calls", kRun, "--step", "7"}), "no module call in step 7; it has steps 0 to 2");
  expect_mistake(run({"calls", kRun, "--format", "png"}), "png needs an output file");
  expect_mistake(run({"calls", kRun, "--dpi", "0"}), "--dpi");
}

TEST_F(CallsTest, WhatAFileSaysIsNotATerminalsCommand) {
  ValuesBuilder builder;
  builder.calls = true;
  builder.call({.module = "model\x1b[31m", .class_name = "A\"\\B\n", .site = "x\x1b.py:1", .raised = true});
  builder.write("evil.values");
  for (const char* format : {"text", "json", "dot", "trace"}) {
    EXPECT_THAT(run({"calls", "evil.values", "--format", format}).out, Not(HasSubstr("\x1b"))) << format;
  }
}

TEST(Ranges, OfNumbers) {
  EXPECT_EQ(text::ranges({}), "");
  EXPECT_EQ(text::ranges({3}), "3");
  EXPECT_EQ(text::ranges({0, 1, 2, 4, 6, 7}), "0..2,4,6..7");
  EXPECT_EQ(text::ranges({0, 2, 4, 6, 8, 10, 12, 14}), "0,2,4,6,...,14");
}

// The rules of Chrome's trace event format as its viewers need them.
class TraceTest : public CallsTest {
 protected:
  Json trace(const std::string& file) {
    EXPECT_EQ(run({"calls", file, "-o", "run.trace.json", "--force"}).status, 0);
    return Json::parse(content("run.trace.json"));
  }
};

TEST_F(TraceTest, EveryEventHasWhatItsPhaseNeeds) {
  const Json answer = trace("much.4242.values");
  EXPECT_EQ(answer["displayTimeUnit"], "ms");
  std::set<std::string> phases;
  std::map<std::pair<std::string, std::string>, int> open;  // asynchronous, by category and id
  for (const Json& event : answer["traceEvents"]) {
    const std::string phase = event["ph"];
    phases.insert(phase);
    ASSERT_TRUE(event["name"].is_string() && !event["name"].get<std::string>().empty());
    ASSERT_TRUE(event["pid"].is_number_integer() && event["tid"].is_number_integer());
    if (phase == "M") {
      EXPECT_TRUE(event["args"]["name"].is_string());
      continue;
    }
    ASSERT_GE(event["ts"].get<double>(), 0) << event;
    if (phase == "X") {
      EXPECT_GE(event["dur"].get<double>(), 0);
    } else if (phase == "C") {
      EXPECT_TRUE(event["args"]["bytes"].is_number_integer());
    }
    if (phase == "b" || phase == "e") {
      ASSERT_TRUE(event["id2"]["local"].is_string() && event["cat"].is_string());
      open[{event["cat"], event["id2"]["local"]}] += phase == "b" ? 1 : -1;
    }
  }
  EXPECT_THAT(phases, ElementsAre("C", "M", "X", "b", "e"));
  for (const auto& [id, count] : open) EXPECT_EQ(count, 0);
}

TEST_F(TraceTest, CompleteEventsOfAThreadLieWithinEachOther) {
  std::map<int, std::vector<std::pair<double, double>>> threads;
  size_t calls = 0;
  const Json answer = trace("much.4242.values");
  for (const Json& event : answer["traceEvents"]) {
    if (event["ph"] == "b") ++calls;
    if (event["ph"] != "X") continue;
    calls += event["cat"] != "step";
    threads[event["tid"]].emplace_back(event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(calls, json({"calls", "much.4242.values", "--order"})["sequence"].size()) << "each call has an event";
  EXPECT_EQ(threads.size(), 3) << "two threads and the steps";
  constexpr double kRounding = 1e-6;
  for (auto& [thread, events] : threads) {
    std::sort(events.begin(), events.end(),
              [](auto& a, auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
    std::vector<double> ends;
    for (const auto& [begin, end] : events) {
      while (!ends.empty() && ends.back() <= begin + kRounding) ends.pop_back();
      EXPECT_LE(end, (ends.empty() ? end : ends.back()) + kRounding) << thread << " at " << begin;
      ends.push_back(end);
    }
  }
}

TEST_F(TraceTest, StepsAndCountersAndWhatRaised) {
  std::vector<std::string> steps;
  size_t counters = 0, raised = 0, unfinished = 0;
  double last = 0;
  const Json answer = trace("much.4242.values");
  for (const Json& event : answer["traceEvents"]) {
    if (event.value("cat", "") == "step") steps.push_back(event["name"]);
    if (event["ph"] == "C") {
      EXPECT_GE(event["ts"].get<double>(), last) << "in the order of time";
      last = event["ts"];
      ++counters;
    }
    if (event.contains("args")) {
      raised += event["args"].value("raised", false);
      unfinished += event["args"].value("unfinished", false);
    }
  }
  EXPECT_THAT(steps, ElementsAre("train step 0", "train step 1", "train step 2", "eval pass 0"));
  EXPECT_GT(counters, 100);
  EXPECT_EQ(raised, 1);
  EXPECT_EQ(unfinished, 0) << "a call that never ended is not in the file of a killed program";
}

}  // namespace
}  // namespace tensorscope::testing
