// SPDX-License-Identifier: Apache-2.0
#include "values_file/value_writer.h"

#include <string.h>

#include <algorithm>

#include "dump/chunk.h"
#include "dump/process_chunks.h"
#include "support/clock.h"
#include "support/message.h"
#include "support/process_info.h"
#include "tensorscope/values_format.h"
#include "torch/metadata/shared_object_map.h"
#include "torch/metadata/torch_version.h"

namespace tensorscope::values_file {

namespace {

using format::ValueFlag;

constexpr size_t kMaxData = size_t{256} << 20;   // of one chunk
constexpr size_t kPieceBytes = size_t{4} << 20;  // of rows that are written together

bool has_part(const format::ValueRow& row, ValueFlag flag) { return (row.flags() & uint16_t(flag)) != 0; }

// Those of the values of these rows.
std::vector<flatbuffers::Offset<format::ValueSeries>> series_of(const ValueBatch& batch,
                                                                flatbuffers::FlatBufferBuilder& b, size_t begin,
                                                                size_t end) {
  std::vector<flatbuffers::Offset<format::ValueSeries>> all;
  const uint64_t first = batch.rows[begin].serial(), last = batch.rows[end - 1].serial();
  const auto* row = std::partition_point(batch.series.begin(), batch.series.end(),
                                         [&](const SeriesRow& each) { return each.value < first; });
  for (; row != batch.series.end() && row->value <= last; ++row) {
    auto what = b.CreateString(row->what);
    auto numbers = b.CreateVector(batch.numbers.begin() + row->begin, row->count);
    all.push_back(format::CreateValueSeries(b, row->value, what, numbers));
  }
  return all;
}

}  // namespace

const dump::FileKind ValueWriter::kFile = {".values", format::kValuesMagic, format::kValuesMajor, format::kValuesMinor};

class ValueWriter::ValuesChunk {
 public:
  explicit ValuesChunk(uint32_t type, size_t expected = 4096) : builder_(expected), type_(type) {}
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  template <typename Table>
  bool append_to(ValueWriter& writer, flatbuffers::Offset<Table> root) {
    builder_.FinishSizePrefixed(root);
    return writer.append(type_, builder_.GetBufferPointer(), builder_.GetSize());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  uint32_t type_;
};

bool ValueWriter::fail() {
  if (!failed_.exchange(true)) {
    say("values are no longer recorded: could not %s %s: %s", file_.failed(),
        file_.exists() ? file_.path() : "for values", strerror(file_.error()));
  }
  return false;
}

bool ValueWriter::append(uint32_t type, const void* flatbuffer, size_t size) {
  return file_.append(type, flatbuffer, size) || fail();
}

bool ValueWriter::begin() {
  if (!file_.create(dump::directory_of_files().c_str())) {
    return fail();
  }
  dump::DumpFacts facts;
  facts.reason = dump::Reason::call;
  facts.detail = "values";
  torch::SharedObjectMap modules;
  torch::TorchFunctions functions;
  if (modules.refresh()) {
    torch::resolve_torch_functions(functions);
    facts.torch_version = torch::torch_version(modules, functions);
  }
  dump::Chunk process(format::kProcess);
  process.builder().FinishSizePrefixed(dump::process_table(facts, "", monotonic_ns(), {}, process));
  if (!file_.append(format::kProcess, process.builder().GetBufferPointer(), process.builder().GetSize())) {
    return fail();
  }
  ValuesChunk chunk(format::kWatches);
  std::vector<flatbuffers::Offset<format::Watch>> watches;
  for (const WatchText& watch : settings_.watches) {
    auto text = chunk.builder().CreateString(watch.text);
    auto path = chunk.builder().CreateString(watch.path);
    auto origin = chunk.builder().CreateString(watch.origin);
    watches.push_back(format::CreateWatch(chunk.builder(), text, path, watch.full, origin));
  }
  auto rows = chunk.builder().CreateVector(watches);
  return chunk.append_to(*this, format::CreateWatches(chunk.builder(), rows, settings_.find_nan, settings_.calls));
}

bool ValueWriter::write_texts(uint32_t count, FunctionRef<std::string(uint32_t)> text_of) {
  if (!file_.exists() && !begin()) return false;
  if (texts_ >= count) return true;
  ValuesChunk chunk(format::kStrings);
  std::vector<flatbuffers::Offset<flatbuffers::String>> texts;
  for (uint32_t i = texts_; i < count; ++i) {
    std::string text = text_of(i);
    if (!dump::Chunk::is_utf8(text.data(), text.size())) text = dump::Chunk::as_utf8(text.data(), text.size());
    texts.push_back(chunk.builder().CreateString(text));
  }
  auto values = chunk.builder().CreateVector(texts);
  if (!chunk.append_to(*this, format::CreateStrings(chunk.builder(), values))) return false;
  texts_ = count;
  return true;
}

// The FlatBuffer of so many elements is that of few whose number has the same rest, but for two lengths: elements are
// written from where they are.
bool ValueWriter::write_part_of_data(const uint8_t* data, size_t size) {
  constexpr size_t kAlignment = 8;
  const size_t few = size % kAlignment;
  flatbuffers::FlatBufferBuilder b;
  b.FinishSizePrefixed(format::CreateValueData(b, b.CreateVector(data, few)));
  uint8_t* const begin = b.GetBufferPointer();
  const auto lengthen = [&](uint8_t* length) {
    flatbuffers::WriteScalar(length, uint32_t(flatbuffers::ReadScalar<uint32_t>(length) + (size - few)));
  };
  uint8_t* const vector = const_cast<uint8_t*>(
      reinterpret_cast<const uint8_t*>(flatbuffers::GetSizePrefixedRoot<format::ValueData>(begin)->data()));
  lengthen(begin);
  lengthen(vector);
  uint8_t* const elements = vector + sizeof(uint32_t);
  const dump::AppendedFile::Part parts[] = {{begin, size_t(elements - begin)},
                                            {data, size},
                                            {elements + few, size_t(begin + b.GetSize() - (elements + few))}};
  if (file_.append(format::kValueData, parts)) return true;
  return fail();
}

bool ValueWriter::write_data(const uint8_t* data, size_t size) {
  for (size_t begin = 0; begin < size; begin += kMaxData) {
    if (!write_part_of_data(data + begin, std::min(kMaxData, size - begin))) return false;
  }
  return true;
}

// Where the parts of the rows begin, in the arrays of a batch.
struct ValueWriter::PartsAt {
  size_t statistics, sizes, data;
};

// Of the first row from `row` on that has each; `end` where none has.
ValueWriter::PartsAt ValueWriter::parts_at(const ValueBatch& batch, size_t row, const PartsAt& end) {
  PartsAt at = end;
  bool statistics = false, sizes = false, data = false;
  for (; row < batch.rows.size() && !(statistics && sizes && data); ++row) {
    const format::ValueRow& each = batch.rows[row];
    if (!statistics && has_part(each, ValueFlag::statistics)) statistics = true, at.statistics = each.statistics();
    if (!sizes && each.ndim() != 0) sizes = true, at.sizes = each.shape();  // before kept_shape
    if (!data && has_part(each, ValueFlag::elements)) data = true, at.data = each.data_begin();
  }
  return at;
}

// A piece of rows with all that they have, so that a disk that becomes full costs one piece.
bool ValueWriter::write_piece(ValueBatch& batch, size_t begin, size_t end, const PartsAt& from, const PartsAt& to) {
  for (size_t i = begin; i < end; ++i) {
    format::ValueRow& row = batch.rows[i];
    if (has_part(row, ValueFlag::statistics)) row.mutate_statistics(uint32_t(row.statistics() - from.statistics));
    if (row.ndim() != 0) row.mutate_shape(uint32_t(row.shape() - from.sizes));
    if (row.kept_ndim() != 0) row.mutate_kept_shape(uint32_t(row.kept_shape() - from.sizes));
    if (has_part(row, ValueFlag::elements)) row.mutate_data_begin(row.data_begin() - from.data);
  }
  if (!write_data(batch.data.begin() + from.data, to.data - from.data)) return false;
  ValuesChunk chunk(format::kValues, (end - begin) * sizeof(format::ValueRow) + 4096);
  flatbuffers::FlatBufferBuilder& b = chunk.builder();
  auto rows = b.CreateVectorOfStructs(batch.rows.begin() + begin, end - begin);
  auto statistics =
      b.CreateVectorOfStructs(batch.statistics.begin() + from.statistics, to.statistics - from.statistics);
  auto sizes = b.CreateVector(batch.sizes.begin() + from.sizes, to.sizes - from.sizes);
  auto series = b.CreateVector(series_of(batch, b, begin, end));
  if (!chunk.append_to(*this, format::CreateValueBatch(b, rows, statistics, sizes, series))) return false;
  values_ += end - begin;
  return true;
}

bool ValueWriter::write_values(ValueBatch& batch) {
  const PartsAt whole = {batch.statistics.size(), batch.sizes.size(), batch.data.size()};
  for (size_t begin = 0; begin < batch.rows.size();) {
    size_t bytes = 0, end = begin;
    do {
      bytes +=
          sizeof(format::ValueRow) + (has_part(batch.rows[end], ValueFlag::elements) ? batch.rows[end].data_size() : 0);
      ++end;
    } while (end < batch.rows.size() && bytes < kPieceBytes);
    const PartsAt from = parts_at(batch, begin, whole), to = parts_at(batch, end, whole);
    if (!write_piece(batch, begin, end, from, to)) return false;
    begin = end;
  }
  return true;
}

bool ValueWriter::write_calls(const ValueBatch& batch) {
  for (size_t begin = 0; begin < batch.calls.size(); begin += kMaxRows) {
    const size_t count = std::min(kMaxRows, batch.calls.size() - begin);
    ValuesChunk chunk(format::kCalls, count * sizeof(format::CallRow) + 1024);
    auto rows = chunk.builder().CreateVectorOfStructs(batch.calls.data() + begin, count);
    if (!chunk.append_to(*this, format::CreateCalls(chunk.builder(), rows))) return false;
    calls_ += count;
  }
  return true;
}

bool ValueWriter::write_findings(const ValueBatch& batch) {
  for (size_t at = 0; at < batch.findings.size();) {
    uint64_t size;
    memcpy(&size, batch.findings.data() + at, sizeof size);
    if (!file_.append(format::kNonFinite, batch.findings.data() + at + sizeof size, size)) {
      return fail();
    }
    ++findings_;
    at += sizeof size + size;
  }
  return true;
}

bool ValueWriter::write_batch(ValueBatch& batch) {
  return write_values(batch) && write_calls(batch) && write_findings(batch);
}

void ValueWriter::keep_limit() {
  if (file_.bytes() <= settings_.most_bytes) return;
  failed_ = true;
  say("values are no longer recorded: %s has reached its limit", file_.path());
}

bool ValueWriter::write_losses(const LossRow* losses, size_t count) {
  ValuesChunk chunk(format::kLosses);
  std::vector<flatbuffers::Offset<format::Loss>> rows;
  for (size_t i = 0; i < count; ++i) {
    auto what = chunk.builder().CreateString(losses[i].what);
    auto detail = chunk.builder().CreateString(losses[i].detail);
    rows.push_back(format::CreateLoss(chunk.builder(), what, losses[i].count, detail));
  }
  auto values = chunk.builder().CreateVector(rows);
  return chunk.append_to(*this, format::CreateLosses(chunk.builder(), values));
}

bool ValueWriter::write_end(const std::vector<UnmatchedWatch>& unmatched) {
  if (!file_.exists() && !begin()) return false;
  if (!unmatched.empty()) {
    ValuesChunk chunk(format::kUnmatched);
    std::vector<flatbuffers::Offset<format::Unmatched>> rows;
    for (const UnmatchedWatch& each : unmatched) {
      std::vector<flatbuffers::Offset<flatbuffers::String>> names;
      for (const std::string& name : each.nearest) names.push_back(chunk.builder().CreateString(name));
      auto nearest = chunk.builder().CreateVector(names);
      rows.push_back(format::CreateUnmatched(chunk.builder(), each.watch, nearest));
    }
    auto values = chunk.builder().CreateVector(rows);
    if (!chunk.append_to(*this, format::CreateUnmatcheds(chunk.builder(), values))) return false;
  }
  ValuesChunk chunk(format::kValuesEnd);
  return chunk.append_to(*this,
                         format::CreateValuesEnd(chunk.builder(), monotonic_ns(), file_.chunks(), values_, calls_));
}

StoreTotals ValueWriter::totals() const { return {values_, calls_, findings_, file_.bytes(), file_.path()}; }

}  // namespace tensorscope::values_file
