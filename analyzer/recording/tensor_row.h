// SPDX-License-Identifier: Apache-2.0
// A row of a dump's tensors with its fields by name; what is not named is not known.
#pragma once

#include <cstdint>

#include "dump_generated.h"

namespace tensorscope::analyzer {

struct TensorRow {
  uint64_t serial = 0, address = 0, created_ns = 0, storage_base = 0, storage_nbytes = 0;
  int64_t storage_offset = 0, numel = 0;
  uint32_t known = 0, flags = 0, dims = 0, site = 0, thread = 0, class_name = 0, note = 0;
  uint16_t itemsize = 0;
  uint8_t ndim = 0;
  int8_t device_type = -1, device_index = -1, dtype = -1, layout = -1;

  format::Tensor row() const {
    constexpr uint64_t kNoGrad = 0, kNoGradFn = 0;
    constexpr uint32_t kNoGradFnName = 0;
    return {serial,    address,  created_ns, storage_base, storage_nbytes, storage_offset, numel,      kNoGrad,
            kNoGradFn, known,    flags,      dims,         site,           thread,         class_name, kNoGradFnName,
            note,      itemsize, ndim,       device_type,  device_index,   dtype,          layout};
  }
};

}  // namespace tensorscope::analyzer
