// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "hooks/hook.h"
#include "hooks/hook_table.h"
#include "support/loaded_object.h"
#include "support/message.h"

namespace tensorscope {

constinit std::atomic<RealFunction> g_real_functions[kHookCount];

namespace {

struct Search {
  const HookInfo& hook;
  void* found;
};

bool look_in_library(const LoadedObject& object, void* context) {
  auto& search = *static_cast<Search*>(context);
  if (object.file_name_begins_with(search.hook.library)) search.found = object.find(search.hook.symbol);
  return search.found == nullptr;
}

}  // namespace

__attribute__((noinline, cold)) RealFunction find_real_function(Hook hook) {
  const HookInfo& info = hook_info(hook);
  Search search{info, nullptr};
  visit_objects(look_in_library, &search);
  if (!search.found) search.found = find_in_any_object(info.symbol);
  if (!search.found) {
    say("symbol lookup error: undefined symbol: %s (some library of the program was built for another PyTorch)",
        info.symbol);
    _exit(127);
  }
  const auto function = reinterpret_cast<RealFunction>(search.found);
  g_real_functions[size_t(hook)].store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace tensorscope
