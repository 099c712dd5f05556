// SPDX-License-Identifier: Apache-2.0
#include "support/values_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "tensorscope/values_format.h"

namespace tensorscope::testing {

namespace {

using flatbuffers::FlatBufferBuilder;

Chunk values_chunk(uint32_t type, const std::function<flatbuffers::uoffset_t(FlatBufferBuilder&)>& make) {
  FlatBufferBuilder fbb;
  fbb.FinishSizePrefixed(flatbuffers::Offset<flatbuffers::Table>(make(fbb)));
  return {type, {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}};
}

format::ValueStatistics packed(const StatisticsSpec& in) {
  return {in.count,
          in.nan,
          in.positive_infinity,
          in.negative_infinity,
          in.zeros,
          in.minimum,
          in.maximum,
          in.mean,
          in.deviation,
          in.sum,
          in.l1,
          in.l2,
          in.hash};
}

constexpr uint16_t bit(format::ValueFlag flag) { return uint16_t(flag); }

}  // namespace

StatisticsSpec statistics_of(const std::vector<double>& numbers) {
  StatisticsSpec out;
  out.count = numbers.size();
  out.minimum = INFINITY, out.maximum = -INFINITY;
  for (double x : numbers) {
    if (std::isnan(x)) ++out.nan;
    if (std::isinf(x)) ++(x > 0 ? out.positive_infinity : out.negative_infinity);
    if (x == 0) ++out.zeros;
    if (!std::isfinite(x)) continue;
    out.minimum = std::min(out.minimum, x), out.maximum = std::max(out.maximum, x);
    out.sum += x, out.l1 += std::fabs(x), out.l2 += x * x;
  }
  const double finite = double(out.count - out.nan - out.positive_infinity - out.negative_infinity);
  if (finite == 0) out.minimum = out.maximum = 0;
  out.l2 = std::sqrt(out.l2);
  out.mean = finite == 0 ? 0 : out.sum / finite;
  for (double x : numbers) {
    if (std::isfinite(x)) out.deviation += (x - out.mean) * (x - out.mean);
  }
  out.deviation = finite > 1 ? std::sqrt(out.deviation / (finite - 1)) : 0;
  return out;
}

ValuesBuilder::ValuesBuilder() { string(""); }

uint32_t ValuesBuilder::string(std::string_view text) {
  if (auto found = string_ids_.find(text); found != string_ids_.end()) return found->second;
  const auto id = uint32_t(string_ids_.size());
  string_ids_.emplace(text, id);
  new_strings_.emplace_back(text);
  return id;
}

uint32_t ValuesBuilder::sizes(const std::vector<int64_t>& shape) {
  const auto first = uint32_t(sizes_.size());
  sizes_.insert(sizes_.end(), shape.begin(), shape.end());
  return first;
}

uint64_t ValuesBuilder::value(const ValueSpec& in) {
  serial_ = in.serial != 0 ? in.serial : serial_ + 1;
  if (time_ns_ == 0) time_ns_ = process.dump_ns;
  time_ns_ = in.time_ns != 0 ? in.time_ns : time_ns_ + 1'000'000'000;
  uint16_t flags = 0;
  std::optional<StatisticsSpec> statistics = in.statistics;
  if (!statistics && !in.numbers.empty()) statistics = statistics_of(in.numbers);
  if (statistics) {
    flags |= bit(format::ValueFlag::statistics);
    statistics_.push_back(packed(*statistics));
  }
  std::vector<int64_t> shape = in.shape;
  if (shape.empty() && in.numbers.size() > 1) shape = {int64_t(in.numbers.size())};
  const uint64_t begin = data_.size();
  if (in.elements) {
    flags |= bit(format::ValueFlag::elements);
    data_ += *in.elements;
  } else if (in.keep_elements && !in.numbers.empty()) {
    flags |= bit(format::ValueFlag::elements);
    for (double x : in.numbers) {
      const float element = float(x);
      data_.append(reinterpret_cast<const char*>(&element), sizeof element);
    }
  }
  if (in.same_as != 0) flags |= bit(format::ValueFlag::unchanged);
  if (in.kept_shape) flags |= bit(format::ValueFlag::sliced);
  if (in.not_read) flags |= bit(format::ValueFlag::not_read);
  const std::vector<int64_t> kept = in.kept_shape.value_or(std::vector<int64_t>{});
  const uint32_t first = sizes(shape), first_kept = sizes(kept);
  rows_.emplace_back(serial_, time_ns_, in.same_as, in.tensor, in.call, in.integer, in.number, in.imaginary, begin,
                     data_.size() - begin, string(in.name), string(in.module), string(in.operation), string(in.site),
                     string(in.note), in.watch, in.step, in.pass, in.index, in.thread, first, first_kept,
                     uint32_t(statistics_.empty() ? 0 : statistics_.size() - 1), in.mode, in.kind, in.place,
                     uint8_t(shape.size()), uint8_t(kept.size()), in.dtype, in.stored_dtype, in.device_type,
                     in.device_index, 0, flags);
  for (const auto& [what, numbers] : in.series) series_.push_back({serial_, what, numbers});
  ++values_;
  return serial_;
}

uint64_t ValuesBuilder::call(const CallSpec& in) {
  call_id_ = in.id != 0 ? in.id : call_id_ + 1;
  uint16_t flags = 0;
  if (in.raised) flags |= uint16_t(format::CallFlag::raised);
  if (in.backward) flags |= uint16_t(format::CallFlag::backward);
  if (in.unfinished) flags |= uint16_t(format::CallFlag::unfinished);
  call_rows_.emplace_back(call_id_, in.parent, in.begin_ns, in.end_ns, in.live_before, in.live_after, in.peak, in.saved,
                          string(in.module), string(in.class_name), string(in.site), in.step, in.pass, in.index,
                          in.thread, in.mode, in.device_type, flags);
  ++calls_;
  return call_id_;
}

void ValuesBuilder::flush(size_t pieces) {
  if (!new_strings_.empty()) {
    chunks_.push_back(values_chunk(format::kStrings, [&](FlatBufferBuilder& fbb) {
      return format::CreateStrings(fbb, fbb.CreateVectorOfStrings(new_strings_)).o;
    }));
    new_strings_.clear();
  }
  if (!call_rows_.empty()) {
    chunks_.push_back(values_chunk(format::kCalls, [&](FlatBufferBuilder& fbb) {
      return format::CreateCalls(fbb, fbb.CreateVectorOfStructs(call_rows_)).o;
    }));
    call_rows_.clear();
  }
  if (rows_.empty()) return;
  const size_t piece = (data_.size() + pieces - 1) / pieces;
  for (size_t at = 0; at < data_.size(); at += piece) {
    chunks_.push_back(values_chunk(format::kValueData, [&](FlatBufferBuilder& fbb) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(data_.data()) + at;
      return format::CreateValueData(fbb, fbb.CreateVector(bytes, std::min(piece, data_.size() - at))).o;
    }));
  }
  chunks_.push_back(values_chunk(format::kValues, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::ValueSeries>> series;
    for (const SeriesRow& row : series_) {
      const auto what = fbb.CreateString(row.what);
      series.push_back(format::CreateValueSeries(fbb, row.value, what, fbb.CreateVector(row.numbers)));
    }
    const auto rows = fbb.CreateVectorOfStructs(rows_);
    const auto statistics = fbb.CreateVectorOfStructs(statistics_);
    const auto sizes = fbb.CreateVector(sizes_);
    return format::CreateValueBatch(fbb, rows, statistics, sizes, fbb.CreateVector(series)).o;
  }));
  rows_.clear(), statistics_.clear(), sizes_.clear(), series_.clear(), data_.clear();
}

void ValuesBuilder::finding(const NonFiniteSpec& in) {
  flush();
  chunks_.push_back(values_chunk(format::kNonFinite, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::FoundInput>> inputs;
    for (const auto& [text, statistics] : in.inputs) {
      const format::ValueStatistics row = packed(statistics);
      const auto words = fbb.CreateString(text);
      inputs.push_back(format::CreateFoundInput(fbb, words, &row));
    }
    const format::ValueStatistics statistics = packed(in.statistics);
    const auto operation = fbb.CreateString(in.operation), module = fbb.CreateString(in.module),
               site = fbb.CreateString(in.site), headline = fbb.CreateString(in.headline);
    const auto stack = fbb.CreateVectorOfStrings(in.stack);
    const auto sizes = fbb.CreateVector(in.sizes);
    return format::CreateNonFinite(fbb, in.time_ns, in.step, in.pass, in.mode, in.backward, operation, module, site,
                                   stack, in.dtype, sizes, &statistics, fbb.CreateVector(inputs), headline)
        .o;
  }));
}

void ValuesBuilder::losses(const std::vector<std::tuple<std::string, uint64_t, std::string>>& rows) {
  flush();
  chunks_.push_back(values_chunk(format::kLosses, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::Loss>> values;
    for (const auto& [what, count, detail] : rows) {
      const auto words = fbb.CreateString(what), more = fbb.CreateString(detail);
      values.push_back(format::CreateLoss(fbb, words, count, more));
    }
    return format::CreateLosses(fbb, fbb.CreateVector(values)).o;
  }));
}

void ValuesBuilder::unmatched(uint32_t watch, const std::vector<std::string>& nearest) {
  flush();
  chunks_.push_back(values_chunk(format::kUnmatched, [&](FlatBufferBuilder& fbb) {
    const std::vector<flatbuffers::Offset<format::Unmatched>> values = {
        format::CreateUnmatched(fbb, watch, fbb.CreateVectorOfStrings(nearest))};
    return format::CreateUnmatcheds(fbb, fbb.CreateVector(values)).o;
  }));
}

std::vector<Chunk> ValuesBuilder::chunks(bool closed) {
  flush();
  std::vector<Chunk> out;
  for (const Chunk& chunk : process.chunks()) {
    if (chunk.type == format::kProcess) out.push_back(chunk);
  }
  out.push_back(values_chunk(format::kWatches, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::Watch>> values;
    for (const WatchSpec& watch : watches_) {
      const auto text = fbb.CreateString(watch.text.empty() ? watch.path : watch.text),
                 path = fbb.CreateString(watch.path), origin = fbb.CreateString(watch.origin);
      values.push_back(format::CreateWatch(fbb, text, path, watch.full, origin));
    }
    return format::CreateWatches(fbb, fbb.CreateVector(values), find_nan, calls).o;
  }));
  out.insert(out.end(), chunks_.begin(), chunks_.end());
  if (closed) {
    out.push_back(values_chunk(format::kValuesEnd, [&](FlatBufferBuilder& fbb) {
      return format::CreateValuesEnd(fbb, time_ns_, uint32_t(out.size()), values_, calls_).o;
    }));
  }
  return out;
}

std::string ValuesBuilder::frame(const std::vector<Chunk>& chunks) {
  format::FileHeader header{};
  std::memcpy(header.magic, format::kValuesMagic, sizeof header.magic);
  header.major = format::kValuesMajor;
  header.minor = format::kValuesMinor;
  header.checksum = format::header_checksum(header);
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  // A dump's framing without its file header.
  return out + DumpBuilder::frame(chunks, false).substr(sizeof header);
}

void ValuesBuilder::write(const std::string& path, bool closed) {
  std::ofstream file(path, std::ios::binary);
  file << bytes(closed);
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace tensorscope::testing
