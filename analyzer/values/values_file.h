// SPDX-License-Identifier: Apache-2.0
// Reads a values file: what a program's tensors held over time, and the calls of its modules. The file may still grow,
// be cut off, damaged, or hold more than fits into memory: rows are read chunk by chunk when they are needed,
// elements value by value. Everything up to the first chunk that is damaged or not whole counts, nothing behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/byte_source.h"
#include "dump/dump.h"
#include "tensorscope/values_format.h"
#include "values/element_chunks.h"
#include "values_generated.h"

namespace tensorscope::values {

// Minimum to l2 are of the finite elements; complex elements count by their magnitude.
struct Statistics {
  uint64_t count = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0, deviation = 0, sum = 0, l1 = 0, l2 = 0;
  uint64_t hash = 0;  // 0: not asked for

  uint64_t infinite() const { return positive_infinity + negative_infinity; }
  uint64_t finite() const { return count - nan - infinite(); }
  double absmax() const;
};

// A longer result of a reducer: quantiles, a histogram's counts, norms per item.
struct Series {
  std::string what;
  std::vector<double> numbers;
};

// Texts are the file's: they live as long as it does.
struct Value {
  uint64_t serial = 0, time_ns = 0;  // monotonic; ValuesFile::unix_ns() turns it into a time of day
  uint64_t same_as = 0;              // unchanged(): the serial of the value whose elements it has; else 0
  uint64_t tensor = 0;               // serial of the tensor as in dumps; 0: no tensor
  uint64_t call = 0;                 // Call::id during which it was taken; 0: none
  int64_t integer = 0;
  double number = 0, imaginary = 0;
  std::string_view name, module, operation, site, note;
  uint32_t watch = 0;  // index into ValuesFile::watches(); analyzer::kNone: none
  uint32_t step = 0, pass = 0, index = 0, thread = 0;
  format::StepMode mode = format::StepMode::unknown;
  format::ValueKind kind = format::ValueKind::tensor;
  format::ValuePlace place = format::ValuePlace::other;
  int8_t dtype = -1, stored_dtype = -1;  // c10::ScalarType; stored_dtype: of the elements in the file
  analyzer::Device device;
  std::vector<int64_t> shape, kept_shape;  // kept_shape: of the elements in the file, equal to shape but for a slice
  bool sliced = false, not_read = false;   // not_read: `note` says why
  std::optional<Statistics> statistics;
  std::vector<Series> series;

  bool unchanged() const { return same_as != 0; }
  bool is_tensor() const { return kind == format::ValueKind::tensor; }

  // Where the elements are, for elements_of().
  bool stored = false;
  uint64_t data_begin = 0, data_size = 0;
  size_t chunk = 0;
};

// Elements in C order. A text's and another object's bytes are UTF-8, and dtype is -1.
struct Elements {
  int8_t dtype = -1;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct Watch {
  std::string text, path, origin;
  bool full = false;
};

struct Call {
  uint64_t id = 0, parent = 0;  // parent: 0 for none
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t live_before = 0, live_after = 0, peak = 0, saved = 0;  // peak: 0 where not known
  std::string_view module, class_name, site;
  uint32_t step = 0, pass = 0, index = 0, thread = 0;
  format::StepMode mode = format::StepMode::unknown;
  int8_t device_type = -1;
  bool raised = false, backward = false, unfinished = false;
};

struct FoundInput {
  std::string text;
  std::optional<Statistics> statistics;
};

// The first producer of a NaN or infinity.
struct NonFinite {
  uint64_t time_ns = 0;
  uint32_t step = 0, pass = 0;
  format::StepMode mode = format::StepMode::unknown;
  bool backward = false;
  std::string operation, module, site, headline;
  std::vector<std::string> stack;  // innermost first
  int8_t dtype = -1;
  std::vector<int64_t> shape;
  std::optional<Statistics> statistics;
  std::vector<FoundInput> inputs;
};

// What is not in the file.
struct Loss {
  std::string what, detail;
  uint64_t count = 0;
};

// A watch that matched nothing.
struct Unmatched {
  uint32_t watch = 0;  // index into watches()
  std::vector<std::string> nearest;
};

class ValuesFile {
 public:
  // Throw analyzer::BadInput where nothing can be shown: no such file, not a values file, a newer major version, no
  // whole PROC chunk.
  explicit ValuesFile(const std::string& path);
  ValuesFile(std::unique_ptr<analyzer::ByteSource> source, const std::string& path);

  // Takes in the chunks that were appended since. True where there were any.
  bool read_more();

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }  // without its folders
  const analyzer::Process& process() const { return process_; }
  uint64_t unix_ns(uint64_t time_ns) const { return process_.dump_unix_ns + (time_ns - process_.dump_ns); }

  // The end chunk was there and agrees. Without it the program still runs or was killed.
  bool closed() const { return closed_; }
  // Bytes of a last chunk that is not whole: the program is writing it, or was killed while it wrote.
  uint64_t torn_bytes() const { return closed_ || damaged_ ? 0 : source_->size() - end_; }
  // What is wrong with the file, one sentence each. Commands repeat them and end with status 2.
  std::vector<std::string> problems() const;

  const std::vector<Watch>& watches() const { return watches_; }
  bool find_nan() const { return find_nan_; }
  bool calls_recorded() const { return calls_recorded_; }
  uint64_t value_count() const { return values_; }
  uint64_t call_count() const { return calls_; }
  const std::vector<NonFinite>& findings() const { return findings_; }
  const std::vector<Loss>& losses() const { return losses_; }
  const std::vector<Unmatched>& unmatched() const { return unmatched_; }

  // Calls f for each value or call in the file's order until it returns false. One chunk at a time is in memory. Throws
  // analyzer::BadInput where the file was changed since it was opened.
  void for_each_value(const std::function<bool(const Value&)>& f) const;
  void for_each_call(const std::function<bool(const Call&)>& f) const;
  // The values with a serial larger than this, for what follows a file that grows.
  void for_each_value_after(uint64_t serial, const std::function<bool(const Value&)>& f) const;
  std::optional<Value> value(uint64_t serial) const;

  // Nothing where the file has none: statistics alone were watched. Throws analyzer::BadInput where they are damaged.
  std::optional<Elements> elements_of(const Value& value) const;

 private:
  using Payload = std::vector<uint64_t>;  // aligned as FlatBuffers wants it

  struct ValueChunk {
    ChunkPlace place;
    uint64_t smallest = 0, largest = 0;   // serials
    size_t data_begin = 0, data_end = 0;  // its elements: indexes into elements_
    size_t strings = 0;                   // as many were known at this point of the file
  };
  struct CallChunk {
    ChunkPlace place;
    size_t strings = 0;
  };

  void walk();
  bool take_chunk();
  bool take(const ChunkPlace& place, const Payload& payload);
  bool take_process(const ChunkPlace& place, const Payload& payload);
  bool take_strings(const format::Strings& in, uint64_t length);
  void take_watches(const format::Watches& in);
  void take_values(const ChunkPlace& place, const format::ValueBatch& in);
  void take_calls(const ChunkPlace& place, const format::Calls& in);
  void take_finding(const format::NonFinite& in);
  void take_losses(const format::Losses& in);
  void take_unmatched(const format::Unmatcheds& in);
  void take_end(const format::ValuesEnd& in);
  bool damage(const std::string& what);
  bool read_payload(const ChunkPlace& place, Payload& out) const;
  std::shared_ptr<const Payload> payload_again(const ChunkPlace& place) const;
  bool each_row(size_t chunk, const std::function<bool(const format::ValueRow&, const format::ValueBatch&)>& f) const;
  Value decoded(const format::ValueRow& row, const format::ValueBatch& batch, size_t chunk) const;

  std::string path_, name_;
  std::unique_ptr<analyzer::ByteSource> source_;
  uint64_t end_ = sizeof(format::FileHeader);  // of the last whole chunk
  uint32_t chunks_ = 0;
  bool closed_ = false, damaged_ = false, has_process_ = false;
  std::vector<std::string> problems_;
  uint64_t left_out_ = 0;  // rows
  analyzer::Process process_;
  std::deque<std::string> strings_;  // a deque: texts stay where they are while the file grows
  std::vector<Watch> watches_;
  bool find_nan_ = false, calls_recorded_ = false;
  std::vector<ValueChunk> value_chunks_;
  std::vector<CallChunk> call_chunks_;
  mutable ElementChunks elements_;
  size_t data_taken_ = 0;  // so many of elements_ belong to value_chunks_
  uint64_t values_ = 0, calls_ = 0;
  std::vector<NonFinite> findings_;
  std::vector<Loss> losses_;
  std::vector<Unmatched> unmatched_;
  // The chunk that was read last: values that share elements are often of one chunk.
  mutable uint64_t last_offset_ = 0;
  mutable std::shared_ptr<const Payload> last_payload_;
};

}  // namespace tensorscope::values
