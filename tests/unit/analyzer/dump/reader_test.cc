// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/dump/{byte_source,chunk_reader,dump,dump_decoder}.cc
// Covers: analyzer/dump/decode/{decoding,file_parts,stacks,tensors,allocations}.cc
#include "dump/reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/dump_builder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

using testing::AllocationSpec;
using testing::Chunk;
using ::testing::Contains;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TensorSpec;

DumpBuilder small_dump() {
  DumpBuilder builder;
  builder.shared_object({"/usr/lib/libc.so.6", 0x1000, 0x1000, 0x9000, {0xab, 0xcd}});
  uint32_t thread = builder.thread(4242, "python");
  uint32_t site = builder.site(builder.native({0x1100, 0x1200}), builder.python({{"train.py", "main", 3, true}}));
  AllocationSpec block;
  block.pointer = 0x10000;
  block.nbytes = 4096;
  block.site = site;
  builder.allocation(block);
  TensorSpec tensor;
  tensor.sizes = {32, 32};
  tensor.storage_base = 0x10000;
  tensor.site = site;
  tensor.thread = thread;
  tensor.created_ns = 2'000'000'000;
  builder.tensor(tensor);
  tensor.strides = {1, 32};
  tensor.grad_fn_name = "N5torch8autograd9generated9TBackwardE";
  builder.tensor(tensor);
  builder.node(0x5000, "N5torch8autograd9generated9TBackwardE", site);
  builder.coverage("CPU memory", format::Seen::yes, "");
  builder.module_name(0x77, "model.fc1", "Linear");
  return builder;
}

Dump read(const std::string& bytes) { return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope"); }

std::string bad_input(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reader, ReadsWhatTheBuilderWrote) {
  Dump dump = read(small_dump().bytes());
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_TRUE(dump.complete);
  EXPECT_EQ(dump.process.pid, 4242u);
  EXPECT_THAT(dump.process.command_line, ElementsAre("python", "train.py"));
  ASSERT_EQ(dump.tensors.size(), 2u);
  const Tensor& view = dump.tensors[1];
  EXPECT_EQ(view.class_name, "c10::TensorImpl");
  EXPECT_EQ(view.grad_fn_name, "TBackward");
  EXPECT_THAT(view.sizes, ElementsAre(32, 32));
  EXPECT_THAT(view.strides, ElementsAre(1, 32));
  EXPECT_EQ(view.nbytes, 4096u);
  EXPECT_EQ(view.dtype_text(), "float32");
  EXPECT_EQ(view.shape_text(), "[32, 32]");
  EXPECT_EQ(view.device.text(), "cpu");
  EXPECT_EQ(dump.threads[view.thread].name, "python");
  EXPECT_EQ(dump.codes[dump.python_frames[dump.sites[view.site].python].code].function, "main");
  EXPECT_EQ(dump.shared_objects[0].build_id, "abcd");
  EXPECT_EQ(dump.nodes[0].class_name, "torch::autograd::generated::TBackward");
  EXPECT_EQ(dump.module_names.at(0x77).path, "model.fc1");
}

TEST(Reader, TheInterpretersOwnFrameBelowAnInitIsLeftOut) {
  DumpBuilder builder;
  const std::vector<testing::PythonFrameSpec> outside = {{"train.py", "main", 3, true}, {"__init__", "__init__", 0}};
  std::vector<testing::PythonFrameSpec> whole = outside;
  whole.push_back({"model.py", "Net.__init__", 9});
  const uint32_t inner = builder.site(0, builder.python(whole)), bare = builder.site(0, builder.python(outside));
  Dump dump = read(builder.bytes());
  auto function = [&](uint32_t frame) { return dump.codes[dump.python_frames[frame].code].function; };
  const uint32_t leaf = dump.sites[inner].python;
  EXPECT_EQ(function(leaf), "Net.__init__");
  EXPECT_EQ(function(dump.python_frames[leaf].parent), "main");
  EXPECT_EQ(function(dump.sites[bare].python), "main");
}

TEST(Reader, TablesInSeveralChunksAreJoined) {
  DumpBuilder builder = small_dump();
  std::string whole = builder.bytes();
  builder.rows_per_chunk = 1;
  Dump dump = read(builder.bytes());
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_EQ(dump.tensors.size(), 2u);
  const Dump in_one = read(whole);
  EXPECT_EQ(dump.native_frames.size(), in_one.native_frames.size());
  EXPECT_THAT(dump.tensors[1].strides, ElementsAreArray(in_one.tensors[1].strides));
}

TEST(Reader, ChunksMayComeInAnyOrder) {
  DumpBuilder builder = small_dump();
  builder.rows_per_chunk = 2;
  std::vector<Chunk> chunks = builder.chunks();
  std::reverse(chunks.begin(), chunks.end());
  Dump dump = read(DumpBuilder::frame(chunks));
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_EQ(dump.tensors[1].class_name, "c10::TensorImpl");
  EXPECT_EQ(dump.codes[dump.python_frames[dump.sites[1].python].code].function, "main");
}

TEST(Reader, UnknownChunkTypesAndNewerMinorVersionsAreAccepted) {
  std::vector<Chunk> chunks = small_dump().chunks();
  chunks.insert(chunks.begin() + 3, {format::chunk_type("FUTR"), "no flatbuffer at all"});
  std::string bytes = DumpBuilder::frame(chunks);
  bytes.replace(0, sizeof(format::FileHeader),
                DumpBuilder::file_header(format::kFormatMajor, format::kFormatMinor + 7));
  Dump dump = read(bytes);
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_TRUE(dump.complete);
}

TEST(Reader, NewerMajorVersionIsRefused) {
  std::string bytes = small_dump().bytes();
  bytes.replace(0, sizeof(format::FileHeader), DumpBuilder::file_header(format::kFormatMajor + 1, 0));
  EXPECT_THAT(bad_input(bytes), HasSubstr("x.tscope is a dump of format 2.0; this tensorscope reads up to 1.x"));
}

TEST(Reader, DuplicatedChunksAreIgnoredAndSaid) {
  std::vector<Chunk> chunks = small_dump().chunks();
  chunks.push_back(chunks[0]);
  Dump dump = read(DumpBuilder::frame(chunks));
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("a second 'process' chunk")));
  EXPECT_FALSE(dump.complete);

  chunks = small_dump().chunks();
  for (const Chunk& chunk : small_dump().chunks()) {
    if (chunk.type == format::kTensors) chunks.push_back(chunk);
  }
  dump = read(DumpBuilder::frame(chunks));
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("2 tensors listed twice")));
  EXPECT_EQ(dump.tensors.size(), 2u);
}

TEST(Reader, CutOffFilesSayWhere) {
  DumpBuilder builder = small_dump();
  size_t offset = sizeof(format::FileHeader);
  for (const Chunk& chunk : builder.chunks()) {
    if (chunk.type == format::kTensors) break;
    offset += sizeof(format::ChunkHeader) + chunk.payload.size() + format::padding(chunk.payload.size());
  }
  Dump dump = read(builder.bytes().substr(0, offset + sizeof(format::ChunkHeader) + 17));
  EXPECT_THAT(dump.problems,
              ElementsAre("x.tscope is cut off at byte 17 of the 'tensors' chunk; what came before is shown. "
                          "Missing: tensors, allocations, totals, coverage."));
  EXPECT_FALSE(dump.complete);
  EXPECT_EQ(dump.process.pid, 4242u);
}

// Every length: either one clear line, or a dump that says it is not whole.
TEST(Reader, TruncationAtEveryByte) {
  const std::string whole = small_dump().bytes();
  for (size_t size = 0; size < whole.size(); size++) {
    try {
      Dump dump = read(whole.substr(0, size));
      ASSERT_FALSE(dump.complete) << size;
      ASSERT_FALSE(dump.problems.empty()) << size;
    } catch (const BadInput& error) {
      ASSERT_THAT(error.what(), HasSubstr("x.tscope")) << size;
    }
  }
}

// Every bit is covered by a checksum or must be zero.
TEST(Reader, EveryFlippedBitIsFound) {
  std::string bytes = small_dump().bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
    bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
    try {
      Dump dump = read(bytes);
      ASSERT_FALSE(dump.complete) << "bit " << bit;
      ASSERT_FALSE(dump.problems.empty()) << "bit " << bit;
    } catch (const BadInput& error) {
      ASSERT_THAT(error.what(), HasSubstr("x.tscope")) << "bit " << bit;
    }
    bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Reader, WhatIsNoDump) {
  EXPECT_EQ(bad_input(""), "x.tscope is empty; nothing was written into it.");
  EXPECT_EQ(bad_input("import torch\n"), "x.tscope is not a tensorscope dump.");
  EXPECT_EQ(bad_input(std::string(100'000, '\0')), "x.tscope is not a tensorscope dump.");
  EXPECT_THAT(bad_input(DumpBuilder::frame({}, true)), HasSubstr("does not name its process"));
  EXPECT_THAT(bad_input(DumpBuilder::frame({}, false)), HasSubstr("cut off"));
}

TEST(Reader, PathsThatAreNoDump) {
  auto error_of = [](const std::string& path) -> std::string {
    try {
      read_dump(path);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of("/nonexistent/x.tscope"), HasSubstr("/nonexistent/x.tscope cannot be opened: No such file"));
  EXPECT_EQ(error_of("/dev/null"), "/dev/null is not a file; give a .tscope file.");
  EXPECT_THAT(error_of("/tmp"), HasSubstr("/tmp is a directory"));
}

class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / ("reader_test." + std::to_string(getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// 1 TiB of holes behind a sound beginning: read in bounded memory, at once.
TEST(Reader, HugeSparseFile) {
  TemporaryFile file;
  small_dump().write(file.path());
  ASSERT_EQ(truncate(file.path().c_str(), off_t{1} << 40), 0);
  Dump dump = read_dump(file.path());
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("has 1,099,511,")));
  EXPECT_EQ(dump.tensors.size(), 2u);

  std::ofstream(file.path(), std::ios::binary) << DumpBuilder::frame(small_dump().chunks(), false);
  ASSERT_EQ(truncate(file.path().c_str(), off_t{1} << 40), 0);
  dump = read_dump(file.path());
  EXPECT_FALSE(dump.complete);
  EXPECT_EQ(dump.tensors.size(), 2u);
}

class CountingSource : public ByteSource {
 public:
  explicit CountingSource(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read(uint64_t offset, void* out, size_t size) const override {
    read_up_to = std::max(read_up_to, offset + size);
    return offset < bytes_.size() ? bytes_.copy(static_cast<char*>(out), size, offset) : 0;
  }
  mutable uint64_t read_up_to = 0;

 private:
  std::string bytes_;
};

TEST(Reader, WhoseDumpItIsNeedsItsFirstChunkAlone) {
  const std::string bytes = small_dump().bytes();
  const size_t first = DumpBuilder::frame({small_dump().chunks()[0]}, false).size();
  ASSERT_LT(first, bytes.size() / 2);
  CountingSource source(bytes);
  const Process process = read_process(source, "x.tscope");
  EXPECT_EQ(process.pid, 4242u);
  EXPECT_EQ(process.dump_ns, read(bytes).process.dump_ns);
  EXPECT_LE(source.read_up_to, first);
}

TEST(Reader, AFileThatDoesNotSayWhoseDumpItIs) {
  const std::vector<Chunk> chunks = small_dump().chunks();
  EXPECT_THROW(read_process(CountingSource(""), "x.tscope"), BadInput);
  EXPECT_THROW(read_process(CountingSource(DumpBuilder::frame({})), "x.tscope"), BadInput);
  EXPECT_THROW(read_process(CountingSource(DumpBuilder::frame({chunks[1], chunks[0]})), "x.tscope"), BadInput);
  std::string damaged = DumpBuilder::frame({chunks[0]});
  damaged[60] ^= 1;
  EXPECT_THROW(read_process(CountingSource(damaged), "x.tscope"), BadInput);
}

TEST(Reader, DamagedChunkIsLeftOutAndTheRestIsRead) {
  DumpBuilder builder = small_dump();
  std::string bytes = builder.bytes();
  size_t offset = sizeof(format::FileHeader);
  for (const Chunk& chunk : builder.chunks()) {
    if (chunk.type == format::kSites) break;
    offset += sizeof(format::ChunkHeader) + chunk.payload.size() + format::padding(chunk.payload.size());
  }
  bytes[offset + sizeof(format::ChunkHeader) + 20] ^= 1;
  Dump dump = read(bytes);
  EXPECT_THAT(dump.problems, Contains(HasSubstr("the 'sites' chunk at byte")));
  EXPECT_EQ(dump.tensors.size(), 2u);
  EXPECT_EQ(dump.tensors[0].site, 0u);
  EXPECT_FALSE(dump.complete);
}

// ---- well-framed files with hostile contents ----------------------------------------------------------------------

TEST(Reader, ReferencesOutOfRangeAreCleared) {
  DumpBuilder builder = small_dump();
  TensorSpec tensor;
  tensor.site = 99;
  tensor.thread = 98;
  builder.tensor(tensor);
  builder.site(97, 96);
  AllocationSpec block;
  block.site = 95;
  block.pointer = UINT64_MAX;
  block.nbytes = 16;
  builder.allocation(block);
  Dump dump = read(builder.bytes());
  EXPECT_EQ(dump.tensors[2].site, 0u);
  EXPECT_EQ(dump.tensors[2].thread, 0u);
  EXPECT_EQ(dump.sites[2].native, 0u);
  EXPECT_EQ(dump.sites[2].python, 0u);
  EXPECT_EQ(dump.allocations.size(), 1u);
  ASSERT_EQ(dump.problems.size(), 1u);
  EXPECT_THAT(dump.problems[0], HasSubstr("1 references to missing sites"));
  EXPECT_THAT(dump.problems[0], HasSubstr("1 invalid allocations"));
}

TEST(Reader, StacksInACircleEnd) {
  DumpBuilder builder = small_dump();
  uint32_t leaf = builder.native({0x1, 0x2}, 7000);
  builder.site(leaf, 0);
  Dump dump = read(builder.bytes());
  for (size_t i = 1; i < dump.native_frames.size(); i++) EXPECT_LT(dump.native_frames[i].parent, i);
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("cyclic stacks")));
}

TEST(Reader, SizesWhoseSumOverflowsAreCleared) {
  DumpBuilder builder;
  for (int i = 1; i <= 4; i++) {
    TensorSpec tensor;
    tensor.storage_base = uint64_t(i) << 60;
    tensor.storage_nbytes = uint64_t{7} << 60;
    builder.tensor(tensor);
  }
  Dump dump = read(builder.bytes());
  uint64_t sum = 0;
  for (const Storage& storage : dump.storages) ASSERT_FALSE(__builtin_add_overflow(sum, storage.nbytes, &sum));
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("storages of an impossible size")));
}

TEST(Reader, ShapesOutOfRangeAreUnknown) {
  std::vector<Chunk> chunks = small_dump().chunks();
  flatbuffers::FlatBufferBuilder fbb;
  format::Tensor far(1, 1, 0, 0, 0, 0, 0, 0, 0, testing::kEverythingKnown, 0, 0xffffffff, 0, 0, 0, 0, 0, 4, 2, 0, -1, 6,
                     0);
  format::Tensor deep(2, 1, 0, 0, 0, 0, 0, 0, 0, testing::kEverythingKnown, 0, 0, 0, 0, 0, 0, 0, 4, 200, 0, -1, 6, 0);
  std::vector<format::Tensor> rows = {far, deep};
  std::vector<int64_t> dims(400, 1);
  fbb.FinishSizePrefixed(format::CreateTensorRowsDirect(fbb, &rows, &dims));
  for (Chunk& chunk : chunks) {
    if (chunk.type == format::kTensors)
      chunk.payload.assign(reinterpret_cast<char*>(fbb.GetBufferPointer()), fbb.GetSize());
  }
  Dump dump = read(DumpBuilder::frame(chunks));
  ASSERT_EQ(dump.tensors.size(), 2u);
  EXPECT_EQ(dump.tensors[0].shape_text(), "?");
  EXPECT_EQ(dump.tensors[1].shape_text(), "?");
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("2 tensors whose shape is not in the file")));
}

// Every payload cut anywhere, under a right checksum: the FlatBuffers verifier must refuse it.
TEST(Reader, PayloadsThatAreNoFlatBuffer) {
  const std::vector<Chunk> chunks = small_dump().chunks();
  for (size_t i = 0; i < chunks.size(); i++) {
    for (size_t size = 0; size < chunks[i].payload.size(); size += 3) {
      std::vector<Chunk> changed = chunks;
      changed[i].payload.resize(size);
      try {
        Dump dump = read(DumpBuilder::frame(changed));
        ASSERT_FALSE(dump.complete);
      } catch (const BadInput&) {
        ASSERT_EQ(i, 0u);
      }
    }
  }
}

// One long text that many rows repeat must not become many copies: notes are one text, paths are charged.
TEST(Reader, MemoryIsBoundedByTheFile) {
  constexpr int kRows = 2500;
  DumpBuilder builder;
  builder.has_references = true;
  TensorSpec tensor;
  tensor.note = std::string(1 << 16, 'x');
  testing::ReferenceSpec reference;
  reference.text = std::string(1 << 16, 'y');
  for (int i = 0; i < kRows; i++) {
    reference.tensor = builder.tensor(tensor);
    builder.reference(reference);
  }
  Dump dump = read(builder.bytes());
  ASSERT_EQ(dump.tensors.size(), size_t{kRows});
  for (const Tensor& t : dump.tensors) ASSERT_EQ(&t.note.str(), &dump.tensors.front().note.str());
  size_t text = 0;
  for (const Reference& row : dump.references.rows) text += row.text.size();
  EXPECT_LT(text, size_t{80} << 20);
  EXPECT_THAT(dump.problems, ElementsAre(HasSubstr("too many repeated texts")));
}

}  // namespace
}  // namespace tensorscope::analyzer
