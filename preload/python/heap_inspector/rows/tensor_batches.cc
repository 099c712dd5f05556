// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/tensor_batches.h"

#include <algorithm>

#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {

namespace {

uint64_t bytes_taken() {
  const MemoryLimit* limit = MemoryLimit::current();
  return limit ? limit->taken() : 0;
}

double bytes_left() {
  const MemoryLimit* limit = MemoryLimit::current();
  if (!limit) return 1e18;
  return limit->bytes() > limit->taken() ? double(limit->bytes() - limit->taken()) : 0;
}

}  // namespace

bool TensorBatches::begin() {
  begin_ns_ = limits_.elapsed_ns();
  begin_bytes_ = bytes_taken();
  // Tensors that only the autograd graph keeps ask nothing, and tell nothing of what a question costs.
  by_tensors_ = questions_ < double(kMin);
  if (by_tensors_) {
    most_tensors_ = most_tensors_ == 0 ? kFirst : most_tensors_ * 2;
    return true;
  }
  const double in_time = double(limits_.left_ns()) * kPart * questions_ / std::max(ns_, 1.0);
  const double in_memory = bytes_left() * kPart * questions_ / std::max(bytes_, 1.0);
  most_questions_ = size_t(std::min({in_time, in_memory, double(std::max(last_questions_, kFirst) * kGrowth)}));
  if (most_questions_ >= kMin) return true;
  stop_ = in_time < in_memory ? LookLimits::Stop::time : LookLimits::Stop::memory;
  return false;
}

void TensorBatches::end(size_t questions) {
  last_questions_ = questions;
  questions_ += double(questions);
  ns_ += double(limits_.elapsed_ns() - begin_ns_);
  bytes_ += double(bytes_taken() - std::min(bytes_taken(), begin_bytes_));
}

}  // namespace tensorscope::python::heap_inspector
