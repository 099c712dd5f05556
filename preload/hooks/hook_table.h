// The list of hooks (hook_list.h) as a table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/hook_list.h"
#include "support/coverage.h"

namespace tensorscope {

enum class Hook : uint8_t {
#define X(id, ...) id,
  TENSORSCOPE_HOOKS(X)
#undef X
      count_
};
inline constexpr size_t kHookCount = size_t(Hook::count_);

// What a program can notice of torch: several hooks may stand for one.
enum class HookEvent : uint8_t {
  tensor_made_with_storage,
  tensor_made_as_view,
  tensor_made_bare,
  tensor_made_in_full,
  tensor_destroyed,
  tensor_released,
  cpu_allocated,
  cpu_freed,
  memory_reported,
  out_of_memory_reported,
  cpu_out_of_memory,
  gradient_edge_set,
  node_destroyed,
  devices_counted,
  cupti_taken,
  count_
};

// As a person reads it.
constexpr const char* event_name(HookEvent event) {
  constexpr const char* kNames[size_t(HookEvent::count_)] = {
      "tensors made with a storage",
      "views",
      "tensors made without a storage",
      "tensors made from all their parts",
      "destruction of tensors",
      "release of tensors that only weak references hold",
      "allocation",
      "release",
      "memory reports",
      "reports of failed allocations on a device",
      "failed allocations on the CPU",
      "gradient edges",
      "destruction of nodes",
      "counting of devices",
      "another user of CUPTI",
  };
  return kNames[size_t(event)];
}

struct HookInfo {
  const char* symbol;
  const char* library;
  Subject subject;
  HookEvent event;
};

inline constexpr HookInfo kHooks[kHookCount] = {
#define X(id, symbol, library, subject, event, why) {#symbol, library, Subject::subject, HookEvent::event},
    TENSORSCOPE_HOOKS(X)
#undef X
};

constexpr const HookInfo& hook_info(Hook hook) { return kHooks[size_t(hook)]; }

}  // namespace tensorscope
