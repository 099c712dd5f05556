// SPDX-License-Identifier: Apache-2.0
#include "values/decode.h"

#include <algorithm>

#include "values/sound_rows.h"

namespace tensorscope::values {

namespace {

std::vector<int64_t> taken(const flatbuffers::Vector<int64_t>* sizes, uint32_t first, uint8_t count) {
  if (count == 0) return {};
  return {sizes->data() + first, sizes->data() + first + count};
}

Statistics statistics_of(const format::ValueStatistics& in) {
  return {.count = in.count(),
          .nan = in.nan(),
          .positive_infinity = in.positive_infinity(),
          .negative_infinity = in.negative_infinity(),
          .zeros = in.zeros(),
          .minimum = in.minimum(),
          .maximum = in.maximum(),
          .mean = in.mean(),
          .deviation = in.deviation(),
          .sum = in.sum(),
          .l1 = in.l1(),
          .l2 = in.l2(),
          .hash = in.hash()};
}

std::optional<Statistics> statistics_of(const format::ValueStatistics* in) {
  if (in == nullptr || !sound_statistics(*in)) return std::nullopt;
  return statistics_of(*in);
}

format::StepMode known(format::StepMode mode) {
  return mode > format::StepMode::MAX ? format::StepMode::unknown : mode;
}

}  // namespace

std::string str(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

Value value_of(const format::ValueRow& row, const format::ValueBatch& batch, const Texts& texts) {
  Value out;
  out.serial = row.serial();
  out.time_ns = row.time_ns();
  out.same_as = has(row.flags(), format::ValueFlag::unchanged) ? row.same_as() : 0;
  out.tensor = row.tensor();
  out.call = row.call();
  out.integer = row.integer();
  out.number = row.number();
  out.imaginary = row.imaginary();
  out.name = texts[row.name()];
  out.module = texts[row.module_()];
  out.operation = texts[row.operation()];
  out.site = texts[row.site()];
  out.note = texts[row.note()];
  out.watch = row.watch();
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
  return out;
}

Call call_of(const format::CallRow& row, const Texts& texts) {
  Call call;
  call.id = row.id();
  call.parent = row.parent();
  call.begin_ns = row.begin_ns();
  call.end_ns = std::max(row.end_ns(), row.begin_ns());
  call.live_before = row.live_before();
  call.live_after = row.live_after();
  call.peak = row.peak();
  call.saved = row.saved();
  call.module = texts[row.module_()];
  call.class_name = texts[row.class_name()];
  call.site = texts[row.site()];
  call.step = row.step();
  call.pass = row.pass();
  call.index = row.index();
  call.thread = row.thread();
  call.mode = known(row.mode());
  call.device_type = row.device_type();
  call.raised = has(row.flags(), format::CallFlag::raised);
  call.backward = has(row.flags(), format::CallFlag::backward);
  call.unfinished = has(row.flags(), format::CallFlag::unfinished);
  return call;
}

NonFinite finding_of(const format::NonFinite& in) {
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
  return out;
}

}  // namespace tensorscope::values
