// SPDX-License-Identifier: Apache-2.0
#include "dump/child_processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "support/small_file.h"

namespace tensorscope::dump {

namespace {

// The kernel walks a child's page tables for its private memory, some milliseconds of this thread's processor time a
// gibibyte: that is limited, since on a busy machine much more passes by the clock. The clock alone is for a child
// whose lock is held.
constexpr uint64_t kMaxProcessorNs = 50'000'000, kLongestWaitNs = 2'000'000'000;

class TimeLimit {
 public:
  explicit TimeLimit(const WorkClocks& clocks)
      : clocks_(clocks),
        processor_until_ns_(clocks.processor_ns() + kMaxProcessorNs),
        until_ns_(clocks.wall_ns() + kLongestWaitNs) {}
  bool time_is_left() const { return clocks_.processor_ns() < processor_until_ns_ && clocks_.wall_ns() < until_ns_; }

 private:
  const WorkClocks& clocks_;
  uint64_t processor_until_ns_, until_ns_;
};

// Calls `each` with the name of each entry, until it returns false. False: the folder was not read to its end.
template <typename Each>
bool for_each_entry(const char* path, Each each) {
  DIR* const folder = opendir(path);
  if (folder == nullptr) return false;
  bool go_on = true;
  while (go_on) {
    const dirent* const entry = readdir(folder);
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') go_on = each(entry->d_name);
  }
  closedir(folder);
  return go_on;
}

class ChildReader {
 public:
  ChildReader(const char* proc, const WorkClocks& clocks, Descendants* descendants)
      : proc_(proc), clocks_(clocks), limit_(clocks), descendants_(descendants) {
    if (descendants_ != nullptr) descendants_->count = 0;
  }

  // A child belongs to the thread that made it. False: a kernel without CONFIG_PROC_CHILDREN has no such files, and one
  // file may be longer than what is read of it.
  bool read_lists() {
    if (!read_lists_of("self")) return false;
    direct_ = false;
    for (size_t i = 0; descendants_ != nullptr && i < descendants_->count && limit_.time_is_left(); ++i) {
      char pid[16];
      snprintf(pid, sizeof pid, "%d", int(descendants_->all[i].pid));
      read_lists_of(pid);
    }
    return true;
  }

  // Asks each process for its parent. False: there was no time for all of them.
  bool ask_each_process(pid_t parent) {
    const TimeLimit limit(clocks_);
    return for_each_entry(proc_, [&](const char* name) {
      if (name[0] < '0' || name[0] > '9') return true;
      if (!limit.time_is_left()) return false;
      char path[256];
      snprintf(path, sizeof path, "%s/%.16s/stat", proc_, name);
      if (read_stat(path, 4) == uint64_t(parent)) add(name);
      return true;
    });
  }

  ChildProcesses result() const {
    ChildProcesses result = found_;
    if (!private_known_) result.private_bytes = 0;
    return result;
  }

 private:
  bool read_lists_of(const char* process) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/task", proc_, process);
    return for_each_entry(path, [&](const char* thread) { return read_list_of(process, thread); });
  }

  bool read_list_of(const char* process, const char* thread) {
    char path[256], text[8192];
    snprintf(path, sizeof path, "%s/%s/task/%.16s/children", proc_, process, thread);
    size_t length = 0;
    const int error = read_file(path, text, sizeof text, length);
    if (length + 1 == sizeof text) return false;
    if (error != 0) return !is_there(process, thread);
    char* save = nullptr;
    for (char* pid = strtok_r(text, " ", &save); pid != nullptr; pid = strtok_r(nullptr, " ", &save)) add(pid);
    return true;
  }

  // Whether a thread whose list cannot be read is still there.
  bool is_there(const char* process, const char* thread) const {
    char path[256], text[64];
    snprintf(path, sizeof path, "%s/%s/task/%.16s/comm", proc_, process, thread);
    return read_small_file(path, text, sizeof text) != 0;
  }

  void add(const char* pid) {
    char path[256], status[4096];
    snprintf(path, sizeof path, "%s/%.16s/status", proc_, pid);
    if (read_small_file(path, status, sizeof status) == 0) return;
    const uint64_t resident = number_after(status, "VmRSS:") * 1024;  // an ended child has none
    MemoryOfProcess memory;
    const bool known = limit_.time_is_left() && read_memory_of(pid, memory, proc_);
    if (direct_) {
      found_.count += 1;
      found_.resident += resident;
      found_.private_bytes += memory.private_bytes;
      private_known_ = private_known_ && (known || resident == 0);
    }
    if (descendants_ != nullptr && known && resident != 0) describe(pid, memory);
  }

  void describe(const char* pid, const MemoryOfProcess& memory) {
    constexpr int kStartTime = 22;
    if (descendants_->count == Descendants::kMax) return;
    char path[256];
    snprintf(path, sizeof path, "%s/%.16s/stat", proc_, pid);
    descendants_->all[descendants_->count++] = {pid_t(atoi(pid)), read_stat(path, kStartTime), memory};
  }

  const char* proc_;
  const WorkClocks& clocks_;
  TimeLimit limit_;  // for private memory
  ChildProcesses found_;
  bool private_known_ = true;
  Descendants* descendants_;
  bool direct_ = true;  // what is added is a child, not one of a child
};

}  // namespace

uint64_t MemoryOfProcess::growth_since(const MemoryOfProcess& before) const {
  const auto grown = [](uint64_t now, uint64_t then) { return now > then ? now - then : 0; };
  return std::min(grown(resident, before.resident), grown(private_bytes, before.private_bytes));
}

bool read_memory_of(const char* process, MemoryOfProcess& memory, const char* proc) {
  char path[256], text[4096];
  snprintf(path, sizeof path, "%s/%.16s/smaps_rollup", proc, process);
  if (read_small_file(path, text, sizeof text) == 0) return false;
  const auto bytes = [&](const char* key) { return number_after(text, key) * 1024; };
  const uint64_t dirty = bytes("Private_Dirty:"), anonymous = bytes("Anonymous:");
  memory.resident = bytes("Rss:");
  memory.private_bytes = bytes("Private_Clean:") + dirty;
  memory.shared_anonymous = anonymous > dirty ? anonymous - dirty : 0;
  return true;
}

ChildProcesses read_child_processes(Descendants* descendants, const char* proc, pid_t pid, const WorkClocks& clocks) {
  ChildReader lists(proc, clocks, descendants);
  if (lists.read_lists()) return lists.result();
  ChildReader each(proc, clocks, descendants);
  if (each.ask_each_process(pid)) return each.result();
  return {.known = false};
}

}  // namespace tensorscope::dump
