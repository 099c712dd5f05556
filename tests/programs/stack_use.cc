// How many bytes of a thread's stack each kind of event takes, on a thread of its own whose stack is painted before and
// looked at afterwards. Prints "name bytes" for each: to be compared with what the same takes without the preload.
#include <ATen/ATen.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

extern "C" __attribute__((weak)) int exhausted_refuse_threads;  // exhausts_early.c

namespace {

constexpr size_t kStack = size_t{1} << 20;
constexpr uint64_t kPaint = 0xa5c3e1f7b2d49688;

// Everything that later events need once is done, but on another thread.
void first() { at::ones({4}); }

void tensors() {
  std::vector<at::Tensor> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(at::empty({16}));
}

void operations() {
  const at::Tensor weight = at::ones({4, 4}).requires_grad_(true);
  for (int i = 0; i < 10; ++i) (weight * 2.0).sum();
}

void throws() {
  for (int i = 0; i < 3; ++i) {
    try {
      TORCH_CHECK(false, "as planned");
    } catch (const c10::Error&) {
    }
  }
}

struct Own {};
void throws_its_own() {
  try {
    throw Own();
  } catch (const Own&) {
  }
}

void runs_out_of_memory() {
  try {
    at::empty({int64_t{1} << 60}, at::kByte);
  } catch (const std::exception&) {
  }
}

// From a stack of so many frames.
__attribute__((noinline)) void deep(int frames) {
  if (frames > 0) {
    deep(frames - 1);
    __asm__ volatile("" ::: "memory");
    return;
  }
  at::empty({16});
}
void deep_stack() { deep(400); }

std::atomic<bool> go{false};

template <void (*event)()>
void* run(void*) {
  while (!go.load()) sched_yield();
  event();
  return nullptr;
}

template <void (*event)()>
void measure(const char* name) {
  void* stack = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t* const words = static_cast<uint64_t*>(stack);
  for (size_t i = 0; i < kStack / 8; ++i) words[i] = kPaint;
  go = false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  pthread_t thread;
  const int refused = &exhausted_refuse_threads != nullptr ? exhausted_refuse_threads : 0;
  if (refused) exhausted_refuse_threads = 0;
  if (pthread_create(&thread, &attributes, run<event>, nullptr) != 0) return;
  if (refused) exhausted_refuse_threads = 1;
  go = true;
  pthread_join(thread, nullptr);
  size_t untouched = 0;
  while (untouched < kStack / 8 && words[untouched] == kPaint) ++untouched;
  std::printf("%s %zu\n", name, kStack - untouched * 8);
  munmap(stack, kStack);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  measure<first>("first");
  measure<tensors>("tensors");
  measure<tensors>("tensors_again");
  measure<operations>("operations");
  measure<throws>("throws");
  measure<throws_its_own>("throws_its_own");
  measure<deep_stack>("deep_stack");
  measure<runs_out_of_memory>("runs_out_of_memory");
  return 0;
}
