// SPDX-License-Identifier: Apache-2.0
// In which steps tensors get names, those that keep the most alive first: so many at a time that what the next ones
// need of the time and the memory that are left can be determined from those before them. Many share most of their
// ways, so a batch is measured by its questions about objects (Chains::questions()), not by its tensors.
//
// Context: heap inspector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/heap_inspector/graph/look_limits.h"

namespace tensorscope::python::heap_inspector {

class TensorBatches {
 public:
  explicit TensorBatches(const LookLimits& limits) : limits_(limits) {}

  // False: nothing more is likely to fit.
  bool begin();
  // Whether the batch may have another tensor.
  bool takes_more(size_t tensors, size_t questions) const {
    if (!by_tensors_) return questions < most_questions_;
    return tensors < kFirst || (tensors < most_tensors_ && questions < kMin);
  }
  void end(size_t questions);
  // What is likely not to suffice.
  LookLimits::Stop stop() const { return stop_; }

 private:
  static constexpr size_t kFirst = 64, kGrowth = 64, kMin = 256;
  static constexpr double kPart = 0.5;  // of what is left, for one batch

  const LookLimits& limits_;
  bool by_tensors_ = true;
  size_t most_tensors_ = 0, most_questions_ = 0, last_questions_ = 0;
  uint64_t begin_ns_ = 0, begin_bytes_ = 0;
  double questions_ = 0, ns_ = 0, bytes_ = 0;  // of all batches before
  LookLimits::Stop stop_ = LookLimits::Stop::none;
};

}  // namespace tensorscope::python::heap_inspector
