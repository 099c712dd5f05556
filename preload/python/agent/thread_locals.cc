#include "python/agent/thread_locals.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "python/objects.h"
#include "tensorscope/rules/utf8.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::agent {

namespace {

constexpr size_t kWords = 48;  // of a thread's state: its number and its dict, or its mark, lie before
constexpr size_t kLongestName = 40;

struct Thread {
  uint64_t number;
  std::string name;
};

// threading._active: threads by their numbers (Lib/threading.py).
std::vector<Thread> known_threads(const Gil& gil, Attributes& attributes) {
  std::vector<Thread> threads;
  Object* threading = module_globals(gil, "threading");
  Object* main = entry(gil, threading, "_main_thread");
  each_entry(gil, entry(gil, threading, "_active"), [&](Object* number, Object* thread) {
    if (!is_exactly(number, gil->PyLong_Type) || thread == main) return true;
    Object* name = attributes.find(thread, "_name");
    const long long value = gil->PyLong_AsLongLong(number);
    gil->PyErr_Clear();
    threads.push_back({uint64_t(value), std::string(text_beginning(text_of(gil, name), kLongestName))});
    return true;
  });
  return threads;
}

// Words of this process, 0 where nothing is.
std::vector<uint64_t> words_at(uint64_t address, size_t count) {
  std::vector<uint64_t> addresses(count), words(count);
  for (size_t i = 0; i < count; ++i) addresses[i] = address + i * sizeof(uint64_t);
  const bool read = address % sizeof(uint64_t) == 0 && torch::read_words_safely(addresses.data(), words.data(), count);
  return read ? words : std::vector<uint64_t>(count);
}

}  // namespace

bool ThreadLocals::is_mark(const Object* object) const {
  const char* name = object ? gil_->PyExceptionClass_Name(type_of(object)) : nullptr;
  return name && strcmp(name, "_thread._localdummy") == 0;
}

// The mark is a word of the thread's state from 3.13 on (threading_local_key); before, each threading.local has one of
// its own, which is an entry of the dict of the thread's state (Modules/_threadmodule.c).
void ThreadLocals::read(const Object* mark_type) {
  read_ = true;
  const std::vector<Thread> threads = known_threads(gil_, attributes_);
  ThreadState* state = gil_->PyInterpreterState_ThreadHead(gil_->PyInterpreterState_Main());
  while (state) {
    const std::vector<uint64_t> words = words_at(reinterpret_cast<uintptr_t>(state), kWords);
    state = gil_->PyThreadState_Next(state);
    const auto is_number = [&](const Thread& each) { return std::count(words.begin(), words.end(), each.number) > 0; };
    const auto thread = std::find_if(threads.begin(), threads.end(), is_number);
    if (thread == threads.end()) continue;
    for (const uint64_t word : words) {
      const uint64_t type = word != 0 ? words_at(word, 2)[1] : 0;
      auto* const object = reinterpret_cast<Object*>(word);
      if (type == reinterpret_cast<uintptr_t>(gil_->PyDict_Type)) {
        each_entry(gil_, object, [&](Object*, Object* value) {
          if (is_mark(value)) names_.emplace_back(value, thread->name);
          return true;
        });
      } else if (type == reinterpret_cast<uintptr_t>(mark_type)) {
        names_.emplace_back(object, thread->name);
      }
    }
  }
}

std::optional<std::string> ThreadLocals::thread_of(Object* key) {
  Object* mark = key;
  if (!is_mark(mark) && is_a(gil_, key, gil_->_PyWeakref_RefType)) mark = gil_->PyWeakref_GetObject(key);
  if (!is_mark(mark)) return std::nullopt;
  if (!read_) read(type_of(mark));
  const auto found = std::find_if(names_.begin(), names_.end(), [&](const auto& each) { return each.first == mark; });
  return found != names_.end() ? found->second : std::string();
}

}  // namespace tensorscope::python::agent
