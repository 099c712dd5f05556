// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/dlpack_capsules.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "live/tensor_serial.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr ptrdiff_t kPointer = 16, kName = 24;            // of a capsule
constexpr uint64_t kContext = 48, kVersionedContext = 8;  // after the DLTensor; after the version
constexpr uint64_t kMaxBefore = 256;                      // of what torch keeps before its DLPack struct
constexpr size_t kNameWords = 4;

uint64_t word(uint64_t address) {
  uint64_t value = 0;
  return address % sizeof value == 0 && torch::read_words_safely(&address, &value, 1) ? value : 0;
}

// A consumer that took the tensor over has renamed torch's capsule to used_...; numpy's own capsules begin with numpy_.
bool keeps_its_tensor(std::string_view name) {
  return name.starts_with("dltensor") || name.starts_with("numpy_dltensor");
}

}  // namespace

const void* exported_tensor(const Object* capsule) {
  const auto name = field<uint64_t>(capsule, kName), managed = field<uint64_t>(capsule, kPointer);
  if (name == 0 || managed == 0) return nullptr;
  // Words that are aligned around the name: a literal may begin anywhere, and end where a page does.
  char text[kNameWords * sizeof(uint64_t) + 1] = "";
  uint64_t addresses[kNameWords], words[kNameWords];
  for (size_t i = 0; i < kNameWords; ++i) addresses[i] = (name & ~uint64_t{7}) + 8 * i;
  if (!torch::read_words_safely(addresses, words, kNameWords)) return nullptr;
  memcpy(text, words, sizeof words);
  const std::string_view told(text + name % 8);
  if (!keeps_its_tensor(told)) return nullptr;
  const uint64_t context = word(managed + (told.ends_with("_versioned") ? kVersionedContext : kContext));
  if (context >= managed || managed - context > kMaxBefore) return nullptr;
  const auto* impl = reinterpret_cast<const void*>(word(context));
  return live::tensor_serial(impl) != 0 ? impl : nullptr;
}

}  // namespace tensorscope::python::heap_inspector
