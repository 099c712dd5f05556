// SPDX-License-Identifier: Apache-2.0
#include "fake_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace fake_cuda {

namespace {

struct Failure {
  uint64_t calls = 0;  // so far
  uint64_t first = 0;  // 0: never
  uint64_t count = 0;
};

size_t number_of(const char* name, size_t otherwise) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

// Only numbers are understood in CUDA_VISIBLE_DEVICES; the first thing that is none, or no device, ends the list.
int visible_devices(int present) {
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return present;
  int visible = 0;
  while (*list) {
    char* end = nullptr;
    const long device = strtol(list, &end, 10);
    if (end == list || device < 0 || device >= present) break;
    ++visible;
    if (*end != ',') break;
    list = end + 1;
  }
  return visible;
}

struct State {
  std::mutex mutex;
  int devices = 0;
  size_t capacity[kMaxDevices] = {};
  size_t taken[kMaxDevices] = {};
  size_t others = 0;
  std::map<const char*, Range> ranges;  // by their begin
  std::map<std::string, Failure> failures;

  State() {
    const size_t wanted = std::min(number_of("TENSORSCOPE_FAKE_CUDA_DEVICES", 1), size_t{kMaxDevices});
    devices = visible_devices(int(wanted));
    std::fill_n(capacity, kMaxDevices, number_of("TENSORSCOPE_FAKE_CUDA_CAPACITY", size_t{256} << 20));
    others = number_of("TENSORSCOPE_FAKE_CUDA_OTHERS", 0);
    if (const char* list = getenv("TENSORSCOPE_FAKE_CUDA_FAIL")) read_failures(list);
  }

  void read_failures(const char* list) {
    while (const char* colon = strchr(list, ':')) {
      char* end = nullptr;
      Failure failure{0, strtoull(colon + 1, &end, 10), 1};
      if (*end == ':') failure.count = strtoull(end + 1, &end, 10);
      failures[std::string(list, colon)] = failure;
      if (*end != ',') break;
      list = end + 1;
    }
  }
};

// Never destroyed: libraries free device memory while the process ends.
State& state() {
  static State& the_state = *new State;
  return the_state;
}

thread_local int t_device = 0;

}  // namespace

int device_count() { return state().devices; }
int current_device() { return t_device; }
void set_current_device(int device) { t_device = device; }

size_t capacity(int device) {
  std::lock_guard lock(state().mutex);
  return state().capacity[device];
}

size_t taken(int device) {
  std::lock_guard lock(state().mutex);
  return state().taken[device];
}

size_t others() { return state().others; }

size_t available(int device) {
  std::lock_guard lock(state().mutex);
  const size_t used = state().taken[device] + state().others;
  return state().capacity[device] > used ? state().capacity[device] - used : 0;
}

bool take(int device, size_t nbytes) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  const size_t used = all.taken[device] + all.others;
  if (used > all.capacity[device] || nbytes > all.capacity[device] - used) return false;
  all.taken[device] += nbytes;
  return true;
}

void give_back(int device, size_t nbytes) {
  std::lock_guard lock(state().mutex);
  state().taken[device] -= nbytes;
}

void add_range(const Range& range) {
  std::lock_guard lock(state().mutex);
  state().ranges[range.begin] = range;
}

Range remove_range(const void* begin) {
  std::lock_guard lock(state().mutex);
  auto& ranges = state().ranges;
  const auto found = ranges.find(static_cast<const char*>(begin));
  if (found == ranges.end()) return {};
  const Range range = found->second;
  ranges.erase(found);
  return range;
}

Range find_range(const void* inside) {
  const auto* address = static_cast<const char*>(inside);
  std::lock_guard lock(state().mutex);
  const auto& ranges = state().ranges;
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) return {};
  const Range& range = std::prev(next)->second;
  return address < range.begin + range.size ? range : Range{};
}

bool shall_fail(const char* call) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (all.failures.empty()) return false;
  const auto found = all.failures.find(call);
  if (found == all.failures.end()) return false;
  Failure& failure = found->second;
  ++failure.calls;
  return failure.first != 0 && failure.calls >= failure.first && failure.calls - failure.first < failure.count;
}

}  // namespace fake_cuda

FAKE_CUDA_API void fake_cuda_set_capacity(int device, size_t nbytes) {
  std::lock_guard lock(fake_cuda::state().mutex);
  fake_cuda::state().capacity[device] = nbytes;
}

// The next `count` calls of that name fail, from the `first`-th from now.
FAKE_CUDA_API void fake_cuda_fail(const char* call, uint64_t first, uint64_t count) {
  std::lock_guard lock(fake_cuda::state().mutex);
  fake_cuda::state().failures[call] = {0, first, count};
}
