// 64 threads on two processors that make and free tensors, part of which another thread frees. Arguments: how many
// times each thread does so at least, how many dumps are written meanwhile. Prints as JSON what the threads know
// themselves, for each dump.
//
// A thread keeps its first 8 tensors and its newest 16, and gives the one before these to the next thread's mailbox,
// from which that thread takes it now and then. The i-th tensor of thread t has the shape (i, t) and lies in t bytes,
// so that a row says which it is.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tensorscope/tensorscope.h"

namespace {

constexpr int kThreads = 64;
constexpr int kFirst = 8;
constexpr int kNewest = 16;

struct Mailbox {
  std::atomic<bool> taken{false};
  at::Tensor tensor;
  // Returns what was in it before.
  at::Tensor exchange(at::Tensor other) {
    while (taken.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    std::swap(tensor, other);
    taken.store(false, std::memory_order_release);
    return other;
  }
};

struct Worker {
  std::array<at::Tensor, kFirst> first;
  std::array<at::Tensor, kNewest> newest;
  Mailbox mailbox;
  std::atomic<long> made{0};
};

std::array<Worker, kThreads> g_workers;
std::atomic<bool> g_dumps_are_written{false};
std::barrier g_at_rest(kThreads + 1);

__attribute__((noinline)) at::Tensor make(long number, int thread) {
  return at::empty({thread}, at::kByte).expand({number, thread});
}

void work(int index, long least) {
  const c10::InferenceMode no_autograd;  // else a view keeps the tensor that it was made of
  Worker& own = g_workers[index];
  pthread_setname_np(pthread_self(), ("worker-" + std::to_string(index + 1)).c_str());
  for (long number = 1; number <= least || !g_dumps_are_written.load(); ++number) {
    at::Tensor fresh = make(number, index + 1);
    std::swap(number <= kFirst ? own.first[number - 1] : own.newest[number % kNewest], fresh);
    if (fresh.defined()) g_workers[(index + 1) % kThreads].mailbox.exchange(std::move(fresh));
    if (number % 3 == 0) own.mailbox.exchange({});
    own.made.store(number);
  }
  g_at_rest.arrive_and_wait();
  own.mailbox.exchange({});
  g_at_rest.arrive_and_wait();  // each has its first 8 and its newest 16 now
  g_at_rest.arrive_and_wait();
  for (at::Tensor& tensor : own.first) tensor.reset();
  for (at::Tensor& tensor : own.newest) tensor.reset();
  g_at_rest.arrive_and_wait();  // and nothing now
  g_at_rest.arrive_and_wait();
}

std::string counts() {
  std::string text;
  for (const Worker& worker : g_workers) text += (text.empty() ? "[" : ", ") + std::to_string(worker.made.load());
  return text + "]";
}

// `begin`: before it was asked for.
void dump(const char* moment, const std::string& begin) {
  char path[4096];
  const int status = tensorscope_try_dump(path, sizeof path);
  std::printf("{\"moment\": \"%s\", \"status\": %d, \"dump\": \"%s\", \"before\": %s, \"after\": %s}\n", moment, status,
              path, begin.c_str(), counts().c_str());
}

void use_two_processors() {
  cpu_set_t allowed, chosen;
  CPU_ZERO(&chosen);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0, count = 0; cpu < CPU_SETSIZE && count < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &chosen), ++count;
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

bool all_have_begun() {
  for (const Worker& worker : g_workers) {
    if (worker.made.load() < kFirst + 2 * kNewest) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const long least = std::atol(argv[1]), dumps = std::atol(argv[2]);
  use_two_processors();
  at::set_num_threads(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i, least);
  while (!all_have_begun()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < dumps; ++i) dump("running", counts());
  g_dumps_are_written.store(true);
  g_at_rest.arrive_and_wait();
  g_at_rest.arrive_and_wait();
  dump("kept", counts());
  g_at_rest.arrive_and_wait();
  g_at_rest.arrive_and_wait();
  dump("freed", counts());
  g_at_rest.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  return 0;
}
