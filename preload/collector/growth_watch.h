// SPDX-License-Identifier: Apache-2.0
// Dumps at growth: when live bytes over all devices have grown enough since the last such dump, and which of these
// dumps are kept.
//
// Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/options.h"

namespace tensorscope::collector {

// A decision from numbers alone. Context: any; one thread at a time.
class GrowthWatch {
 public:
  static constexpr uint64_t kMinShare = uint64_t{16} << 20;
  static constexpr uint64_t kMinStep = uint64_t{1} << 20;

  // In a forked child: what lives by then is no growth.
  void begin_in_child(uint64_t live) { dumped_ = live; }

  // True where `live` is a new peak that is higher than the last one that was dumped by the share or size. From then on
  // it is the last one.
  bool look(uint64_t live, const ShareOrSize& growth);

  // How much a device may grow until the next look, where `devices` may do so at the same time.
  uint64_t step(uint64_t live, size_t devices, const ShareOrSize& growth) const;

 private:
  uint64_t next(const ShareOrSize& growth) const;

  uint64_t dumped_ = 0;
};

// The files of the last few such dumps. Older ones are deleted where they are still the file that this process wrote.
// Context: collector.
class KeptFiles {
 public:
  constexpr KeptFiles() = default;  // no destructor: for a static

  // A file that was just written, by its absolute path. The newest `keep` are left; 0: all.
  void add(const char* path, size_t keep);

 private:
  struct File;
  void drop_oldest();

  File* oldest_ = nullptr;
  size_t count_ = 0;
};

}  // namespace tensorscope::collector
