// SPDX-License-Identifier: Apache-2.0
#include "values/values_file.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "dump/chunk_reader.h"
#include "dump/chunk_root.h"
#include "dump/dump_decoder.h"
#include "dump/reader.h"
#include "values/element_type.h"
#include "values/sound_rows.h"

namespace tensorscope::values {

namespace {

constexpr analyzer::FileKind kFileKind = {format::kValuesMagic, format::kValuesMajor, "values file"};

std::string str(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

std::vector<int64_t> taken(const flatbuffers::Vector<int64_t>* sizes, uint32_t first, uint8_t count) {
  if (count == 0) return {};
  return {sizes->data() + first, sizes->data() + first + count};
}

Statistics statistics_of(const format::ValueStatistics& in) {
  return {in.count(),
          in.nan(),
          in.positive_infinity(),
          in.negative_infinity(),
          in.zeros(),
          in.minimum(),
          in.maximum(),
          in.mean(),
          in.deviation(),
          in.sum(),
          in.l1(),
          in.l2(),
          in.hash()};
}

std::optional<Statistics> statistics_of(const format::ValueStatistics* in) {
  if (in == nullptr || !sound_statistics(*in)) return std::nullopt;
  return statistics_of(*in);
}

format::StepMode known(format::StepMode mode) {
  return mode > format::StepMode::MAX ? format::StepMode::unknown : mode;
}

template <typename Root>
const Root* verified(const std::vector<uint64_t>& payload, uint64_t length) {
  return analyzer::chunk_root<Root>(reinterpret_cast<const uint8_t*>(payload.data()), size_t(length));
}

// Of a chunk that was verified before.
template <typename Root>
const Root& root_of(const std::vector<uint64_t>& payload) {
  return *flatbuffers::GetSizePrefixedRoot<Root>(payload.data());
}

std::string chunk_letters(uint32_t type) {
  std::string letters;
  for (int shift = 0; shift < 32; shift += 8) {
    const char c = char(type >> shift);
    letters += c > ' ' && c < 127 ? c : '?';
  }
  return letters;
}

}  // namespace

double Statistics::absmax() const { return std::max(std::fabs(minimum), std::fabs(maximum)); }

ValuesFile::ValuesFile(const std::string& path) : ValuesFile(analyzer::open_file(path, ".values"), path) {}

ValuesFile::ValuesFile(std::unique_ptr<analyzer::ByteSource> source, const std::string& path)
    : path_(path), name_(path.substr(path.rfind('/') + 1)), source_(std::move(source)) {
  analyzer::check_file_header(*source_, name_, kFileKind);
  walk();
  if (has_process_) return;
  throw analyzer::BadInput(problems_.empty()
                               ? name_ + " ends before it names its process; nothing can be shown."
                               : problems_.front() + " It does not name its process; nothing can be shown.");
}

bool ValuesFile::read_more() {
  const uint32_t before = chunks_;
  source_->refresh_size();
  walk();
  return chunks_ != before;
}

std::vector<std::string> ValuesFile::problems() const {
  std::vector<std::string> out = problems_;
  if (left_out_ != 0) {
    out.push_back("left out of " + name_ + ": " + analyzer::with_commas(left_out_) +
                  " rows that contradict themselves.");
  }
  return out;
}

void ValuesFile::walk() {
  while (!closed_ && !damaged_ && take_chunk()) {
  }
  if (closed_ && end_ < source_->size() && !damaged_) {
    damage(analyzer::with_commas(source_->size() - end_) + " bytes follow after its end; they were not read");
  }
}

bool ValuesFile::damage(const std::string& what) {
  damaged_ = true;
  problems_.push_back(name_ + " is damaged at byte " + analyzer::with_commas(end_) + ": " + what + ".");
  return false;
}

// False: there is no further whole chunk.
bool ValuesFile::take_chunk() {
  const uint64_t left = source_->size() > end_ ? source_->size() - end_ : 0;
  ChunkPlace place{end_, {}};
  format::ChunkHeader& header = place.header;
  if (left < sizeof header || source_->read(end_, &header, sizeof header) < sizeof header) return false;
  if (header.reserved != 0 || header.length > format::kMaxChunkBytes) {
    return damage("the header of a chunk is invalid; what came before is shown");
  }
  const uint64_t size = sizeof header + header.length + format::padding(header.length);
  if (size > left) return false;
  if (header.type == format::kValueData) {
    elements_.add(place);
  } else {
    Payload payload;
    if (!read_payload(place, payload)) {
      return damage("the checksum of its '" + chunk_letters(header.type) +
                    "' chunk does not match; what came before is shown");
    }
    if (!take(place, payload)) {
      return damage("its '" + chunk_letters(header.type) + "' chunk is malformed; what came before is shown");
    }
  }
  ++chunks_;
  end_ += size;
  return true;
}

// False: it cannot be read, or its checksum is wrong.
bool ValuesFile::read_payload(const ChunkPlace& place, Payload& out) const {
  const format::ChunkHeader& header = place.header;
  out.assign(size_t(header.length / 8 + 1), 0);
  const size_t padded = size_t(header.length) + format::padding(header.length);
  if (source_->read(place.payload(), out.data(), padded) != padded) return false;
  const char* bytes = reinterpret_cast<const char*>(out.data());
  if (std::any_of(bytes + header.length, bytes + padded, [](char c) { return c != 0; })) return false;
  return format::chunk_checksum(header, out.data()) == header.checksum;
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
      return one(static_cast<format::NonFinite*>(nullptr), [&](const auto& in) { take_finding(in); });
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
            place.offset, chunks_});
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

void ValuesFile::take_finding(const format::NonFinite& in) {
  NonFinite out;
  out.time_ns = in.time_ns();
  out.step = in.step();
  out.pass = in.pass();
  out.mode = known(in.mode());
  out.backward = in.backward();
  out.operation = str(in.operation());
  out.module = str(in.module_());
  out.site = str(in.site());
  out.headline = str(in.headline());
  for (size_t i = 0; i < size_of(in.stack()); ++i) out.stack.push_back(str(in.stack()->Get(flatbuffers::uoffset_t(i))));
  out.dtype = in.dtype();
  if (in.sizes()) out.shape.assign(in.sizes()->begin(), in.sizes()->end());
  out.statistics = statistics_of(in.statistics());
  for (size_t i = 0; i < size_of(in.inputs()); ++i) {
    const format::FoundInput* input = in.inputs()->Get(flatbuffers::uoffset_t(i));
    out.inputs.push_back({str(input->text()), statistics_of(input->statistics())});
  }
  findings_.push_back(std::move(out));
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
  closed_ = true;
  if (in.chunks() == chunks_ && in.values() + in.calls() == values_ + calls_ + left_out_) return;
  problems_.push_back("the end of " + name_ + " does not match the chunks before it: chunks were lost.");
}

std::shared_ptr<const ValuesFile::Payload> ValuesFile::payload_again(const ChunkPlace& place) const {
  if (last_payload_ && last_offset_ == place.offset) return last_payload_;
  auto payload = std::make_shared<Payload>();
  if (!read_payload(place, *payload)) throw analyzer::BadInput(name_ + " was changed while it was read.");
  last_offset_ = place.offset;
  return last_payload_ = std::move(payload);
}

Value ValuesFile::decoded(const format::ValueRow& row, const format::ValueBatch& batch, size_t chunk) const {
  Value out;
  out.serial = row.serial();
  out.time_ns = std::max(row.time_ns(), process_.dump_ns);
  out.same_as = has(row.flags(), format::ValueFlag::unchanged) ? row.same_as() : 0;
  out.tensor = row.tensor();
  out.call = row.call();
  out.integer = row.integer();
  out.number = row.number();
  out.imaginary = row.imaginary();
  out.name = strings_[row.name()];
  out.module = strings_[row.module_()];
  out.operation = strings_[row.operation()];
  out.site = strings_[row.site()];
  out.note = strings_[row.note()];
  out.watch = row.watch() < watches_.size() ? row.watch() : analyzer::kNone;
  out.step = row.step();
  out.pass = row.pass();
  out.index = row.index();
  out.thread = row.thread();
  out.mode = known(row.mode());
  out.kind = row.kind();
  out.place = row.place() > format::ValuePlace::MAX ? format::ValuePlace::other : row.place();
  out.dtype = row.dtype();
  out.stored_dtype = row.stored_dtype() < 0 ? row.dtype() : row.stored_dtype();
  out.device = analyzer::device_of(row.device_type(), row.device_index());
  out.shape = taken(batch.sizes(), row.shape(), row.ndim());
  out.sliced = has(row.flags(), format::ValueFlag::sliced);
  out.kept_shape = out.sliced ? taken(batch.sizes(), row.kept_shape(), row.kept_ndim()) : out.shape;
  out.not_read = has(row.flags(), format::ValueFlag::not_read);
  if (has(row.flags(), format::ValueFlag::statistics)) {
    out.statistics = statistics_of(*batch.statistics()->Get(row.statistics()));
  }
  out.stored = has(row.flags(), format::ValueFlag::elements);
  out.data_begin = row.data_begin();
  out.data_size = row.data_size();
  out.chunk = chunk;
  return out;
}

// False: f did not want more.
bool ValuesFile::each_row(size_t chunk,
                          const std::function<bool(const format::ValueRow&, const format::ValueBatch&)>& f) const {
  const ValueChunk& place = value_chunks_[chunk];
  const std::shared_ptr<const Payload> payload = payload_again(place.place);
  const auto& batch = root_of<format::ValueBatch>(*payload);
  for (size_t i = 0; i < size_of(batch.rows()); ++i) {
    const format::ValueRow* row = batch.rows()->Get(flatbuffers::uoffset_t(i));
    if (sound_row(*row, batch, place.strings) && !f(*row, batch)) return false;
  }
  return true;
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
    const std::shared_ptr<const Payload> payload = payload_again(chunk.place);
    const auto& calls = root_of<format::Calls>(*payload);
    for (size_t i = 0; i < size_of(calls.rows()); ++i) {
      const format::CallRow& row = *calls.rows()->Get(flatbuffers::uoffset_t(i));
      if (!sound_call(row, chunk.strings)) continue;
      Call call;
      call.id = row.id();
      call.parent = row.parent();
      call.begin_ns = row.begin_ns();
      call.end_ns = std::max(row.end_ns(), row.begin_ns());
      call.live_before = row.live_before();
      call.live_after = row.live_after();
      call.peak = row.peak();
      call.saved = row.saved();
      call.module = strings_[row.module_()];
      call.class_name = strings_[row.class_name()];
      call.site = strings_[row.site()];
      call.step = row.step();
      call.pass = row.pass();
      call.index = row.index();
      call.thread = row.thread();
      call.mode = known(row.mode());
      call.device_type = row.device_type();
      call.raised = has(row.flags(), format::CallFlag::raised);
      call.backward = has(row.flags(), format::CallFlag::backward);
      call.unfinished = has(row.flags(), format::CallFlag::unfinished);
      if (!f(call)) return;
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
  Elements out{value.stored_dtype, value.kept_shape,
               elements_.read(*source_, name_, chunk.data_begin, chunk.data_end, value.data_begin, value.data_size)};
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
