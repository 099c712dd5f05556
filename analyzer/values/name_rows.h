// SPDX-License-Identifier: Apache-2.0
// What was captured, one row a name: how many values, what they are, their last statistics and how they went.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "values/value_filter.h"
#include "values/value_numbers.h"
#include "values/values_file.h"

namespace tensorscope::values {

// A curve of any length in bounded memory: where it is full, neighbours become one point, their mean.
class Curve {
 public:
  static constexpr size_t kMax = 64;
  void add(double y);
  std::vector<double> points() const;

 private:
  std::vector<double> full_;
  double sum_ = 0;
  uint32_t in_sum_ = 0, per_point_ = 1;
};

struct NameRow {
  size_t file = 0;  // index into the files
  std::string_view name, operation;
  format::StepMode mode = format::StepMode::unknown;
  uint64_t values = 0;
  uint32_t first_step = 0, last_step = 0;
  format::ValueKind kind = format::ValueKind::tensor;
  std::vector<int64_t> shape;
  int dtype = -1;
  bool kind_varies = false, shape_varies = false, dtype_varies = false;
  uint64_t last_serial = 0;
  std::optional<Statistics> last;
  uint64_t elements = 0, not_finite = 0;  // over all values
  Curve curve;                            // of the statistic asked for
};

// In the order in which the names first appear, file by file.
std::vector<NameRow> name_rows(const std::vector<std::unique_ptr<ValuesFile>>& files, const ValueFilter& filter,
                               Stat stat);

// Every name of the files, once, in the order in which they appear.
std::vector<std::string> names_of(const std::vector<std::unique_ptr<ValuesFile>>& files);

// Files of one run by rank, then by process.
std::vector<std::unique_ptr<ValuesFile>> open_files(const std::vector<std::string>& paths);
// Returns what identifies a row's file: "0" for rank 0 if every file has a rank of its own; "pid 4242"; "" if there is
// one file.
std::vector<std::string> file_labels(const std::vector<std::unique_ptr<ValuesFile>>& files);

}  // namespace tensorscope::values
