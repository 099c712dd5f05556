// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch/throw_function.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "support/load_library.h"
#include "support/loaded_object.h"
#include "support/locks/spin_lock.h"
#include "support/message.h"
#include "support/unload_epoch_cache.h"

namespace tensorscope::hooks {

namespace {

constexpr char kName[] = "__cxa_throw";

// Objects that have thrown, each with its function.
struct Thrower {
  uint64_t begin, end;
  ThrowFunction function;
  bool holds(uint64_t address) const { return address - begin < end - begin; }
};

class Throwers {
 public:
  bool find(uint64_t generation, uint64_t address, Thrower& found) const {
    for (const auto& entry : entries_) {
      UnloadEpochCache<3>::Words words;
      if (!entry.read(generation, words)) continue;
      found = {words.at[0], words.at[1], reinterpret_cast<ThrowFunction>(words.at[2])};
      if (found.holds(address)) return true;
    }
    return false;
  }

  void add(uint64_t generation, const Thrower& thrower) {
    if (!lock_.try_lock()) return;  // another thread adds one
    Thrower known;
    if (!find(generation, thrower.begin, known)) write(generation, thrower);
    lock_.unlock();
  }

 private:
  void write(uint64_t generation, const Thrower& thrower) {
    for (auto& entry : entries_) {
      if (entry.is_of(generation)) continue;
      return entry.write(generation, {{thrower.begin, thrower.end, reinterpret_cast<uint64_t>(thrower.function)}});
    }
  }
  UnloadEpochCache<3> entries_[128];
  SpinLock lock_;  // of writers; only ever tried
};
constinit Throwers g_throwers;

struct Search {
  LoadedObject object;         // the thrower's
  void* definition = nullptr;  // the first in load order
  unsigned definitions = 0;
};

// As the loader searches: the global scope, then the object's own.
void* ask_the_loader(const Search& search) {
  // Of a library that was loaded late the next ones are its own: the global scope comes next, where it may lie itself.
  void* global = dlsym(RTLD_NEXT, kName);
  if (!global) global = dlsym(RTLD_DEFAULT, kName);
  if (global && global != own_object().find(kName)) return global;
  void* handle = search.object.path ? load_library(search.object.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* found = handle ? dlsym(handle, kName) : nullptr;
  if (handle) unload_library(handle);
  return found ? found : search.definition;
}

__attribute__((noinline, cold)) ThrowFunction find(uint64_t generation, const void* thrower) {
  Search search;
  visit_objects([&](const LoadedObject& object) {
    if (object.contains(thrower)) search.object = object;
    if (void* found = object.find(kName)) {
      if (search.definitions++ == 0) search.definition = found;
    }
    return true;
  });
  void* found = search.definitions > 1 ? ask_the_loader(search) : search.definition;
  if (!found) {
    say("symbol lookup error: undefined symbol: %s", kName);
    _exit(127);
  }
  const auto function = reinterpret_cast<ThrowFunction>(found);
  if (search.object) g_throwers.add(generation, {search.object.begin, search.object.end, function});
  return function;
}

}  // namespace

ThrowFunction throw_function_for(const void* thrower) {
  const uint64_t generation = unload_generation();
  Thrower known;
  return g_throwers.find(generation, uint64_t(thrower), known) ? known.function : find(generation, thrower);
}

}  // namespace tensorscope::hooks
