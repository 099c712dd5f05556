// SPDX-License-Identifier: Apache-2.0
#include "collector/features.h"

#include <string.h>

#include <algorithm>

namespace tensorscope::collector {

namespace {

constexpr size_t kMaxFeatures = 8;
const Feature* g_features[kMaxFeatures] = {};
size_t g_feature_count = 0;

template <typename F>
void each_feature(F f) {
  for (size_t i = 0; i < g_feature_count; ++i) f(*g_features[i]);
}

void call_each(void (*Feature::*function)()) {
  each_feature([&](const Feature& feature) {
    if (feature.*function) (feature.*function)();
  });
}

}  // namespace

void add_feature(const Feature& feature) {
  if (g_feature_count < kMaxFeatures) g_features[g_feature_count++] = &feature;
}

void flush_features() { call_each(&Feature::flush); }
void features_before_dump() { call_each(&Feature::before_dump); }
void features_look() { call_each(&Feature::look); }
void stop_all_features() { call_each(&Feature::stop_all); }
void start_all_features() { call_each(&Feature::start_all); }
void features_after_fork_in_child() { call_each(&Feature::after_fork_in_child); }

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
    if (feature.waits_for_torch && feature.waits_for_torch()) feature.look_for_torch();
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
