// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/html/{page,dump_data,history_data,stacks}.cc
#include "html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "dump/reader.h"
#include "packed.h"
#include "support/dump_builder.h"

namespace tensorscope::html {
namespace {

using testing::AllocationSpec;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TensorSpec;

// Two tensors in one storage of 4096 bytes, one with 256 of numpy's, and a block in no tensor.
DumpBuilder program() {
  DumpBuilder builder;
  builder.working_directory = "/home/ann/project";
  builder.host = "node7";
  builder.command_line = {"python", "/home/ann/project/train.py", "--key=hunter2"};
  const uint32_t thread = builder.thread(4242, "python");
  const uint32_t python = builder.python(
      {{"/home/ann/project/train.py", "main", 3, true}, {"/home/ann/elsewhere/model.py", "forward", 9, true}});
  builder.source_file({"/home/ann/elsewhere/model.py", {{9, "x = secret(x)"}}});
  const uint32_t site = builder.site(0, python);
  AllocationSpec block;
  block.pointer = 0x10000;
  block.nbytes = 4096;
  block.site = site;
  block.thread = thread;
  builder.allocation(block);
  block.pointer = 0x40000;
  block.nbytes = 512;
  builder.allocation(block);
  TensorSpec tensor;
  tensor.address = 0x7f0000000100;
  tensor.sizes = {32, 32};
  tensor.storage_base = 0x10000;
  tensor.storage_nbytes = 4096;
  tensor.site = site;
  tensor.thread = thread;
  builder.tensor(tensor);
  tensor.address = 0x7f0000000200;
  tensor.sizes = {8, 32};
  tensor.storage_offset = 256;
  builder.tensor(tensor);
  return builder;
}

analyzer::Dump read(const DumpBuilder& builder) {
  const std::string bytes = builder.bytes();
  return analyzer::read_dump_bytes(bytes.data(), bytes.size(), "/home/ann/dumps/train.1.tscope");
}

std::string page_of(analyzer::Dump dump, bool confidential) {
  Page page("1.2.3", confidential);
  page.prepare(dump);
  std::vector<analyzer::Dump> read;
  read.push_back(std::move(dump));
  analyzer::ComparedDumps dumps(
      std::move(read), {},
      {.sysroot = {}, .source_folders = {}, .debug_dirs = {}, .use_cache = false, .native = false});
  page.add(dumps);
  std::ostringstream out;
  page.write(out, "<x id=\"data\">@DATA@</x>");
  return out.str();
}

void add_history(DumpBuilder& builder) {
  for (uint64_t step = 1; step <= 4; ++step) {
    builder.history_points.emplace_back(builder.start_ns + step * 1'000'000'000, step, 0, 1, format::MomentKind::step,
                                        format::StepSource::backward);
    builder.history_levels.emplace_back(step * 1000, step * 1000 + 500, step * 4000);
  }
  builder.history_points.emplace_back(builder.start_ns + 5'000'000'000, 4, 0, 1, format::MomentKind::dump,
                                      format::StepSource::backward);
  builder.history_levels.emplace_back(4600, 4700, 20'000);
}

double sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

TEST(Page, HasTheRunBeforeADump) {
  DumpBuilder builder = program();
  EXPECT_TRUE(testing::data_of(page_of(read(builder), false)).head["dumps"][0]["history"].is_null());
  add_history(builder);
  const testing::Unpacked page = testing::data_of(page_of(read(builder), false));
  const auto& history = page.head["dumps"][0]["history"];
  EXPECT_THAT(page.column(history["time"]), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(page.column(history["step"]), ElementsAre(1, 2, 3, 4, 0));
  ASSERT_EQ(history["devices"].size(), 1u);
  EXPECT_EQ(history["devices"][0]["device"], "cpu");
  EXPECT_THAT(page.column(history["devices"][0]["live"]), ElementsAre(1000, 2000, 3000, 4000, 4600));
  EXPECT_THAT(page.column(history["devices"][0]["peak"]), ElementsAre(1500, 2500, 3500, 4500, 4700));
}

TEST(Page, CountsEveryByteOnce) {
  const testing::Unpacked page = testing::data_of(page_of(read(program()), false));
  const auto& dump = page.head["dumps"][0];
  EXPECT_EQ(page.head["version"], "1.2.3");
  EXPECT_EQ(dump["total_bytes"], 4096 + 512);
  EXPECT_EQ(sum(page.column(dump["items"]["bytes"])), 4096 + 512);
  EXPECT_THAT(page.column(dump["items"]["owner"]), ElementsAre(1, 0));
  EXPECT_EQ(dump["total_tensors"], 2);
  EXPECT_EQ(dump["sites"][0]["bytes"], 4096 + 512);
}

TEST(Page, SaysOfATensorWithoutAModuleHowMuchIsKnownOfModules) {
  DumpBuilder builder = program();
  builder.coverage("module paths", format::Seen::partly, "");
  EXPECT_EQ(testing::data_of(page_of(read(builder), false)).head["dumps"][0]["no_module"], "(in no known module)");
}

TEST(Page, SaysWhereATensorLiesInItsStorage) {
  const testing::Unpacked page = testing::data_of(page_of(read(program()), false));
  const auto& tensors = page.head["dumps"][0]["tensors"];
  EXPECT_THAT(page.column(tensors["storage"]), ElementsAre(1, 1));
  EXPECT_THAT(page.column(tensors["begin"]), ElementsAre(0, 1024));
  EXPECT_THAT(page.column(tensors["length"]), ElementsAre(4096, 1024));
}

// What a page draws and writes must not take what was not read for byte 0 or for no memory.
TEST(Page, SaysOfATensorWhatCouldNotBeRead) {
  DumpBuilder builder = program();
  testing::TensorSpec unread;
  unread.known = uint32_t(format::TensorKnown::dtype) | uint32_t(format::TensorKnown::device);
  builder.tensor(unread);
  const testing::Unpacked page = testing::data_of(page_of(read(builder), false));
  const auto& dump = page.head["dumps"][0];
  std::vector<std::string> unknown;
  for (const double text : page.column(dump["tensors"]["unknown"])) unknown.push_back(dump["texts"][size_t(text)]);
  EXPECT_THAT(unknown, ElementsAre("", "", "shape, bytes, storage, offset, requires_grad, leaf, view"));
}

TEST(Page, HasStacksAsATree) {
  const testing::Unpacked page = testing::data_of(page_of(read(program()), false));
  const auto& dump = page.head["dumps"][0];
  const auto& stacks = dump["stacks"];
  const std::vector<double> parent = page.column(stacks["parent"]), frame = page.column(stacks["frame"]);
  std::vector<std::string> functions;
  for (auto node = size_t(page.column(stacks["leaf"])[0]); node != 0; node = size_t(parent[node])) {
    functions.push_back(dump["texts"][size_t(page.column(stacks["frames"]["function"])[size_t(frame[node])])]);
  }
  EXPECT_THAT(functions, ElementsAre("forward", "main"));
}

TEST(Page, LeavesOutWhatIsConfidential) {
  const std::string open = testing::data_of(page_of(read(program()), false)).head.dump();
  for (const char* secret : {"ann", "node7", "hunter2", "secret"}) EXPECT_THAT(open, HasSubstr(secret));
  const std::string closed = testing::data_of(page_of(read(program()), true)).head.dump();
  for (const char* secret : {"ann", "node7", "hunter2", "secret", "elsewhere"})
    EXPECT_THAT(closed, Not(HasSubstr(secret)));
  for (const char* kept : {"train.py", "model.py:9", "forward"}) EXPECT_THAT(closed, HasSubstr(kept));
}

TEST(Page, HasAMarkedPlaceForItsData) {
  if (page_template().empty()) {
    EXPECT_THAT(std::string(why_no_page()), HasSubstr("this build has no web report: "));
    return;
  }
  EXPECT_NE(page_template().find("@DATA@"), std::string_view::npos);
}

}  // namespace
}  // namespace tensorscope::html
