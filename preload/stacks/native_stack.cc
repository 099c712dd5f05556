#include "stacks/native_stack.h"

#include "stacks/libunwind_loader.h"
#include "stacks/native_trie.h"
#include "stacks/own_frames.h"
#include "support/coverage.h"
#include "support/options.h"

namespace tensorscope::stacks {

namespace {

constexpr int kMaxFrames = 1024;
constexpr int kMaxOwnFrames = 32;

constinit Libunwind g_libunwind;
constinit NativeTrie g_trie;
constinit OwnCode g_own_code;

// Index of the first frame to keep.
int first_kept_frame(void* const* addresses, int count, const void* caller, const void* until) {
  if (until != nullptr) {
    for (int i = 0; i < count && i < kMaxOwnFrames; ++i) {
      if (addresses[i] == until) return i;
    }
  }
  int i = 0;
  while (i < count && addresses[i] != caller) ++i;
  while (i < count && g_own_code.holds(reinterpret_cast<uint64_t>(addresses[i]))) ++i;
  return i;
}

}  // namespace

void start_native() {
  if (!options().native_stacks) {
    return set_coverage(Subject::native_stacks, Seen::no, "switched off (TENSORSCOPE_NATIVE)");
  }
  if (!g_libunwind.open()) {
    return set_coverage(Subject::native_stacks, Seen::no,
                        "libunwind.so.8 was not found (Debian: apt install libunwind8)");
  }
  g_own_code = find_own_code();
  set_coverage(Subject::native_stacks, Seen::yes, "by libunwind");
}

__attribute__((noinline)) StackId capture_native(const void* until) {
  if (!g_libunwind.usable()) return 0;
  void* addresses[kMaxFrames + kMaxOwnFrames];
  const int count = g_libunwind.backtrace(addresses, kMaxFrames + kMaxOwnFrames);
  const int first = first_kept_frame(addresses, count, __builtin_return_address(0), until);
  StackId id = 0;
  for (int i = count - 1; i >= first; --i) {
    id = g_trie.child(id, reinterpret_cast<uint64_t>(addresses[i]));
    if (id == 0) break;
  }
  if (id == 0) count_missed(Subject::native_stacks);
  return id;
}

size_t native_frame_count() { return g_trie.count(); }
NativeFrame native_frame(StackId id) { return g_trie.frame(id); }
uint64_t native_memory() { return g_trie.memory(); }

void native_after_fork_in_child() {
  if (g_libunwind.usable() && !g_libunwind.after_fork_in_child()) {
    set_coverage(Subject::native_stacks, Seen::no, "another thread was inside libunwind when this process was forked");
  }
}

}  // namespace tensorscope::stacks
