// SPDX-License-Identifier: Apache-2.0
// Builds synthetic values files for tests, chunk by chunk as the preload writes them.
//
//   ValuesBuilder builder;
//   ValueSpec loss;
//   loss.name = "loss";
//   loss.numbers = {0.5};      // float32 elements and their statistics
//   loss.step = 1;
//   builder.value(loss);
//   builder.write(path);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/dump_builder.h"
#include "values_generated.h"

namespace tensorscope::testing {

struct StatisticsSpec {
  uint64_t count = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0, deviation = 0, sum = 0, l1 = 0, l2 = 0;
  uint64_t hash = 0;
};
StatisticsSpec statistics_of(const std::vector<double>& numbers);

struct ValueSpec {
  uint64_t serial = 0;   // 0: the next one
  uint64_t time_ns = 0;  // 0: one second later than the value before
  uint64_t same_as = 0;  // unchanged, where not 0
  uint64_t tensor = 0, call = 0;
  int64_t integer = 0;
  double number = 0, imaginary = 0;
  std::string name, module{}, operation{}, site{}, note{};
  uint32_t watch = 0, step = 0, pass = 0, index = 0, thread = 4242;
  std::vector<int64_t> shape{};
  std::optional<std::vector<int64_t>> kept_shape{};  // sliced
  format::StepMode mode = format::StepMode::train;
  format::ValueKind kind = format::ValueKind::tensor;
  format::ValuePlace place = format::ValuePlace::output;
  int8_t dtype = 6, stored_dtype = -1, device_type = 0, device_index = -1;
  bool not_read = false;
  // One of the two, or neither: float32 elements, or bytes as they are.
  std::vector<double> numbers{};
  std::optional<std::string> elements{};
  std::optional<StatisticsSpec> statistics{};  // else of `numbers`, where there are any
  bool keep_elements = true;                   // false: statistics alone
  std::vector<std::pair<std::string, std::vector<double>>> series{};
};

struct CallSpec {
  uint64_t id = 0;  // 0: the next one
  uint64_t parent = 0, begin_ns = 0, end_ns = 0, live_before = 0, live_after = 0, peak = 0, saved = 0;
  std::string module, class_name{}, site{};
  uint32_t step = 0, pass = 0, index = 0, thread = 4242;
  format::StepMode mode = format::StepMode::train;
  int8_t device_type = 0;
  bool raised = false, backward = false, unfinished = false;
};

struct NonFiniteSpec {
  uint64_t time_ns = 5'000'000'000;
  uint32_t step = 0, pass = 0;
  format::StepMode mode = format::StepMode::train;
  bool backward = false;
  std::string operation, module{}, site{}, headline{};
  std::vector<std::string> stack{};
  int8_t dtype = 6;
  std::vector<int64_t> sizes{};
  StatisticsSpec statistics{};
  std::vector<std::pair<std::string, StatisticsSpec>> inputs{};
};

struct WatchSpec {
  std::string path;
  bool full = true;
  std::string text{}, origin = "--watch";  // text "": as the path
};

class ValuesBuilder {
 public:
  ValuesBuilder();

  DumpBuilder process;  // its PROC chunk
  bool find_nan = false, calls = false;

  void watch(const WatchSpec& watch) { watches_.push_back(watch); }
  uint64_t value(const ValueSpec& value);  // returns the serial
  uint64_t call(const CallSpec& call);     // returns the id
  void finding(const NonFiniteSpec& finding);
  void losses(const std::vector<std::tuple<std::string, uint64_t, std::string>>& what_count_detail);
  void unmatched(uint32_t watch, const std::vector<std::string>& nearest);
  // Ends a chunk of rows, as the preload does at each flush. `pieces`: in how many chunks the elements are.
  void flush(size_t pieces = 1);

  // All chunks so far, with the end chunk or without. Flushes.
  std::vector<Chunk> chunks(bool closed = true);
  std::string bytes(bool closed = true) { return frame(chunks(closed)); }
  void write(const std::string& path, bool closed = true);
  static std::string frame(const std::vector<Chunk>& chunks);

 private:
  uint32_t string(std::string_view text);
  uint32_t sizes(const std::vector<int64_t>& shape);

  std::vector<WatchSpec> watches_;
  std::map<std::string, uint32_t, std::less<>> string_ids_;
  std::vector<std::string> new_strings_;
  std::vector<Chunk> chunks_;
  std::vector<format::ValueRow> rows_;
  std::vector<format::ValueStatistics> statistics_;
  std::vector<int64_t> sizes_;
  struct SeriesRow {
    uint64_t value;
    std::string what;
    std::vector<double> numbers;
  };
  std::vector<SeriesRow> series_;
  std::string data_;
  std::vector<format::CallRow> call_rows_;
  uint64_t serial_ = 0, call_id_ = 0, values_ = 0, calls_ = 0, time_ns_ = 0;
};

}  // namespace tensorscope::testing
