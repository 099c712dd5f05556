// SPDX-License-Identifier: Apache-2.0
// The list of hooks (hook_list.h) as a table.
//
// Context: any: constants.
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
  tensor_saved,
  devices_counted,
  cupti_taken,
  count_
};

// As a person reads it.
constexpr const char* event_name(HookEvent event) {
  switch (event) {
    case HookEvent::tensor_made_with_storage:
      return "tensors made with a storage";
    case HookEvent::tensor_made_as_view:
      return "views";
    case HookEvent::tensor_made_bare:
      return "tensors made without a storage";
    case HookEvent::tensor_made_in_full:
      return "tensors made from all their parts";
    case HookEvent::tensor_destroyed:
      return "destruction of tensors";
    case HookEvent::tensor_released:
      return "release of tensors that only weak references hold";
    case HookEvent::cpu_allocated:
      return "allocation";
    case HookEvent::cpu_freed:
      return "release";
    case HookEvent::memory_reported:
      return "memory reports";
    case HookEvent::out_of_memory_reported:
      return "reports of failed allocations on a device";
    case HookEvent::cpu_out_of_memory:
      return "failed allocations on the CPU";
    case HookEvent::gradient_edge_set:
      return "gradient edges";
    case HookEvent::node_destroyed:
      return "destruction of nodes";
    case HookEvent::tensor_saved:
      return "tensors saved for backward";
    case HookEvent::devices_counted:
      return "counting of devices";
    case HookEvent::cupti_taken:
      return "another user of CUPTI";
    case HookEvent::count_:
      return "";
  }
  return "";
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
