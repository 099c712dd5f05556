// SPDX-License-Identifier: Apache-2.0
#include "values/values_file.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "dump/chunk_root.h"
#include "dump/dump_decoder.h"
#include "dump/reader.h"
#include "values/decode.h"
#include "values/element_type.h"
#include "values/sound_rows.h"

namespace tensorscope::values {

namespace {

constexpr analyzer::FileKind kFileKind = {format::kValuesMagic, format::kValuesMajor, "values file"};

template <typename Root>
const Root* verified(const std::vector<uint64_t>& payload, uint64_t length) {
  return analyzer::chunk_root<Root>(reinterpret_cast<const uint8_t*>(payload.data()), size_t(length));
}

// Of a chunk that was verified before.
template <typename Root>
const Root& root_of(const std::vector<uint64_t>& payload) {
  return *flatbuffers::GetSizePrefixedRoot<Root>(payload.data());
}

}  // namespace

double Statistics::absmax() const { return std::max(std::fabs(minimum), std::fabs(maximum)); }

ValuesFile::ValuesFile(const std::string& path) : ValuesFile(analyzer::open_file(path, ".values"), path) {}

ValuesFile::ValuesFile(std::unique_ptr<analyzer::ByteSource> source, const std::string& path)
    : path_(path), name_(path.substr(path.rfind('/') + 1)), chunks_(std::move(source), name_) {
  analyzer::check_file_header(chunks_.source(), name_, kFileKind);
  read_more();
  if (has_process_) return;
  const std::vector<std::string> found = chunk_problems();
  throw analyzer::BadInput(found.empty() ? name_ + " ends before it names its process; nothing can be shown."
                                         : found.front() + " It does not name its process; nothing can be shown.");
}

bool ValuesFile::read_more() {
  return chunks_.go_on([this](const ChunkPlace& place, const Payload& payload) { return take(place, payload); });
}

// What is wrong with the chunks; rows are not looked at.
std::vector<std::string> ValuesFile::chunk_problems() const {
  std::vector<std::string> out;
  if (chunks_lost_) out.push_back("the end of " + name_ + " does not match the chunks before it: chunks were lost.");
  if (!chunks_.damage().empty()) out.push_back(chunks_.damage());
  return out;
}

std::vector<std::string> ValuesFile::problems() const {
  std::vector<std::string> out = chunk_problems();
  if (left_out_ != 0) {
    out.push_back("left out of " + name_ + ": " + analyzer::with_commas(left_out_) +
                  " rows that contradict themselves.");
  }
  return out;
}

// False: it is not what its type says.
bool ValuesFile::take(const ChunkPlace& place, const Payload& payload) {
  const uint64_t length = place.header.length;
  const auto one = [&]<typename Root>(const Root*, const auto& taker) {
    const Root* in = verified<Root>(payload, length);
    if (in != nullptr) taker(*in);
    return in != nullptr;
  };
  switch (place.header.type) {
    case format::kValueData:
      elements_.add(place);
      return true;
    case format::kProcess:
      return take_process(place, payload);
    case format::kStrings: {
      const auto* in = verified<format::Strings>(payload, length);
      return in != nullptr && take_strings(*in, length);
    }
    case format::kWatches:
      return one(static_cast<format::Watches*>(nullptr), [&](const auto& in) { take_watches(in); });
    case format::kValues:
      return one(static_cast<format::ValueBatch*>(nullptr), [&](const auto& in) { take_values(place, in); });
    case format::kCalls:
      return one(static_cast<format::Calls*>(nullptr), [&](const auto& in) { take_calls(place, in); });
    case format::kNonFinite:
      return one(static_cast<format::NonFinite*>(nullptr),
                 [&](const auto& in) { findings_.push_back(finding_of(in)); });
    case format::kLosses:
      return one(static_cast<format::Losses*>(nullptr), [&](const auto& in) { take_losses(in); });
    case format::kUnmatched:
      return one(static_cast<format::Unmatcheds*>(nullptr), [&](const auto& in) { take_unmatched(in); });
    case format::kValuesEnd:
      return one(static_cast<format::ValuesEnd*>(nullptr), [&](const auto& in) { take_end(in); });
    default:
      return true;  // of a later minor version
  }
}

bool ValuesFile::take_process(const ChunkPlace& place, const Payload& payload) {
  analyzer::Dump dump;
  analyzer::DumpDecoder rows(dump, name_);
  rows.add({place.header.type, reinterpret_cast<const uint8_t*>(payload.data()), size_t(place.header.length),
            place.offset, chunks_.chunks()});
  if (!rows.has_process()) return false;
  process_ = std::move(dump.process);
  has_process_ = true;
  return true;
}

// FlatBuffers may refer to one text many times; more than the chunk is long is not taken.
bool ValuesFile::take_strings(const format::Strings& in, uint64_t length) {
  uint64_t taken = 0;
  for (size_t i = 0; i < size_of(in.values()); ++i) {
    const auto* text = in.values()->Get(flatbuffers::uoffset_t(i));
    if ((taken += text->size()) > length) return false;
    strings_.push_back(text->str());
  }
  return true;
}

void ValuesFile::take_watches(const format::Watches& in) {
  watches_.clear();
  for (size_t i = 0; i < size_of(in.values()); ++i) {
    const format::Watch* watch = in.values()->Get(flatbuffers::uoffset_t(i));
    watches_.push_back({str(watch->text()), str(watch->path()), str(watch->origin()), watch->full()});
  }
  find_nan_ = in.find_nan();
  calls_recorded_ = in.calls();
}

void ValuesFile::take_values(const ChunkPlace& place, const format::ValueBatch& in) {
  ValueChunk chunk{place, UINT64_MAX, 0, data_taken_, elements_.size(), strings_.size()};
  data_taken_ = elements_.size();
  for (size_t i = 0; i < size_of(in.rows()); ++i) {
    const format::ValueRow* row = in.rows()->Get(flatbuffers::uoffset_t(i));
    if (!sound_row(*row, in, chunk.strings)) {
      ++left_out_;
      continue;
    }
    ++values_;
    chunk.smallest = std::min(chunk.smallest, row->serial());
    chunk.largest = std::max(chunk.largest, row->serial());
  }
  value_chunks_.push_back(chunk);
}

void ValuesFile::take_calls(const ChunkPlace& place, const format::Calls& in) {
  for (size_t i = 0; i < size_of(in.rows()); ++i) {
    ++(sound_call(*in.rows()->Get(flatbuffers::uoffset_t(i)), strings_.size()) ? calls_ : left_out_);
  }
  call_chunks_.push_back({place, strings_.size()});
}

void ValuesFile::take_losses(const format::Losses& in) {
  losses_.clear();
  for (size_t i = 0; i < size_of(in.values()); ++i) {
    const format::Loss* loss = in.values()->Get(flatbuffers::uoffset_t(i));
    losses_.push_back({str(loss->what()), str(loss->detail()), loss->count()});
  }
}

void ValuesFile::take_unmatched(const format::Unmatcheds& in) {
  for (size_t i = 0; i < size_of(in.values()); ++i) {
    const format::Unmatched* row = in.values()->Get(flatbuffers::uoffset_t(i));
    if (row->watch() >= watches_.size()) {
      ++left_out_;
      continue;
    }
    Unmatched out{row->watch(), {}};
    for (size_t j = 0; j < size_of(row->nearest()); ++j) {
      out.nearest.push_back(str(row->nearest()->Get(flatbuffers::uoffset_t(j))));
    }
    unmatched_.push_back(std::move(out));
  }
}

void ValuesFile::take_end(const format::ValuesEnd& in) {
  chunks_.close();
  chunks_lost_ = in.chunks() != chunks_.chunks() || in.values() + in.calls() != values_ + calls_ + left_out_;
}

// False: f did not want more.
bool ValuesFile::each_row(size_t chunk,
                          const std::function<bool(const format::ValueRow&, const format::ValueBatch&)>& f) const {
  const ValueChunk& place = value_chunks_[chunk];
  const std::shared_ptr<const Payload> payload = chunks_.payload(place.place);
  const auto& batch = root_of<format::ValueBatch>(*payload);
  for (size_t i = 0; i < size_of(batch.rows()); ++i) {
    const format::ValueRow* row = batch.rows()->Get(flatbuffers::uoffset_t(i));
    if (sound_row(*row, batch, place.strings) && !f(*row, batch)) return false;
  }
  return true;
}

Value ValuesFile::decoded(const format::ValueRow& row, const format::ValueBatch& batch, size_t chunk) const {
  Value value = value_of(row, batch, strings_);
  value.time_ns = std::max(value.time_ns, process_.dump_ns);
  if (value.watch >= watches_.size()) value.watch = analyzer::kNone;
  value.chunk = chunk;
  return value;
}

void ValuesFile::for_each_value_after(uint64_t serial, const std::function<bool(const Value&)>& f) const {
  for (size_t chunk = 0; chunk < value_chunks_.size(); ++chunk) {
    if (value_chunks_[chunk].largest <= serial) continue;
    std::unordered_map<uint64_t, std::vector<Series>> series;  // by the serial of their value
    const format::ValueBatch* gathered = nullptr;
    const bool more = each_row(chunk, [&](const format::ValueRow& row, const format::ValueBatch& batch) {
      if (gathered != &batch) {
        gathered = &batch;
        for (size_t i = 0; i < size_of(batch.series()); ++i) {
          const format::ValueSeries* in = batch.series()->Get(flatbuffers::uoffset_t(i));
          std::vector<double> numbers;
          if (in->numbers()) numbers.assign(in->numbers()->begin(), in->numbers()->end());
          series[in->value()].push_back({str(in->what()), std::move(numbers)});
        }
      }
      if (row.serial() <= serial) return true;
      Value value = decoded(row, batch, chunk);
      if (const auto found = series.find(value.serial); found != series.end()) value.series = found->second;
      return f(value);
    });
    if (!more) return;
  }
}

void ValuesFile::for_each_value(const std::function<bool(const Value&)>& f) const { for_each_value_after(0, f); }

std::optional<Value> ValuesFile::value(uint64_t serial) const {
  std::optional<Value> found;
  for (size_t chunk = value_chunks_.size(); chunk-- > 0 && !found;) {
    if (value_chunks_[chunk].smallest > serial || value_chunks_[chunk].largest < serial) continue;
    each_row(chunk, [&](const format::ValueRow& row, const format::ValueBatch& batch) {
      if (row.serial() == serial) found = decoded(row, batch, chunk);
      return !found;
    });
  }
  return found;
}

void ValuesFile::for_each_call(const std::function<bool(const Call&)>& f) const {
  for (const CallChunk& chunk : call_chunks_) {
    const std::shared_ptr<const Payload> payload = chunks_.payload(chunk.place);
    const auto& calls = root_of<format::Calls>(*payload);
    for (size_t i = 0; i < size_of(calls.rows()); ++i) {
      const format::CallRow& row = *calls.rows()->Get(flatbuffers::uoffset_t(i));
      if (sound_call(row, chunk.strings) && !f(call_of(row, strings_))) return;
    }
  }
}

std::optional<Elements> ValuesFile::elements_of(const Value& wanted_of) const {
  Value value = wanted_of;
  while (!value.stored) {
    if (!value.unchanged()) return std::nullopt;
    std::optional<Value> earlier = this->value(value.same_as);  // a smaller serial: this ends
    if (!earlier) throw analyzer::BadInput("the elements of " + std::string(value.name) + " are not in " + name_ + ".");
    value = std::move(*earlier);
  }
  const ValueChunk& chunk = value_chunks_[value.chunk];
  const ElementChunks::Range range = {
      .first_chunk = chunk.data_begin, .end_chunk = chunk.data_end, .begin = value.data_begin, .size = value.data_size};
  Elements out{value.stored_dtype, value.kept_shape, elements_.read(chunks_.source(), name_, range)};
  const size_t size = value.is_tensor() ? element_size(out.dtype) : 0;
  uint64_t wanted = value.data_size;
  const bool overflows = size != 0 && __builtin_mul_overflow(element_count(out.shape), uint64_t(size), &wanted);
  if (overflows || out.bytes.size() != value.data_size || wanted != value.data_size) {
    throw analyzer::BadInput("the elements of " + std::string(value.name) + " in " + name_ +
                             " are not as many as its shape says.");
  }
  return out;
}

}  // namespace tensorscope::values
