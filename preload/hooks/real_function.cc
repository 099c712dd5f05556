// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "hooks/hook.h"
#include "hooks/hook_table.h"
#include "support/loaded_object.h"
#include "support/message.h"

namespace tensorscope {

constinit std::atomic<RealFunction> g_real_functions[kHookCount];

__attribute__((noinline, cold)) RealFunction find_real_function(Hook hook) {
  const HookInfo& info = hook_info(hook);
  void* found = nullptr;
  visit_objects([&](const LoadedObject& object) {
    if (object.file_name_begins_with(info.library)) found = object.find(info.symbol);
    return found == nullptr;
  });
  if (!found) found = find_in_any_object(info.symbol);
  if (!found) {
    say("symbol lookup error: undefined symbol: %s (some library of the program was built for another PyTorch)",
        info.symbol);
    _exit(127);
  }
  const auto function = reinterpret_cast<RealFunction>(found);
  g_real_functions[size_t(hook)].store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace tensorscope
