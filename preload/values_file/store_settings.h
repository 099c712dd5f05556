// SPDX-License-Identifier: Apache-2.0
// What the file of values is to hold, as its store is told at the beginning and the end (value_store.h), and what it
// has held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::values_file {

struct WatchText {
  std::string text, path, origin;
  bool full = false;
};
struct StoreSettings {
  std::vector<WatchText> watches;
  bool find_nan = false, calls = false;
  bool wait_when_full = false;
  uint64_t flush_ms = 1000;
  uint64_t most_bytes = UINT64_MAX;  // of the file
  void (*wake_writer)() = nullptr;   // called where much is waiting
};

struct UnmatchedWatch {
  uint32_t watch = 0;
  std::vector<std::string> nearest;
};

struct StoreTotals {
  uint64_t values = 0, calls = 0, findings = 0, bytes = 0;
  std::string path;  // "": there is no file
};

}  // namespace tensorscope::values_file
