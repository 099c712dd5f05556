// SPDX-License-Identifier: Apache-2.0
// The objects mapped into this process, as the loader knows them at one moment.
//
// Context: collector, no table lock held (dl_iterate_phdr takes the loader's lock, and a thread that holds that one may
// be waiting for a table).
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::torch {

struct MappedObject {
  std::string path;
  uint64_t load_bias = 0;
  uint64_t begin = 0, end = 0;
  std::vector<uint8_t> build_id;
};

class SharedObjectMap {
 public:
  // Reads the list anew. False: no memory.
  bool refresh();

  const std::vector<MappedObject>& objects() const { return objects_; }

  // True where [address, address + size) lies in one readable segment of an object. Any lock may be held.
  bool readable(uint64_t address, size_t size) const;

 private:
  void add(const dl_phdr_info& info);

  struct Segment {
    uint64_t begin, end;
  };
  std::vector<MappedObject> objects_;
  std::vector<Segment> segments_;  // by address
};

}  // namespace tensorscope::torch
