// SPDX-License-Identifier: Apache-2.0
#include "support/locks/loader_walk.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <cstdint>

#include "support/fresh_in_child.h"
#include "support/spin_then_sleep.h"

namespace tensorscope {

namespace {

constexpr uint64_t kForkPatienceNs = 1'000'000'000;
constexpr uint64_t kWalkPatienceNs = 2'000'000'000;

constinit std::atomic<uint32_t> g_walks{0};  // going on, in all threads
constinit std::atomic<uint32_t> g_forks{0};  // likewise
constinit std::atomic<bool> g_lost{false};
constinit thread_local uint32_t t_depth = 0;

// Of a thread that forks (hold_loader_walks): a library's constructor may.
uint32_t own_walks() { return t_depth > 1 ? 1 : 0; }

// Whoever walked, unless it was the forking thread, is not in this process: it has left the loader's lock held.
FreshInChild g_fresh_walks{[] {
  const uint32_t own = own_walks();
  if (g_walks.exchange(own) != own) g_lost.store(true, std::memory_order_relaxed);
  g_forks.store(0);
  --t_depth;
}};

// Where its program headers are: the file's first page is mapped.
bool describe(const link_map& object, dl_phdr_info& info) {
  Dl_info place;
  if (object.l_ld == nullptr || dladdr(object.l_ld, &place) == 0) return false;
  const auto* header = static_cast<const ElfW(Ehdr)*>(place.dli_fbase);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  info.dlpi_addr = object.l_addr;
  info.dlpi_name = object.l_name;
  info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(reinterpret_cast<const char*>(header) + header->e_phoff);
  info.dlpi_phnum = header->e_phnum;
  return true;
}

using Visit = FunctionRef<int(const dl_phdr_info& info)>;

int walk_by_the_loader(Visit visit) {
  return dl_iterate_phdr([](dl_phdr_info* info, size_t, void* visit) { return (*static_cast<Visit*>(visit))(*info); },
                         &visit);
}

int walk_without_lock(Visit visit) {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    dl_phdr_info info = {};
    if (!describe(*object, info)) continue;
    if (const int answer = visit(info)) return answer;
  }
  return 0;
}

}  // namespace

// The walk is counted before it looks for forks, and the fork before it looks for walks: one of them sees the other.
LoaderWalk::LoaderWalk() {
  if (t_depth++ != 0) return;
  const auto may_begin = [] {
    g_walks.fetch_add(1);
    if (g_forks.load() == 0) return true;
    g_walks.fetch_sub(1);
    return false;
  };
  if (!may_begin() && !spin_then_sleep_until(kWalkPatienceNs, may_begin)) g_walks.fetch_add(1);
}

LoaderWalk::~LoaderWalk() {
  if (--t_depth == 0) g_walks.fetch_sub(1);
}

LoaderWalk::operator bool() const { return !g_lost.load(std::memory_order_relaxed); }

int walk_loaded_objects(Visit visit) {
  const LoaderWalk walk;
  return walk ? walk_by_the_loader(visit) : walk_without_lock(visit);
}

// This thread's own walks, of other fork handlers, need not wait for it, nor it for them.
void hold_loader_walks() {
  ++t_depth;
  g_forks.fetch_add(1);
  spin_then_sleep_until(kForkPatienceNs, [] { return g_walks.load() == own_walks(); });
}

void release_loader_walks() {
  g_forks.fetch_sub(1);
  --t_depth;
}

}  // namespace tensorscope
