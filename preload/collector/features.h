// SPDX-License-Identifier: Apache-2.0
// What features want of the collector thread. They are earlier rooms, which the collector does not know: each is added
// at activation (hooks/features.h), and the order in which they are added is the order in which they are called.
//
// Context: add_feature() at activation, before the collector starts; all others on the collector, or as they say.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::dump {
struct DumpFacts;
}

namespace tensorscope::collector {

// A request of `tensorscope` (request_file.h) that only this feature understands.
struct Command {
  const char* text = nullptr;  // rules/request_name.h
  void (*run)() = nullptr;
  bool refused_while_stopped = false;  // by `stop --all`: `tensorscope start` comes first
  bool (*is_done)() = nullptr;         // after run(); null: it cannot fail
};

// What is null is not wanted.
struct Feature {
  void (*begin)() = nullptr;                  // the collector's thread has begun, also in a forked child
  void (*flush)() = nullptr;                  // writes what waits, if it is time; before the collector sleeps
  uint64_t (*flush_interval_ms)() = nullptr;  // how late flush() may be called at most; UINT64_MAX: nothing waits
  void (*describe)(dump::DumpFacts& facts) = nullptr;  // what a dump says of it
  void (*before_dump)() = nullptr;                     // a recording is flushed: it and the dump have the same alive
  void (*look)() = nullptr;                            // once a second
  bool (*waits_for_torch)() = nullptr;                 // true of any: look_for_torch() of all is called every 20 ms
  void (*look_for_torch)() = nullptr;
  void (*stop_all)() = nullptr;  // `tensorscope stop --all`, and what takes it back
  void (*start_all)() = nullptr;
  void (*after_fork_in_child)() = nullptr;  // before the child's collector starts. Context: the forking thread
  Command commands[2] = {};
};

// `feature` is used until the process ends.
void add_feature(const Feature& feature);

void begin_features();
void flush_features();
uint64_t flush_interval_of_features_ms();
void features_describe(dump::DumpFacts& facts);
void features_before_dump();
void features_look();
bool any_feature_waits_for_torch();
void features_look_for_torch();
void stop_all_features();
void start_all_features();
void features_after_fork_in_child();
// Returns null if no feature has such a command. Context: any but signal handlers.
const Command* find_command(const char* text);

}  // namespace tensorscope::collector
