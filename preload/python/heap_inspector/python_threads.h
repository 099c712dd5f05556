// SPDX-License-Identifier: Apache-2.0
// The interpreter's threads, and what the program's `threading` calls them.
//
// Context: heap inspector. The number by which threading knows a thread is found in the thread's state by what is in
// it, by checked reads: no API reports it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/attributes.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

struct PythonThread {
  ThreadState* state;
  uint64_t id;                  // given to no other thread; CPython 3.8: the state's address
  std::string name;             // "MainThread", "Thread-1 (load)"; "": threading does not know it
  bool main;                    // the thread that threading calls the main one
  std::vector<uint64_t> words;  // the beginning of its state; zeros if it could not be read
};

std::vector<PythonThread> python_threads(const Gil& gil, Attributes& attributes);

// Words of this process, 0 where nothing is.
std::vector<uint64_t> words_at(uint64_t address, size_t count);

}  // namespace tensorscope::python::heap_inspector
