// SPDX-License-Identifier: Apache-2.0
// Where a dump's bytes come from: a file, read by position and never mapped (it may shrink while it is read), or
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tensorscope::analyzer {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // Takes the size anew, of a file that may have grown.
  virtual void refresh_size() {}
  // Reads up to `size` bytes at `offset`; less only where the source ends there.
  virtual size_t read(uint64_t offset, void* out, size_t size) const = 0;
};

// Throws BadInput with a sentence for a person where the path is no readable regular file; `suffix` is what such files
// are called.
std::unique_ptr<ByteSource> open_file(const std::string& path, const char* suffix = ".tscope");
std::unique_ptr<ByteSource> wrap_memory(const void* data, size_t size);

}  // namespace tensorscope::analyzer
