// SPDX-License-Identifier: Apache-2.0
// The values file: what waited (value_batch.h) as chunks of its format (tensorscope/values_format.h).
//
// Context: flush() and finish_file() of the store, one at a time; failed() any. Allocates.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dump/appended_file.h"
#include "support/function_ref.h"
#include "values_file/store_settings.h"
#include "values_file/value_batch.h"

namespace tensorscope::values_file {

struct LossRow {
  const char* what;
  const char* detail;
  uint64_t count;
};

class ValueWriter {
 public:
  explicit ValueWriter(const StoreSettings& settings) : settings_(settings) {}

  // Each returns false, after a message, if the file could not be written: nothing is written any more. The file is
  // made with the first chunk.
  bool write_texts(uint32_t count, FunctionRef<std::string(uint32_t)> text_of);
  bool write_batch(ValueBatch& batch);
  bool write_losses(const LossRow* losses, size_t count);
  bool write_end(const std::vector<UnmatchedWatch>& unmatched);
  // Nothing is written any more where the file has become larger than wanted.
  void keep_limit();

  bool exists() const { return file_.exists(); }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  StoreTotals totals() const;

 private:
  class ValuesChunk;
  struct PartsAt;

  bool fail();
  bool begin();
  bool append(uint32_t type, const void* flatbuffer, size_t size);
  bool write_part_of_data(const uint8_t* data, size_t size);
  bool write_data(const uint8_t* data, size_t size);
  bool write_piece(ValueBatch& batch, size_t begin, size_t end, const PartsAt& from, const PartsAt& to);
  bool write_values(ValueBatch& batch);
  bool write_calls(const ValueBatch& batch);
  bool write_findings(const ValueBatch& batch);
  static PartsAt parts_at(const ValueBatch& batch, size_t row, const PartsAt& end);

  static const dump::FileKind kFile;
  const StoreSettings& settings_;
  dump::AppendedFile file_{kFile};
  uint32_t texts_ = 0;
  uint64_t values_ = 0, calls_ = 0, findings_ = 0;
  std::atomic<bool> failed_{false};
};

}  // namespace tensorscope::values_file
