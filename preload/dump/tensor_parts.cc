// SPDX-License-Identifier: Apache-2.0
#include "dump/tensor_parts.h"

#include <string.h>

#include <algorithm>

#include "live/tensor_serial.h"
#include "tensorscope/rules/plain_tensor.h"
#include "torch/graph/node_extent.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::dump {

namespace {
constexpr size_t kFirstField = 16;    // after the vtable and the counts of c10::intrusive_ptr_target
constexpr size_t kMaxBytes = 512;     // of one object
constexpr size_t kLikelyBytes = 256;  // of a sparse tensor, where the allocator does not report
}  // namespace

bool may_have_parts(const torch::Metadata& metadata) {
  return (metadata.flags & uint32_t(format::TensorFlag::exotic)) != 0 && metadata.class_name[0] != 0 &&
         strcmp(metadata.class_name, rules::kPlainTensorClass) != 0;
}

std::vector<format::TensorPart> tensor_parts(const live::SnapshotView& view, std::span<const size_t> owners,
                                             torch::MetadataReader& reader) {
  std::vector<format::TensorPart> parts;
  if (owners.empty()) return parts;
  std::vector<uint64_t> addresses;
  for (const size_t owner : owners) addresses.push_back(reinterpret_cast<uint64_t>(view.tensors[owner].impl));
  std::vector<size_t> sizes;
  torch::NodeExtents extents(reader.classes(), false);
  if (!extents.read(addresses, sizes)) return parts;
  torch::SafeReads objects;
  for (size_t i = 0; i < owners.size(); ++i) {
    sizes[i] = std::min(sizes[i] == 0 ? kLikelyBytes : sizes[i], kMaxBytes) / 8 * 8;
    objects.add(addresses[i], sizes[i]);
  }
  if (!objects.run()) return parts;
  for (size_t i = 0; i < owners.size(); ++i) {
    const Serial owner = view.tensors[owners[i]].serial;
    for (size_t at = kFirstField; objects.ok(i) && at + 8 <= sizes[i]; at += 8) {
      const Serial part = live::tensor_serial(reinterpret_cast<const void*>(objects.word(i, at)));
      if (part != 0 && part <= view.serial && part != owner) parts.emplace_back(owner, part);
    }
  }
  return parts;
}

}  // namespace tensorscope::dump
