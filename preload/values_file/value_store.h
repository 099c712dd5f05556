// SPDX-License-Identifier: Apache-2.0
// Values on their way into the file: threads of the program add, the collector writes. What is waiting is bounded;
// beyond that elements are left out and counted, or the thread waits where the watch file says so.
//
// Context: add_value(), add_call(), text_id() and count_loss() on threads of the program under an InsideScope, with the
// GIL or without: no malloc, a lock for the time of a copy. flush() and finish_file() on the collector.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "values_file/value_parts.h"
#include "values_generated.h"

namespace tensorscope::values_file {

// Number of a text in the file; 0: the empty one, or no memory (counted).
uint32_t text_id(std::string_view text);
// Valid until the next text_id(): copied.
std::string text_of_id(uint32_t id);

// The value's serial; 0: it is not recorded, which has been counted.
uint64_t add_value(format::ValueRow row, const ValueParts& parts);
void add_call(const format::CallRow& row);  // thread 0: the calling one

// The finding's FlatBuffer is made by `build`, on the calling thread.
void add_finding(const void* flatbuffer, size_t size);

// `what` and `detail` are literals; one row for each `what`.
void count_loss(const char* what, const char* detail = "");

// Before the first value.
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
void start_store(StoreSettings settings);

struct UnmatchedWatch {
  uint32_t watch = 0;
  std::vector<std::string> nearest;
};

// Writes what is waiting where it is time for it, or much is waiting. The file is made with the first that is there.
void flush();
bool waits_when_full();
uint32_t thread_number();  // the calling thread's, as the system has it
// Has the writer flush and waits for it, at most a second. Context: a thread that ends the program by _exit(), also in
// a signal handler; takes no lock.
void flush_before_exit();
uint64_t flush_interval_ms();  // the most that flush() may be called late
// The same, with an end chunk: nothing is added afterwards.
void finish_file(const std::vector<UnmatchedWatch>& unmatched);

struct StoreTotals {
  uint64_t values = 0, calls = 0, findings = 0, bytes = 0;
  std::string path;  // "": there is no file
};
StoreTotals store_totals();

}  // namespace tensorscope::values_file
