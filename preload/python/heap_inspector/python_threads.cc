// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/python_threads.h"

#include <algorithm>
#include <string_view>

#include "python/objects.h"
#include "tensorscope/rules/utf8.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr size_t kWords = 48;  // of a thread's state: its number and its dict, or its mark, lie before
constexpr size_t kLongestName = 40;

struct KnownThread {
  uint64_t number;
  std::string name;
  bool main;
};

// threading._active: threads by their numbers (Lib/threading.py).
std::vector<KnownThread> known_threads(const Gil& gil, Attributes& attributes) {
  std::vector<KnownThread> threads;
  Object* threading = module_globals(gil, "threading");
  Object* main = entry(gil, threading, "_main_thread");
  each_entry(gil, entry(gil, threading, "_active"), [&](Object* number, Object* thread) {
    if (!is_exactly(number, gil->PyLong_Type)) return true;
    Object* name = attributes.find(thread, "_name");
    const long long value = gil->PyLong_AsLongLong(number);
    gil->PyErr_Clear();
    threads.push_back({uint64_t(value), std::string(text_beginning(text_of(gil, name), kLongestName)), thread == main});
    return true;
  });
  return threads;
}

}  // namespace

std::vector<uint64_t> words_at(uint64_t address, size_t count) {
  std::vector<uint64_t> addresses(count), words(count);
  for (size_t i = 0; i < count; ++i) addresses[i] = address + i * sizeof(uint64_t);
  const bool read = address % sizeof(uint64_t) == 0 && torch::read_words_safely(addresses.data(), words.data(), count);
  return read ? words : std::vector<uint64_t>(count);
}

std::vector<PythonThread> python_threads(const Gil& gil, Attributes& attributes) {
  std::vector<PythonThread> threads;
  const std::vector<KnownThread> known = known_threads(gil, attributes);
  ThreadState* state = gil->PyInterpreterState_ThreadHead(gil->PyInterpreterState_Main());
  for (; state; state = gil->PyThreadState_Next(state)) {
    const auto address = uint64_t(reinterpret_cast<uintptr_t>(state));
    PythonThread thread{state, gil->PyThreadState_GetID ? gil->PyThreadState_GetID(state) : address, "", false,
                        words_at(address, kWords)};
    const auto is_number = [&](const KnownThread& each) {
      return std::count(thread.words.begin(), thread.words.end(), each.number) > 0;
    };
    if (const auto found = std::find_if(known.begin(), known.end(), is_number); found != known.end()) {
      thread.name = found->name;
      thread.main = found->main;
    }
    threads.push_back(std::move(thread));
  }
  return threads;
}

}  // namespace tensorscope::python::heap_inspector
