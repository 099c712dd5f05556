// SPDX-License-Identifier: Apache-2.0
// The time before a dump: what the peak was made of, and whether memory grew.
// Covers: analyzer/text/dump/history.cc analyzer/memory/peak_places.cc analyzer/export/json/history.cc
// Covers: analyzer/tables/history_tables.cc
#include <gmock/gmock.h>

#include "command_fixture.h"
#include "dump_generated.h"
#include "support/sample_values.h"

namespace tensorscope::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class PeakTest : public CommandTest {
 protected:
  PeakTest() {
    dump_.working_directory = "/x";
    forward_ = dump_.site(0, dump_.python({{"/x/train.py", "main", 30}, {"/x/train.py", "forward", 57}}));
    load_ = dump_.site(0, dump_.python({{"/x/train.py", "main", 20}}));
    dump_.device_total({0, 40 * kMiB, 0, 900, 1000 * kMiB, 0, 0, 0, 0, -1});
    dump_.step_source = format::StepSource::backward;
    dump_.step_ends = {10};
    dump_.peak_ns = 31 * kSecond;
    dump_.peak_step = 11;
    dump_.peak_bytes = 39 * kMiB;
    dump_.peak_devices = {{39 * kMiB, 0, -1}};
    dump_.peak_sites = {{30 * kMiB, 3, forward_}, {8 * kMiB, 2, load_}};
    dump_.peak_other_sites = 4;
    dump_.peak_other_bytes = kMiB;
    dump_.peak_other_allocations = 7;
  }

  void steps(uint64_t count, uint64_t growth) {
    for (uint64_t step = 1; step <= count; ++step) {
      dump_.history_points.emplace_back(step * kSecond / 5, step, 0, 1, format::MomentKind::step, dump_.step_source);
      dump_.history_levels.emplace_back(20 * kMiB + step * growth, 38 * kMiB, step * kMiB);
    }
    dump_.history_points.emplace_back(60 * kSecond, count, 0, 1, format::MomentKind::dump, dump_.step_source);
    dump_.history_levels.emplace_back(0, 40 * kMiB, count * kMiB);
  }

  std::string output(const std::vector<std::string>& arguments) {
    dump_.write("a.tscope");
    return run(arguments).out;
  }

  DumpBuilder dump_;
  uint32_t forward_, load_;
};

TEST_F(PeakTest, WhenEverythingIsFreedTheReportBeginsWithThePeak) {
  steps(50, 53248);
  const std::string report = output({"report", "a.tscope"});
  EXPECT_THAT(report, StartsWith("Everything was freed before this dump. Peak: 39.0 MiB in step 12; largest allocation "
                                 "site then: train.py:57 forward, 30.0 MiB (77 %)\n"
                                 "cpu memory grew by 52.0 KiB a step from step 6 to 50: 20.3 MiB to 22.5 MiB at the "
                                 "end of a step\n"));
  EXPECT_THAT(report, HasSubstr("largest allocation sites at the peak\n"));
  EXPECT_THAT(report, ContainsRegex("30.0 MiB +77 % +3 +not known +train.py:57 forward"));
  EXPECT_THAT(report, Not(HasSubstr("no live tensors")));
}

TEST_F(PeakTest, WhatIsAliveComesFirstIfItIsMuch) {
  steps(50, 0);
  AllocationSpec block;
  block.pointer = 0x100000;
  block.nbytes = 4 * kMiB;
  block.site = load_;
  dump_.allocation(block);
  const std::string report = output({"report", "a.tscope"});
  EXPECT_THAT(report, StartsWith("4.0 MiB live"));
  EXPECT_THAT(report, HasSubstr("cpu memory did not grow from step 6 to 50: 20.0 MiB at the end of a step"));
  EXPECT_THAT(report, Not(HasSubstr("at the peak")));
}

// Where memory was made, how what was alive at the peak was freed, and what that is taken for.
class PeakCategoryTest : public PeakTest {
 protected:
  static constexpr char kTorch[] = "/x/lib/python3.11/site-packages/torch/";

  // A site of one MiB, made by these frames below main().
  void site(std::vector<PythonFrameSpec> frames, format::PeakGone gone) {
    frames.insert(frames.begin(), {"/x/train.py", "main", int32_t(100 + dump_.peak_sites.size())});
    if (first_) dump_.peak_sites.clear(), first_ = false;
    dump_.peak_sites.emplace_back(kMiB, 1, dump_.site(0, dump_.python(frames)));
    dump_.peak_gone.push_back(gone);
    dump_.peak_bytes = dump_.peak_sites.size() * kMiB;
    dump_.peak_devices = {{dump_.peak_bytes, 0, -1}};
    dump_.peak_other_sites = 0;
    dump_.peak_other_bytes = dump_.peak_other_allocations = 0;
  }
  static PythonFrameSpec torch(const std::string& file, const std::string& function) {
    return {kTorch + file, function, 7};
  }
  static PythonFrameSpec call() {
    PythonFrameSpec frame = torch("nn/modules/module.py", "Module._call_impl");
    frame.module_object = 0x77;
    return frame;
  }
  // The categories of all rows, in the order of their sites.
  std::string categories() {
    return output({"query", "a.tscope", "--format", "csv",
                   "select coalesce(category, '-') || ' ' || coalesce(category_source, '-') || ' ' || "
                   "coalesce(category_bytes, 0) as c from peak_sites order by site"});
  }
  // PeakGone's fields.
  static format::PeakGone before_backward(uint8_t has_nodes = 0) { return {kMiB, 0, 0, 0, 0, has_nodes}; }
  static format::PeakGone in_backward(uint8_t has_nodes = 0) { return {0, kMiB, 0, 0, 0, has_nodes}; }
  static format::PeakGone later_step() { return {0, 0, kMiB, 0, 0, 0}; }
  static format::PeakGone of_backward() { return {0, 0, 0, kMiB, 0, 0}; }
  static format::PeakGone after_backward() { return {0, 0, 0, 0, kMiB, 0}; }

 private:
  bool first_ = true;
};

TEST_F(PeakCategoryTest, IsInferredFromWhereItWasMadeAndHowItWasFreed) {
  site({torch("optim/adam.py", "Adam._init_group")}, later_step());
  site({torch("optim/adam.py", "_multi_tensor_adam")}, before_backward());
  site({torch("utils/data/dataloader.py", "__next__"), {"/x/train.py", "load", 5}}, later_step());
  site({torch("nn/modules/linear.py", "Linear.__init__")}, later_step());
  site({torch("nn/modules/module.py", "Module._apply"), torch("nn/modules/module.py", "Module.to.<locals>.convert")},
       later_step());
  site({call(), torch("nn/modules/linear.py", "Linear.forward")}, in_backward());
  site({torch("_tensor.py", "Tensor.backward"), torch("autograd/__init__.py", "backward")}, after_backward());
  site({torch("autograd/graph.py", "_engine_run_backward")}, of_backward());
  site({}, in_backward(1));
  EXPECT_EQ(
      categories(),
      "c\r\noptimizer state inferred 1048576\r\ntemporary inferred 1048576\r\ninput batch inferred 1048576\r\n"
      "parameter inferred 1048576\r\nparameter inferred 1048576\r\nsaved activation inferred 1048576\r\n"
      "gradient inferred 1048576\r\nbackward temporary inferred 1048576\r\nsaved activation inferred 1048576\r\n");
  const std::string report = output({"report", "a.tscope", "--peak"});
  EXPECT_THAT(report, ContainsRegex("1.0 MiB +11 % +1 +gradient ~ +train.py:106 main"));
  EXPECT_THAT(report, HasSubstr("By category: parameter or buffer ~ 2.0 MiB, saved activation ~ 2.0 MiB, gradient ~ "
                                "1.0 MiB, optimizer state ~ 1.0 MiB, input batch ~ 1.0 MiB, backward temporary ~ 1.0 "
                                "MiB, temporary ~ 1.0 MiB. ~: inferred from where memory was made and how it was "
                                "freed.\n"));
}

TEST_F(PeakCategoryTest, WhatDoesNotFollowStaysUnknown) {
  site({}, later_step());                                                   // kept by the program
  site({}, in_backward());                                                  // an input, perhaps
  site({torch("nn/functional.py", "relu")}, later_step());                  // its result was kept
  site({torch("nn/init.py", "orthogonal_")}, later_step());                 // no parameter
  site({call(), torch("nn/functional.py", "relu")}, later_step());          // likewise
  site({call(), torch("nn/functional.py", "softmax")}, before_backward());  // without gradients: a KV cache, perhaps
  site({torch("_tensor.py", "Tensor.backward")}, of_backward());            // an engine that is called in another way
  site({torch("optim/adam.py", "Adam._init_group")}, {0, 0, 0, 0, 0, 0});   // neither freed nor known to be alive
  EXPECT_EQ(categories(), "c\r\n- - 0\r\n- - 0\r\n- - 0\r\n- - 0\r\n- - 0\r\n- - 0\r\n- - 0\r\n- - 0\r\n");
  EXPECT_THAT(output({"report", "a.tscope", "--peak"}), HasSubstr("By category: not known 8.0 MiB.\n"));
}

TEST_F(PeakCategoryTest, ARowSaysTheShareOfItsCategory) {
  site({call(), torch("nn/functional.py", "relu")}, {kMiB / 4, kMiB / 4 * 3, 0, 0, 0, 0});
  EXPECT_THAT(output({"report", "a.tscope", "--peak"}), ContainsRegex("saved activation ~ 75 % +train.py:10"));
  dump_.peak_gone = {{kMiB / 2, kMiB / 2, 0, 0, 0, 0}};
  EXPECT_THAT(output({"report", "a.tscope", "--peak"}), ContainsRegex("1.0 MiB +100 % +1 +not known +train.py:10"));
  dump_.peak_gone = {{kMiB / 4, kMiB / 4 * 3, 0, 0, 0, 1}};  // gradients were recorded there
  EXPECT_THAT(output({"report", "a.tscope", "--peak"}),
              HasSubstr("By category: saved activation ~ 768.0 KiB, temporary ~ 256.0 KiB."));
}

TEST_F(PeakCategoryTest, AFileThatNamesMoreThanThereWasIsCut) {
  site({call(), torch("nn/functional.py", "relu")}, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 1});
  EXPECT_THAT(output({"report", "a.tscope", "--peak"}), HasSubstr("By category: saved activation ~ 1.0 MiB."));
}

TEST_F(PeakCategoryTest, WithoutPythonNothingFollowsFromABackwardPass) {
  dump_ = DumpBuilder();
  dump_.python_version = "";
  dump_.peak_bytes = 2 * kMiB;
  dump_.peak_sites = {{kMiB, 1, dump_.site(dump_.native({0x401000}), 0)},
                      {kMiB, 1, dump_.site(dump_.native({0x402000}), 0)}};
  dump_.peak_gone = {of_backward(), in_backward(1)};
  EXPECT_EQ(categories(), "c\r\n- - 0\r\n- - 0\r\n");
}

TEST_F(PeakTest, AFilterAsksForWhatIsAlive) {
  EXPECT_THAT(output({"report", "a.tscope", "--min-size", "1"}), Not(HasSubstr("at the peak")));
}

TEST_F(PeakTest, ThePeakIsShownByLineAndItsRowsAddUp) {
  const std::string report = output({"report", "a.tscope", "--peak", "--top", "1"});
  EXPECT_THAT(report, StartsWith("39.0 MiB live at the highest peak so far; largest"));
  EXPECT_THAT(report, HasSubstr("Kept 30.0 s after start, 30.0 s before this dump; the peak itself is 40.0 MiB, 1.0 "
                                "MiB more."));
  EXPECT_THAT(report, ContainsRegex("30.0 MiB +77 % +3 +not known +train.py:57 forward"));
  EXPECT_THAT(report, ContainsRegex("9.0 MiB +23 % +9 +1 more line and 4 smaller sites"));
  EXPECT_THAT(report, Not(HasSubstr("other threads")));
}

TEST_F(PeakTest, WhatIsInNoSiteHasARowOfItsOwn) {
  dump_.peak_bytes += kMiB / 2;
  const std::string report = output({"report", "a.tscope", "--peak"});
  EXPECT_THAT(report, ContainsRegex("[+]512.0 KiB +allocated or freed by other threads at that moment"));
}

TEST_F(PeakTest, WithSeveralDevicesTheDifferenceIsABound) {
  dump_.device_total({0, 9 * kMiB, 0, 900, 1000 * kMiB, 0, 0, 0, 1, 0});
  dump_.peak_devices = {{30 * kMiB, 0, -1}, {9 * kMiB, 1, 0}};
  const std::string report = output({"report", "a.tscope", "--peak"});
  EXPECT_THAT(report, AllOf(HasSubstr("the peak of all devices together is 599.0 KiB more at most."),
                            HasSubstr("Live then: cpu 30.0 MiB, cuda:0 9.0 MiB.")));
}

TEST_F(PeakTest, ADumpWithoutAPeakSaysSo) {
  dump_.peak_bytes = 0;
  dump_.write("a.tscope");
  const Result result = run({"report", "a.tscope", "--peak"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("this dump does not have what was alive at the peak"));
  EXPECT_THAT(output({"report", "a.tscope"}), StartsWith("0 B live in 0 tensors"));
}

TEST_F(PeakTest, ACurveIsAsWideAsTheTerminal) {
  steps(200, 53248);
  dump_.write("a.tscope");
  for (const int width : {40, 80}) {
    const std::string report = run({"report", "a.tscope"}, width).out;
    EXPECT_THAT(report, HasSubstr("cpu: the most live bytes over the run, steps\n"));
    EXPECT_THAT(report, HasSubstr("40.0 MiB │"));
  }
}

TEST_F(PeakTest, TablesAndJsonHaveTheSameNumbers) {
  steps(50, 53248);
  EXPECT_EQ(output({"query", "a.tscope", "--format", "csv",
                    "select count(*), max(peak_bytes), max(bytes_made), max(step) from history where device = 'cpu'"}),
            "count(*),max(peak_bytes),max(bytes_made),max(step)\r\n51,41943040,52428800,50\r\n");
  EXPECT_EQ(output({"query", "a.tscope", "--format", "csv",
                    "select sum(bytes), max(peak_bytes), min(place) from peak_sites"}),
            "sum(bytes),max(peak_bytes),min(place)\r\n39845888,40894464,train.py:20 main\r\n");
  const std::string json = output({"export", "a.tscope", "--format", "json"});
  EXPECT_THAT(json,
              HasSubstr(R"("growth":[{"device":"cpu","kind":"grew","unit":"step","units":44,"bytes_each":53248.0}])"));
  EXPECT_THAT(json, HasSubstr(R"("peak":{"time_ns":31000000000,"step":11,"bytes":40894464,)"));
}

}  // namespace
}  // namespace tensorscope::testing
