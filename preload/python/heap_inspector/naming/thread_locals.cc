// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/thread_locals.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "python/heap_inspector/python_threads.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

bool ThreadLocals::is_mark(const Object* object) const {
  const char* name = object ? gil_->PyExceptionClass_Name(type_of(object)) : nullptr;
  return name && strcmp(name, "_thread._localdummy") == 0;
}

// The mark is a word of the thread's state from 3.13 on (threading_local_key); before, each threading.local has one of
// its own, which is an entry of the dict of the thread's state (Modules/_threadmodule.c).
void ThreadLocals::read(const Object* mark_type) {
  read_ = true;
  for (const PythonThread& thread : python_threads(gil_, attributes_)) {
    if (thread.main || thread.name.empty()) continue;
    for (const uint64_t word : thread.words) {
      const uint64_t type = word != 0 ? words_at(word, 2)[1] : 0;
      auto* const object = reinterpret_cast<Object*>(word);
      if (type == reinterpret_cast<uintptr_t>(gil_->PyDict_Type)) {
        each_entry(gil_, object, [&](Object*, Object* value) {
          if (is_mark(value)) names_.emplace_back(value, thread.name);
          return true;
        });
      } else if (type == reinterpret_cast<uintptr_t>(mark_type)) {
        names_.emplace_back(object, thread.name);
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

}  // namespace tensorscope::python::heap_inspector
