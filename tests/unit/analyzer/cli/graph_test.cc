// SPDX-License-Identifier: Apache-2.0
// The graph verb: its texts word for word, its other formats, and its answers to questions that make no sense.
// Covers: analyzer/cli/{graph_subject,graphviz,replaced_file}.cc
// Covers: analyzer/autograd/{graph_answers,graph_drawing,graph_view}.cc
// Covers: analyzer/export/pictures/graph_dot.cc analyzer/export/json/graph.cc
// Covers: analyzer/text/graph/{kept_memory,report,phrases}.cc
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "golden_fixture.h"
#include "sample_graphs.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const char* const kGraph = "train.4242.1.tscope";
const char* const kDeep = "deep.4242.1.tscope";
const char* const kNative = "server.4242.1.tscope";

class GraphTest : public GoldenFixture {
 protected:
  void SetUp() override {
    GoldenFixture::SetUp();
    graph_dump().write(kGraph);
    deep_graph_dump(32).write(kDeep);
    native_graph_dump().write(kNative);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    GoldenFixture::TearDown();
  }
  Json json(std::vector<std::string> arguments, int status = 0) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    return Json::parse(result.out);
  }
  // A program called `dot` that is all the search path has.
  void install_dot(const std::string& script) {
    std::filesystem::create_directory("bin");
    std::ofstream("bin/dot") << "#!/bin/sh\n" << script;
    chmod("bin/dot", 0755);
    setenv("PATH", (directory_ / "bin").c_str(), 1);
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // One line on standard error, nothing else.
  static void expect_mistake(const Result& result, const std::string& words) {
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, AllOf(StartsWith("tensorscope: "), HasSubstr(words), EndsWith("\n")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

 private:
  std::string path_ = getenv("PATH");
};

TEST_F(GraphTest, Overview) { expect("graph", {"graph", kGraph}); }
TEST_F(GraphTest, OverviewNarrow) { expect("graph-narrow", {"graph", kGraph}, 70); }
TEST_F(GraphTest, OverviewNative) { expect("graph-native", {"graph", kNative, "--no-symbols"}); }
TEST_F(GraphTest, Of) { expect("graph-of", {"graph", kGraph, "--of", "losses[1]"}); }
TEST_F(GraphTest, OfFreed) { expect("graph-of-freed", {"graph", kGraph, "--of", "train.py: done"}); }
TEST_F(GraphTest, OfView) { expect("graph-of-view", {"graph", kGraph, "--of", "view"}); }
TEST_F(GraphTest, OfLeaf) { expect("graph-of-leaf", {"graph", kGraph, "--of", "model.fc1.weight"}); }
TEST_F(GraphTest, OfDoublings) {
  expect("graph-of-doublings", {"graph", kGraph, "--of", "c (local of step)", "--collapse", "module"});
}
TEST_F(GraphTest, OfNode) { expect("graph-of-node", {"graph", kGraph, "--of", "fn"}); }
TEST_F(GraphTest, OfDeep) { expect("graph-of-deep", {"graph", kDeep, "--of", "loss", "--top", "3"}); }
TEST_F(GraphTest, OfDeepByModule) {
  expect("graph-of-deep-module", {"graph", kDeep, "--of", "loss", "--top", "3", "--collapse", "module"});
}
TEST_F(GraphTest, Path) { expect("graph-path", {"graph", kGraph, "--path", "model.fc1.weight", "losses[0]"}); }
TEST_F(GraphTest, PathToNonLeaf) { expect("graph-path-view", {"graph", kGraph, "--path", "view", "sq"}); }
TEST_F(GraphTest, NoPath) { expect("graph-path-none", {"graph", kGraph, "--path", "losses[0]", "w"}); }
TEST_F(GraphTest, PathDeep) {
  expect("graph-path-deep", {"graph", kDeep, "--path", "loss", "model.embed.weight", "--top", "5"});
}
TEST_F(GraphTest, Keeps) { expect("graph-keeps", {"graph", kGraph, "--keeps", "losses[0]"}); }
TEST_F(GraphTest, KeepsNative) {
  expect("graph-keeps-native", {"graph", kNative, "--keeps", "node:2", "--no-symbols"});
}
TEST_F(GraphTest, Near) { expect("graph-near", {"graph", kGraph, "--near", "13"}); }
TEST_F(GraphTest, NearSavedOutput) { expect("graph-near-saved", {"graph", kGraph, "--near", "9"}); }
TEST_F(GraphTest, Dot) { expect("graph-dot", {"graph", kGraph, "--of", "view", "--format", "dot", "--saved"}); }
TEST_F(GraphTest, DotDeep) { expect("graph-dot-deep", {"graph", kDeep, "--format", "dot"}); }

TEST_F(GraphTest, JsonOfATensor) {
  const Json sq = json({"graph", kGraph, "--of", "sq"});
  EXPECT_EQ(sq["question"], "of");
  ASSERT_EQ(sq["leaves"].size(), 1u);
  EXPECT_EQ(sq["leaves"][0]["paths"], 2);
  EXPECT_EQ(sq["leaves"][0]["steps"], 1);
  EXPECT_EQ(sq["leaves"][0]["tensor"]["name"], "train.py: w");
  EXPECT_EQ(sq["leaves"][0]["path"].size(), 2u);
  EXPECT_EQ(sq["nodes"][0]["class"], "MulBackward0");
  EXPECT_EQ(sq["nodes"][0]["saved"][1]["slot"], "other");
  EXPECT_EQ(sq["nodes"][0]["saved"][1]["state"], "held");
  EXPECT_EQ(sq["nodes"][0]["file"], "/home/user/train.py");
  EXPECT_EQ(sq["nodes"][0]["line"], 30);
  EXPECT_EQ(sq["nodes"][0]["edges"].size(), 2u);
}

TEST_F(GraphTest, JsonCountsMorePathsThanANumberHolds) {
  const Json c = json({"graph", kGraph, "--of", "c"});
  EXPECT_EQ(c["leaves"][0]["paths"], nullptr);
  EXPECT_EQ(c["leaves"][0]["steps"], 64);
  EXPECT_FALSE(c["leaves"][0]["endless"]);
}

TEST_F(GraphTest, JsonOfAPath) {
  const Json there = json({"graph", kGraph, "--path", "view", "w"}),
             back = json({"graph", kGraph, "--path", "w", "view"});
  for (const Json& path : {there, back}) {
    EXPECT_TRUE(path["found"]);
    EXPECT_EQ(path["steps"], 2);
    EXPECT_EQ(path["nodes"][0]["class"], "SliceBackward0");
    EXPECT_EQ(path["input"], there["b"]["id"]);
  }
  const Json none = json({"graph", kGraph, "--path", "w", "losses[0]"}, 1);
  EXPECT_FALSE(none["found"]);
  EXPECT_EQ(none["steps"], nullptr);
}

TEST_F(GraphTest, JsonOfOverviewKeepsAndNear) {
  const Json all = json({"graph", kGraph});
  EXPECT_EQ(all["graphs"], 6);  // three losses, view with sq, c, fn
  EXPECT_EQ(all["groups"][0]["graphs"], 3);
  EXPECT_EQ(all["groups"][0]["freed_nodes"], 4);
  EXPECT_TRUE(all["keeps"]["certain"]);
  const Json keeps = json({"graph", kGraph, "--keeps", "losses[0]"});
  uint64_t sum = 0, only = 0;
  for (const Json& row : keeps["storages"]) {
    sum += row["bytes"].get<uint64_t>();
    if (row["only"]) only += row["bytes"].get<uint64_t>();
  }
  EXPECT_EQ(keeps["bytes"], sum);
  EXPECT_EQ(keeps["only_bytes"], only);
  EXPECT_EQ(only, 2 * 32 * 256 * 4u + 32 * 4u);  // activations and statistics, neither parameters nor the batch
  const Json near = json({"graph", kGraph, "--near", "13"});
  EXPECT_EQ(near["used_for"][0]["name"], "train.py: losses[0]");
}

// Numbers of layers are numbers, and merged boxes say which they are.
TEST_F(GraphTest, JsonOfACollapsedGraph) {
  const Json drawing = json({"graph", kDeep, "--of", "loss"})["drawing"];
  EXPECT_EQ(drawing["collapse"], "repeat");
  bool found = false;
  for (const Json& box : drawing["boxes"]) {
    if (box["title"] != "model.layers.*.attn") continue;
    found = true;
    EXPECT_EQ(box["calls"], 32);
    EXPECT_EQ(box["indices"], Json::array({"0..31"}));
    EXPECT_EQ(box["leaves"].size(), 32u);
  }
  EXPECT_TRUE(found) << drawing;
  for (const Json& edge : drawing["edges"]) {
    EXPECT_LT(edge["from"], drawing["boxes"].size());
    EXPECT_LT(edge["to"], drawing["boxes"].size());
  }
}

TEST_F(GraphTest, WritesFilesWholeAndReplacesNone) {
  EXPECT_EQ(run({"graph", kGraph, "--of", "sq", "-o", "sq.dot"}).status, 0);
  EXPECT_THAT(content("sq.dot"), StartsWith("digraph"));
  expect_mistake(run({"graph", kGraph, "--of", "w", "-o", "sq.dot"}),
                 "sq.dot already exists; use --force to overwrite it.");
  EXPECT_EQ(run({"graph", kGraph, "--of", "w", "-o", "sq.dot", "--force", "--format", "json"}).status, 0);
  EXPECT_THAT(content("sq.dot"), StartsWith("{"));
  EXPECT_EQ(run({"graph", kGraph, "-o", "sq.json"}).status, 0);
  EXPECT_THAT(content("sq.json"), StartsWith("{"));
  EXPECT_EQ(run({"graph", kGraph, "-o", "sq.txt"}).status, 0);
  EXPECT_THAT(content("sq.txt"), ContainsRegex("graphs alive"));
  expect_mistake(run({"graph", kGraph, "-o", "no/such/folder.json"}), "cannot write no/such/folder.json: No such file");
}

TEST_F(GraphTest, PicturesComeFromGraphviz) {
  install_dot(
      "while [ \"$1\" != -o ]; do kind=$1; shift; done\n{ echo \"picture $kind\"; /bin/cat \"$3\"; } > \"$2\"\n");
  EXPECT_EQ(run({"graph", kGraph, "--of", "sq", "-o", "sq.svg"}).status, 0);
  EXPECT_THAT(content("sq.svg"), AllOf(StartsWith("picture -Tsvg\ndigraph"), HasSubstr("MulBackward0")));
  EXPECT_EQ(run({"graph", kGraph, "--keeps", "sq", "-o", "sq.png"}).status, 0);
  EXPECT_THAT(content("sq.png"), StartsWith("picture -Tpng\n"));
  EXPECT_THAT(run({"graph", kGraph, "--format", "svg"}).out, StartsWith("picture -Tsvg\n"));
  expect_mistake(run({"graph", kGraph, "--format", "png"}), "png needs an output file");
}

TEST_F(GraphTest, GraphvizThatFailsOrIsNotThere) {
  install_dot("echo 'syntax error near line 1' >&2; exit 3\n");
  expect_mistake(run({"graph", kGraph, "-o", "a.svg"}), "ended with status 3: syntax error near line 1.");
  install_dot("exit 0\n");
  expect_mistake(run({"graph", kGraph, "-o", "a.svg"}), "ended with status 0.");
  std::filesystem::remove("bin/dot");
  expect_mistake(run({"graph", kGraph, "-o", "a.svg"}), "not installed here; --format dot");
  EXPECT_FALSE(std::filesystem::exists("a.svg"));
}

TEST_F(GraphTest, QuestionsThatMakeNoSense) {
  expect_mistake(run({"graph", kGraph, "--of", "nothing"}),
                 "no live tensor 'nothing' in train.4242.1.tscope; tensorscope list prints all tensors.");
  expect_mistake(run({"graph", kGraph, "--of", "fc1"}), "similar: model.fc1.bias, model.fc1.weight");
  expect_mistake(run({"graph", kGraph, "--of", "99999"}), "no live tensor '99999'");
  expect_mistake(run({"graph", kGraph, "--of", "x"}), "2 tensors are named 'x': #");
  expect_mistake(run({"graph", kGraph, "--keeps", "node:9999"}), "no autograd node 'node:9999'");
  expect_mistake(run({"graph", kGraph, "--near", "13", "--format", "dot"}), "--near cannot be drawn");
  expect_mistake(run({"graph", kGraph, "--of", "sq", "--near", "sq"}), "excludes");
  expect_mistake(run({"graph", kGraph, "--path", "sq"}), "--path");
  expect_mistake(run({"graph", kGraph, "--format", "gif"}), "invalid value 'gif' for --format");
  DumpBuilder().write("empty.tscope");
  expect_mistake(run({"graph", "empty.tscope"}), "was not recorded");
}

TEST_F(GraphTest, ATensorOfNoGraphIsAnAnswer) {
  const Result result = run({"graph", kGraph, "--of", "data.py: x"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("is in no graph"));
  EXPECT_THAT(run({"graph", kGraph, "--keeps", "train.py: x"}).out, HasSubstr("AddmmBackward0 saved it"));
}

// Texts of the dump reach neither the terminal nor Graphviz as they are.
TEST_F(GraphTest, HostileTexts) {
  const std::string evil = "x\"];\n\\ \033[2J";
  DumpBuilder builder;
  GraphNodeSpec node;
  node.class_name = evil;
  const uint32_t a = builder.graph_node(node);
  node.edges.emplace_back(a, 0);
  const uint32_t b = builder.graph_node(node);
  builder.edge(a, b);  // and a cycle
  TensorSpec tensor;
  tensor.grad_fn = builder.graph_address(b);
  ReferenceSpec reference;
  reference.tensor = builder.tensor(tensor);
  reference.text = reference.scope = evil;
  builder.reference(reference);
  builder.write("evil.tscope");
  for (const char* format : {"text", "json", "dot"}) {
    for (const std::vector<std::string>& question :
         {std::vector<std::string>{}, {"--of", "1"}, {"--path", "1", "1"}, {"--keeps", "1"}, {"--near", "1"}}) {
      std::vector<std::string> arguments{"graph", "evil.tscope", "--format", format};
      arguments.insert(arguments.end(), question.begin(), question.end());
      const Result result = run(arguments);
      EXPECT_THAT(result.out + result.err, Not(HasSubstr("\033"))) << format;
      if (format == std::string("dot")) {
        EXPECT_THAT(result.out, Not(HasSubstr("x\"]")));
      }
    }
  }
}

}  // namespace
}  // namespace tensorscope::testing
