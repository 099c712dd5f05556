// SPDX-License-Identifier: Apache-2.0
// Where chunks go: a dump, or a file that is appended to.
//
// Context: collector. One thread at a time an object.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::dump {

class ChunkSink {
 public:
  // Appends one chunk; `payload` is a size-prefixed FlatBuffer. False: it could not be written.
  virtual bool append(uint32_t type, const void* payload, size_t length) = 0;

 protected:
  ~ChunkSink() = default;
};

}  // namespace tensorscope::dump
