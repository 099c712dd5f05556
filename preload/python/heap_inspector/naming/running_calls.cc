// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/running_calls.h"

#include <map>
#include <unordered_map>
#include <utility>

#include "python/heap_inspector/python_threads.h"

namespace tensorscope::python::heap_inspector {

std::vector<RunningCall> running_calls(const Gil& gil, const std::vector<Frame>& running, Attributes& attributes) {
  std::vector<RunningCall> calls;
  if (running.empty()) return calls;
  std::unordered_map<const ThreadState*, PythonThread> threads;
  for (PythonThread& thread : python_threads(gil, attributes)) threads.emplace(thread.state, std::move(thread));
  std::map<std::pair<const ThreadState*, const Object*>, uint32_t> depths;
  calls.reserve(running.size());
  for (const Frame& frame : running) {
    RunningCall call;
    if (const auto thread = threads.find(frame.thread); thread != threads.end()) {
      call.thread = thread->second.id;
      call.thread_name = thread->second.name;
    }
    call.depth = ++depths[{frame.thread, frame.code}];
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace tensorscope::python::heap_inspector
