// SPDX-License-Identifier: Apache-2.0
#include "collector/features.h"

#include <string.h>

#include <algorithm>
#include <atomic>

namespace tensorscope::collector {

namespace {

constexpr size_t kMaxFeatures = 16;
const Feature* g_features[kMaxFeatures] = {};
std::atomic<size_t> g_feature_count{0};  // of those that are whole: the program may ask for a command meanwhile

template <typename F>
void each_feature(F f) {
  const size_t count = g_feature_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) f(*g_features[i]);
}

void call_each(void (*Feature::*function)()) {
  each_feature([&](const Feature& feature) {
    if (feature.*function) (feature.*function)();
  });
}

}  // namespace

void add_feature(const Feature& feature) {
  const size_t count = g_feature_count.load(std::memory_order_relaxed);
  if (count == kMaxFeatures) return;
  g_features[count] = &feature;
  g_feature_count.store(count + 1, std::memory_order_release);
}

void begin_features() { call_each(&Feature::begin); }
void flush_features() { call_each(&Feature::flush); }
void features_before_dump() { call_each(&Feature::before_dump); }
void features_look() { call_each(&Feature::look); }
void stop_all_features() { call_each(&Feature::stop_all); }
void start_all_features() { call_each(&Feature::start_all); }
void features_after_fork_in_child() { call_each(&Feature::after_fork_in_child); }

void features_describe(dump::DumpFacts& facts) {
  each_feature([&](const Feature& feature) {
    if (feature.describe) feature.describe(facts);
  });
}

uint64_t flush_interval_of_features_ms() {
  uint64_t shortest = UINT64_MAX;
  each_feature([&](const Feature& feature) {
    if (feature.flush_interval_ms) shortest = std::min(shortest, feature.flush_interval_ms());
  });
  return shortest;
}

bool any_feature_waits_for_torch() {
  bool any = false;
  each_feature([&](const Feature& feature) { any |= feature.waits_for_torch && feature.waits_for_torch(); });
  return any;
}

void features_look_for_torch() {
  each_feature([](const Feature& feature) {
    const bool wanted = !feature.waits_for_torch || feature.waits_for_torch();
    if (wanted && feature.look_for_torch) feature.look_for_torch();
  });
}

const Command* find_command(const char* text) {
  const Command* found = nullptr;
  each_feature([&](const Feature& feature) {
    for (const Command& each : feature.commands) {
      if (each.text && strcmp(each.text, text) == 0) found = &each;
    }
  });
  return found;
}

}  // namespace tensorscope::collector
