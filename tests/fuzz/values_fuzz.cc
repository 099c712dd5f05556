// SPDX-License-Identifier: Apache-2.0
// The reader of values files against arbitrary bytes. The first byte says what the rest is:
//   'R' a file as it stands
//   'C' chunks {type, length, payload}, framed here with right checksums: fuzzes the verifier and the row code
//   'G' the same, read while the file grows: first its half, then all of it
//   anything else: numbers from which well-formed rows are made that contradict each other
// Whatever comes, it is refused with BadInput or gives values and calls that can be listed, compared, drawn and
// exported.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include "cut_chunks.h"
#include "dump/byte_source.h"
#include "dump/reader.h"
#include "export/arrays/values_export.h"
#include "support/values_builder.h"
#include "tensorscope/values_format.h"
#include "values/call_tree.h"
#include "values/compare.h"
#include "values/name_rows.h"
#include "values/name_series.h"
#include "values/value_columns.h"
#include "values/values_file.h"

namespace {

using namespace tensorscope;
using values::ValuesFile;

void require(bool holds) {
  if (!holds) std::abort();
}

// Shows its first bytes until it is looked at again.
class GrowingSource : public analyzer::ByteSource {
 public:
  GrowingSource(const std::string& bytes, size_t first) : bytes_(bytes), size_(first) {}
  uint64_t size() const override { return size_; }
  void refresh_size() override { size_ = bytes_.size(); }
  size_t read(uint64_t offset, void* out, size_t size) const override {
    if (offset >= size_) return 0;
    const size_t count = std::min(size, size_ - size_t(offset));
    std::memcpy(out, bytes_.data() + offset, count);
    return count;
  }

 private:
  const std::string& bytes_;
  size_t size_;
};

std::string framed_values(const uint8_t* data, size_t size) {
  std::vector<testing::Chunk> chunks;
  testing::cut_chunks(data, size, [&](uint32_t type, const uint8_t* payload, size_t length) {
    chunks.push_back({type, std::string(reinterpret_cast<const char*>(payload), length)});
  });
  return testing::ValuesBuilder::frame(chunks);
}

void look_at_values(const ValuesFile& file) {
  uint64_t rows = 0;
  file.for_each_value([&](const values::Value& value) {
    require(value.watch == analyzer::kNone || value.watch < file.watches().size());
    require(value.shape.size() <= 64 && value.kept_shape.size() <= 64);
    ++rows;
    try {
      if (const auto elements = file.elements_of(value)) require(elements->bytes.size() <= 1 << 20);
    } catch (const analyzer::BadInput&) {
    }
    return true;
  });
  require(rows <= file.value_count());
  std::vector<values::Call> calls;
  file.for_each_call([&](const values::Call& call) {
    calls.push_back(call);
    return true;
  });
  require(calls.size() <= file.call_count());
  const values::CallSequence sequence(std::move(calls));
  for (uint32_t i = 0; i < sequence.calls().size(); ++i) {
    require(sequence.parent(i) == values::CallSequence::kNoCall || sequence.parent(i) < sequence.calls().size());
  }
  for (const bool fold : {true, false}) {
    const values::CallTree tree = values::call_tree(sequence, {.fold = fold});
    for (const auto& node : tree.nodes) {
      for (const uint32_t child : node.children) require(child < tree.nodes.size());
    }
    squash(tree);
  }
  for (const auto& unmatched : file.unmatched()) require(unmatched.watch < file.watches().size());
}

void look_at_names(const values::ValueColumns::Files& files) {
  const values::ValueFilter all;
  uint64_t count = 0;
  for (const values::NameRow& row : name_rows(files, all, values::Stat::mean)) count += row.values;
  require(count <= files[0]->value_count());
  name_series(files, all, {values::Stat::absmax});
  values::ValueColumns columns(files, all);
  columns.sort_by_step();
  exports::ExportNotes notes;
  std::ostringstream out;
  try {
    exports::export_values_csv(columns, out);
    exports::export_npz(columns, out, notes);
    exports::export_safetensors(columns, out, notes);
  } catch (const analyzer::BadInput&) {
  }
}

void wild_values(testing::ValuesBuilder& builder, FuzzedDataProvider& in) {
  const auto number = [&]() -> uint64_t {
    switch (in.ConsumeIntegralInRange(0, 3)) {
      case 0:
      case 1:
        return in.ConsumeIntegralInRange<uint64_t>(0, 20);
      case 2:
        return in.ConsumeIntegral<uint64_t>();
      default:
        return UINT64_MAX - in.ConsumeIntegralInRange<uint64_t>(0, 20);
    }
  };
  const auto sizes = [&] {
    std::vector<int64_t> all;
    for (int n = in.ConsumeIntegralInRange(0, 4); n > 0; --n) {
      all.push_back(in.ConsumeBool() ? in.ConsumeIntegralInRange<int64_t>(0, 5) : int64_t(number()));
    }
    return all;
  };
  const auto text = [&] {
    static constexpr const char* kNames[] = {"model.fc", "model.layers.0.attn", "model.layers.1.attn", "loss", ""};
    return in.ConsumeBool() ? std::string(in.PickValueInArray(kNames)) : in.ConsumeRandomLengthString(20);
  };
  builder.find_nan = in.ConsumeBool(), builder.calls = in.ConsumeBool();
  for (int n = in.ConsumeIntegralInRange(0, 3); n > 0; --n) builder.watch({text(), in.ConsumeBool()});
  while (in.remaining_bytes() > 0) {
    switch (in.ConsumeIntegralInRange(0, 9)) {
      case 0:
        builder.flush(in.ConsumeIntegralInRange<size_t>(1, 3));
        break;
      case 1:
        builder.losses({{text(), number(), text()}});
        break;
      case 2:
        builder.unmatched(uint32_t(number()), {text()});
        break;
      case 3: {
        testing::NonFiniteSpec found;
        found.operation = text(), found.module = text(), found.stack = {text()}, found.inputs = {{text(), {}}};
        found.step = uint32_t(number()), found.dtype = in.ConsumeIntegral<int8_t>(), found.sizes = sizes();
        builder.finding(found);
        break;
      }
      case 4:
      case 5:
      case 6: {
        testing::CallSpec call;
        call.id = number(), call.parent = number(), call.begin_ns = number(), call.end_ns = number();
        call.live_before = number(), call.live_after = number(), call.peak = number(), call.saved = number();
        call.module = text(), call.class_name = text(), call.step = uint32_t(number()), call.pass = uint32_t(number());
        call.index = uint32_t(number()), call.thread = in.ConsumeIntegralInRange<uint32_t>(0, 2);
        call.mode = format::StepMode(in.ConsumeIntegralInRange(0, 4));
        call.raised = in.ConsumeBool(), call.backward = in.ConsumeBool(), call.unfinished = in.ConsumeBool();
        builder.call(call);
        break;
      }
      default: {
        testing::ValueSpec value;
        value.serial = number(), value.time_ns = number(), value.same_as = in.ConsumeBool() ? number() : 0;
        value.tensor = number(), value.call = number(), value.integer = int64_t(number());
        value.number = in.ConsumeFloatingPoint<double>(), value.imaginary = in.ConsumeFloatingPoint<double>();
        value.name = text(), value.module = text(), value.operation = text(), value.note = text();
        value.watch = uint32_t(number()), value.step = uint32_t(number()), value.pass = uint32_t(number());
        value.index = uint32_t(number()), value.shape = sizes();
        if (in.ConsumeBool()) value.kept_shape = sizes();
        value.mode = format::StepMode(in.ConsumeIntegralInRange(0, 4));
        value.kind = format::ValueKind(in.ConsumeIntegralInRange(0, 8));
        value.place = format::ValuePlace(in.ConsumeIntegralInRange(0, 12));
        value.dtype = in.ConsumeIntegral<int8_t>(), value.stored_dtype = in.ConsumeIntegralInRange<int8_t>(-1, 30);
        value.not_read = in.ConsumeBool(), value.keep_elements = in.ConsumeBool();
        if (in.ConsumeBool()) {
          value.elements = in.ConsumeRandomLengthString(64);
        } else {
          for (int n = in.ConsumeIntegralInRange(0, 4); n > 0; --n) value.numbers.push_back(double(number()));
        }
        if (in.ConsumeBool()) value.series = {{text(), {1.0, double(number())}}};
        builder.value(value);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 20'000) return 0;
  std::string bytes;
  if (data[0] == 'R') {
    bytes.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  } else if (data[0] == 'C' || data[0] == 'G') {
    bytes = framed_values(data + 1, size - 1);
  } else {
    FuzzedDataProvider in(data + 1, size - 1);
    testing::ValuesBuilder builder;
    const bool closed = in.ConsumeBool();
    wild_values(builder, in);
    bytes = builder.bytes(closed);
  }
  try {
    const size_t first = data[0] == 'G' ? bytes.size() / 2 : bytes.size();
    values::ValueColumns::Files files;
    files.push_back(std::make_unique<ValuesFile>(std::make_unique<GrowingSource>(bytes, first), "fuzz.values"));
    files[0]->read_more();
    look_at_values(*files[0]);
    look_at_names(files);
    compare_runs(*files[0], *files[0], {}, {});
  } catch (const analyzer::BadInput&) {
  }
  return 0;
}
