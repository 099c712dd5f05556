// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/values/{chunk_walk,decode,element_chunks,sound_rows,values_file}.cc
#include "values/values_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "dump/reader.h"
#include "support/misaligned_rows.h"
#include "support/values_builder.h"
#include "tensorscope/values_format.h"
#include "values/element_type.h"

namespace tensorscope::values {
namespace {

using testing::CallSpec;
using testing::Chunk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NonFiniteSpec;
using testing::ValuesBuilder;
using testing::ValueSpec;

ValuesFile opened(const std::string& bytes) {
  return ValuesFile(analyzer::wrap_memory(bytes.data(), bytes.size()), "folder/x.values");
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const analyzer::BadInput& error) {
    return error.what();
  }
  return "no error";
}

std::vector<Value> all(const ValuesFile& file) {
  std::vector<Value> out;
  file.for_each_value([&](const Value& value) {
    out.push_back(value);
    return true;
  });
  return out;
}

std::vector<Call> all_calls(const ValuesFile& file) {
  std::vector<Call> out;
  file.for_each_call([&](const Call& call) {
    out.push_back(call);
    return true;
  });
  return out;
}

std::vector<float> floats(const std::optional<Elements>& elements) {
  std::vector<float> out(elements->bytes.size() / sizeof(float));
  std::memcpy(out.data(), elements->bytes.data(), elements->bytes.size());
  return out;
}

ValueSpec named(const std::string& name, std::vector<double> numbers, uint32_t step = 1) {
  ValueSpec spec;
  spec.name = name;
  spec.numbers = std::move(numbers);
  spec.step = step;
  return spec;
}

// Two flushes, a call, a finding, a loss and an unmatched watch.
ValuesBuilder small_file() {
  ValuesBuilder builder;
  builder.process.rank = 3;
  builder.find_nan = true;
  builder.calls = true;
  builder.watch({"model.fc"});
  builder.watch({"model.fd", false, "", "watch.toml:3"});
  CallSpec call;
  call.module = "model.fc";
  call.class_name = "Linear";
  call.begin_ns = 100, call.end_ns = 300, call.peak = 4096, call.raised = true;
  builder.call(call);
  ValueSpec spec = named("model.fc", {1, -2, 0, 4});
  spec.shape = {2, 2};
  spec.module = "model.fc";
  spec.operation = "aten::linear";
  spec.site = "train.py:57";
  spec.call = 1;
  spec.series = {{"quantiles", {0.25, 0.75}}};
  builder.value(spec);
  builder.flush();
  spec = named("model.fc", {}, 2);
  spec.shape = {2, 2};
  spec.same_as = 1;
  builder.value(spec);
  spec = {.name = "note"};
  spec.kind = format::ValueKind::text;
  spec.elements = "warm-up";
  spec.dtype = -1;
  builder.value(spec);
  builder.flush();
  NonFiniteSpec finding;
  finding.operation = "aten::log";
  finding.stack = {"train.py:57", "train.py:90"};
  finding.statistics.count = 8, finding.statistics.nan = 2;
  finding.inputs = {{"input 0", {.count = 8, .minimum = -1}}};
  builder.finding(finding);
  builder.losses({{"values dropped", 7, "the disk was too slow"}});
  builder.unmatched(1, {"model.fc"});
  return builder;
}

TEST(ValuesFile, ReadsWhatTheBuilderWrote) {
  const std::string bytes = small_file().bytes();
  ValuesFile file = opened(bytes);
  EXPECT_THAT(file.problems(), IsEmpty());
  EXPECT_TRUE(file.closed());
  EXPECT_EQ(file.name(), "x.values");
  EXPECT_EQ(file.process().rank, 3);
  EXPECT_EQ(file.process().pid, 4242u);
  EXPECT_TRUE(file.find_nan() && file.calls_recorded());
  ASSERT_EQ(file.watches().size(), 2u);
  EXPECT_EQ(file.watches()[1].origin, "watch.toml:3");
  EXPECT_TRUE(file.watches()[0].full);

  EXPECT_EQ(file.value_count(), 3u);
  const std::vector<Value> values = all(file);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].name, "model.fc");
  EXPECT_EQ(values[0].operation, "aten::linear");
  EXPECT_EQ(values[0].site, "train.py:57");
  EXPECT_EQ(values[0].call, 1u);
  EXPECT_EQ(values[0].step, 1u);
  EXPECT_EQ(values[0].mode, format::StepMode::train);
  EXPECT_THAT(values[0].shape, ElementsAre(2, 2));
  EXPECT_EQ(values[0].dtype, kFloat32);
  EXPECT_EQ(values[0].device.text(), "cpu");
  EXPECT_EQ(file.unix_ns(values[0].time_ns) - file.process().dump_unix_ns, 1'000'000'000u);
  ASSERT_TRUE(values[0].statistics);
  EXPECT_EQ(values[0].statistics->mean, 0.75);
  EXPECT_EQ(values[0].statistics->absmax(), 4);
  EXPECT_EQ(values[0].statistics->zeros, 1u);
  ASSERT_EQ(values[0].series.size(), 1u);
  EXPECT_EQ(values[0].series[0].what, "quantiles");
  EXPECT_THAT(values[0].series[0].numbers, ElementsAre(0.25, 0.75));
  EXPECT_FALSE(values[1].statistics);
  EXPECT_EQ(values[1].same_as, 1u);
  EXPECT_EQ(values[2].kind, format::ValueKind::text);

  ASSERT_EQ(file.call_count(), 1u);
  const Call call = all_calls(file)[0];
  EXPECT_EQ(call.module, "model.fc");
  EXPECT_EQ(call.class_name, "Linear");
  EXPECT_EQ(call.end_ns, 300u);
  EXPECT_TRUE(call.raised);
  EXPECT_FALSE(call.backward);

  ASSERT_EQ(file.findings().size(), 1u);
  EXPECT_EQ(file.findings()[0].operation, "aten::log");
  EXPECT_THAT(file.findings()[0].stack, ElementsAre("train.py:57", "train.py:90"));
  EXPECT_EQ(file.findings()[0].statistics->nan, 2u);
  EXPECT_EQ(file.findings()[0].inputs[0].statistics->minimum, -1);
  ASSERT_EQ(file.losses().size(), 1u);
  EXPECT_EQ(file.losses()[0].count, 7u);
  ASSERT_EQ(file.unmatched().size(), 1u);
  EXPECT_THAT(file.unmatched()[0].nearest, ElementsAre("model.fc"));
}

TEST(ValuesFile, ElementsAreThoseOfTheValueOrOfTheOneItIsEqualTo) {
  const std::string bytes = small_file().bytes();
  ValuesFile file = opened(bytes);
  const std::vector<Value> values = all(file);
  EXPECT_THAT(floats(file.elements_of(values[0])), ElementsAre(1, -2, 0, 4));
  EXPECT_THAT(floats(file.elements_of(values[1])), ElementsAre(1, -2, 0, 4));
  EXPECT_EQ(file.elements_of(values[2])->bytes, "warm-up");
  EXPECT_THAT(file.elements_of(values[1])->shape, ElementsAre(2, 2));
}

TEST(ValuesFile, StatisticsAloneHaveNoElements) {
  ValuesBuilder builder;
  ValueSpec spec = named("x", {1, 2});
  spec.keep_elements = false;
  builder.value(spec);
  const std::string bytes = builder.bytes();
  ValuesFile file = opened(bytes);
  EXPECT_FALSE(file.elements_of(all(file)[0]));
  EXPECT_TRUE(all(file)[0].statistics);
}

TEST(ValuesFile, ElementsMayBeInSeveralChunks) {
  ValuesBuilder builder;
  builder.value(named("a", {1, 2, 3}));
  builder.value(named("b", {4, 5, 6, 7}));
  builder.flush(5);  // 28 bytes in chunks of 6: elements are split
  const std::string bytes = builder.bytes();
  ValuesFile file = opened(bytes);
  const std::vector<Value> values = all(file);
  EXPECT_THAT(floats(file.elements_of(values[0])), ElementsAre(1, 2, 3));
  EXPECT_THAT(floats(file.elements_of(values[1])), ElementsAre(4, 5, 6, 7));
}

TEST(ValuesFile, ASliceHasAShapeOfItsOwn) {
  ValuesBuilder builder;
  ValueSpec spec = named("a", {1, 2});
  spec.shape = {100, 2};
  spec.kept_shape = {{1, 2}};
  builder.value(spec);
  const std::string bytes = builder.bytes();
  ValuesFile file = opened(bytes);
  const Value value = all(file)[0];
  EXPECT_TRUE(value.sliced);
  EXPECT_THAT(value.shape, ElementsAre(100, 2));
  EXPECT_THAT(file.elements_of(value)->shape, ElementsAre(1, 2));
}

TEST(ValuesFile, AValueIsFoundByItsSerial) {
  const std::string bytes = small_file().bytes();
  ValuesFile file = opened(bytes);
  EXPECT_EQ(file.value(3)->name, "note");
  EXPECT_FALSE(file.value(9));
  std::vector<uint64_t> later;
  file.for_each_value_after(1, [&](const Value& value) {
    later.push_back(value.serial);
    return true;
  });
  EXPECT_THAT(later, ElementsAre(2, 3));
}

TEST(ValuesFile, ItGoesOnWhereTheFileGrew) {
  const std::string path = ::testing::TempDir() + "/grows.values";
  std::vector<Chunk> chunks = small_file().chunks();
  const std::string whole = ValuesBuilder::frame(chunks);
  const auto first =
      std::find_if(chunks.begin(), chunks.end(), [](const Chunk& c) { return c.type == format::kValues; });
  chunks.erase(first + 1, chunks.end());
  const size_t half = ValuesBuilder::frame(chunks).size();
  std::ofstream(path, std::ios::binary) << whole.substr(0, half + 10);
  ValuesFile file(path);
  EXPECT_FALSE(file.closed());
  EXPECT_EQ(file.torn_bytes(), 10u);
  EXPECT_FALSE(file.read_more());
  EXPECT_EQ(file.value_count(), 1u);
  const std::string_view name = all(file)[0].name;
  std::ofstream(path, std::ios::binary | std::ios::app) << whole.substr(half + 10);
  EXPECT_TRUE(file.read_more());
  EXPECT_TRUE(file.closed());
  EXPECT_EQ(file.torn_bytes(), 0u);
  EXPECT_EQ(file.value_count(), 3u);
  EXPECT_EQ(name, "model.fc");
}

// What can be said of a file without its elements, and its elements.
std::string everything(const ValuesFile& file) {
  std::string out = std::to_string(file.process().pid) + " " + std::to_string(file.process().rank);
  for (const Watch& watch : file.watches()) out += watch.text + watch.origin;
  for (const Value& value : all(file)) {
    out += " " + std::to_string(value.serial) + std::string(value.name) + std::string(value.site) +
           std::to_string(value.step) + std::to_string(value.statistics ? value.statistics->mean : 0);
    if (const auto elements = file.elements_of(value)) out += elements->bytes;
  }
  for (const Call& call : all_calls(file)) out += std::string(call.module) + std::to_string(call.end_ns);
  for (const NonFinite& finding : file.findings()) out += finding.operation;
  for (const Loss& loss : file.losses()) out += loss.what;
  for (const Unmatched& row : file.unmatched()) out += row.nearest.front();
  return out;
}

TEST(ValuesFile, CutAtEveryByteItGivesWhatCameBeforeAndSaysSo) {
  const std::string whole = small_file().bytes();
  uint64_t most = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    try {
      ValuesFile file = opened(cut);
      EXPECT_FALSE(file.closed()) << size;
      EXPECT_THAT(file.problems(), IsEmpty()) << size;
      EXPECT_GE(file.value_count(), most) << size;
      most = file.value_count();
      EXPECT_EQ(all(file).size(), most);
      everything(file);
    } catch (const analyzer::BadInput& error) {
      EXPECT_EQ(most, 0u) << size;
      EXPECT_THAT(error.what(), HasSubstr("x.values"));
    }
  }
  EXPECT_EQ(most, 3u);
}

TEST(ValuesFile, EveryBitThatIsFlippedIsNoticed) {
  const std::string whole = small_file().bytes();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      ValuesFile file = opened(damaged);
      everything(file);
      EXPECT_TRUE(!file.closed() || !file.problems().empty()) << "bit " << bit << " was not noticed";
    } catch (const analyzer::BadInput&) {
    }
  }
}

TEST(ValuesFile, DamagedElementsAreNoticedWhenTheyAreAskedFor) {
  std::string bytes = small_file().bytes();
  bytes[bytes.find("warm-up")] ^= 1;
  ValuesFile file = opened(bytes);
  const std::vector<Value> values = all(file);
  EXPECT_THAT(floats(file.elements_of(values[0])), ElementsAre(1, -2, 0, 4));
  EXPECT_THAT(refusal([&] { file.elements_of(values[2]); }), HasSubstr("their checksum does not match"));
}

TEST(ValuesFile, NothingBehindADamagedChunkIsShownSinceTextsWouldBeOthers) {
  std::string bytes = small_file().bytes();
  bytes[bytes.find("model.fc")] ^= 1;  // in the watches
  ValuesFile file = opened(bytes);
  EXPECT_EQ(file.value_count(), 0u);
  ASSERT_EQ(file.problems().size(), 1u);
  EXPECT_THAT(file.problems()[0], HasSubstr("the checksum of its 'WTCH' chunk does not match"));
}

TEST(ValuesFile, OtherFilesAreRefusedByWhatTheyAre) {
  const std::string dump = testing::DumpBuilder().bytes();
  EXPECT_EQ(refusal([&] { opened(dump); }),
            "x.values is not a tensorscope values file: it is a dump; see tensorscope report.");
  const std::string values = small_file().bytes();
  EXPECT_EQ(refusal([&] { analyzer::read_dump_bytes(values.data(), values.size(), "x.tscope"); }),
            "x.tscope is not a tensorscope dump: it is a values file; see tensorscope values.");
  EXPECT_EQ(refusal([&] { opened(""); }), "x.values is empty; nothing was written into it.");
  EXPECT_THAT(refusal([&] { ValuesFile("/nowhere.values"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(refusal([&] { ValuesFile("/"); }), HasSubstr("give one of the .values files in it"));
}

// A chunk whose checksum is right and whose rows are not.
std::string with_row(const std::function<void(format::ValueRow&)>& change) {
  std::vector<Chunk> chunks = small_file().chunks();
  for (Chunk& chunk : chunks) {
    if (chunk.type != format::kValues) continue;
    auto* batch = flatbuffers::GetMutableSizePrefixedRoot<format::ValueBatch>(chunk.payload.data());
    change(*const_cast<format::ValueRow*>(batch->rows()->Get(0)));
    break;
  }
  return ValuesBuilder::frame(chunks);
}

TEST(ValuesFile, RowsThatContradictThemselvesAreLeftOutAndCounted) {
  using Row = format::ValueRow;
  // By position in the struct, as a struct's fields cannot be set.
  const auto set = [](size_t offset, auto number) {
    return [=](Row& row) { std::memcpy(reinterpret_cast<char*>(&row) + offset, &number, sizeof number); };
  };
  const auto offset = [](uint32_t (Row::*field)() const) {
    for (size_t at = 0; at + 4 <= sizeof(Row); at += 4) {
      Row row;
      const uint32_t mark = 0x12345678;
      std::memcpy(reinterpret_cast<char*>(&row) + at, &mark, sizeof mark);
      if ((row.*field)() == mark) return at;
    }
    return sizeof(Row);
  };
  const std::vector<std::function<void(Row&)>> changes = {
      set(0, uint64_t{0}),  // serial
      set(offset(&Row::name), uint32_t{1000}),
      set(offset(&Row::site), uint32_t{1000}),
      set(offset(&Row::shape), uint32_t{1000}),
      set(offset(&Row::statistics), uint32_t{1}),
      set(offset(&Row::statistics), UINT32_MAX),
  };
  for (const auto& change : changes) {
    const std::string bytes = with_row(change);
    ValuesFile file = opened(bytes);
    EXPECT_EQ(all(file).size(), 2u);
    ASSERT_EQ(file.problems().size(), 1u);
    EXPECT_EQ(file.problems()[0], "left out of x.values: 1 rows that contradict themselves.");
  }
}

TEST(ValuesFile, ElementsThatAreNotAsManyAsTheShapeSaysAreRefused) {
  const std::string bytes = with_row([](format::ValueRow& row) {
    // data_size is the tenth of the 8-byte fields.
    const uint64_t size = 8;
    std::memcpy(reinterpret_cast<char*>(&row) + 9 * 8, &size, sizeof size);
  });
  ValuesFile file = opened(bytes);
  EXPECT_THAT(refusal([&] { file.elements_of(all(file)[0]); }), HasSubstr("are not as many as its shape says"));
}

TEST(ValuesFile, RowsThatBeginWhereTheyMayNotAreMalformed) {
  for (const bool aligned : {true, false}) {
    std::vector<Chunk> chunks = small_file().chunks(false);
    chunks.push_back({format::kCalls, testing::payload_of_rows(0, sizeof(format::CallRow), 1, aligned)});
    const std::string bytes = ValuesBuilder::frame(chunks);
    ValuesFile file = opened(bytes);
    ASSERT_EQ(file.problems().size(), 1u);
    EXPECT_THAT(file.problems()[0],
                HasSubstr(aligned ? "1 rows that contradict themselves" : "its 'CALL' chunk is malformed"));
  }
}

TEST(ValuesFile, ChunksOfALaterVersionAreSkipped) {
  std::vector<Chunk> chunks = small_file().chunks(false);
  chunks.push_back({format::chunk_type("NEW!"), "anything"});
  const std::string bytes = ValuesBuilder::frame(chunks);
  ValuesFile file = opened(bytes);
  EXPECT_EQ(file.value_count(), 3u);
  EXPECT_THAT(file.problems(), IsEmpty());
}

TEST(ValuesFile, AnEndThatCountsMoreThanThereIsTellsOfALoss) {
  std::vector<Chunk> chunks = small_file().chunks();
  chunks.erase(chunks.begin() + 4);
  const std::string bytes = ValuesBuilder::frame(chunks);
  ValuesFile file = opened(bytes);
  EXPECT_THAT(file.problems(), ::testing::Contains(HasSubstr("chunks were lost")));
}

}  // namespace
}  // namespace tensorscope::values
