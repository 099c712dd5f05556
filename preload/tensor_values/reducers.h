// SPDX-License-Identifier: Apache-2.0
// What a watch may keep of a tensor besides its statistics: series of numbers.
//
// Context: as tensor_view.h. Memory of pages alone is allocated; false: there was not enough, or too many items.
#pragma once

#include "support/page_array.h"
#include "tensor_values/statistics.h"
#include "tensor_values/tensor_view.h"

namespace tensorscope::tensor_values {

// L2 norms of the finite elements of each item of the first dimension; of the whole, where there is none.
inline constexpr char kNorms[] = "norms";
inline constexpr int64_t kMaxItems = 1 << 16;
bool norms_of(const TensorView& view, PageArray<double>& out);

// XXH3 of the elements.
uint64_t hash_of(const TensorView& view);

// Of the finite elements, between two of them as numpy's and torch's "linear"; none where no element is finite.
inline constexpr double kQuantilePoints[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
inline constexpr char kQuantiles[] = "quantiles 0.01 0.05 0.25 0.5 0.75 0.95 0.99";
bool quantiles_of(const TensorView& view, PageArray<double>& out);

// Lower end, upper end, and how many of the finite elements lie in each of so many bins of equal width, as
// torch.histc() counts.
inline constexpr char kHistogram[] = "histogram";
inline constexpr int kBins = 64;
bool histogram_of(const TensorView& view, const Statistics& statistics, PageArray<double>& out);

}  // namespace tensorscope::tensor_values
