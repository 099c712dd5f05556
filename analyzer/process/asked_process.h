// SPDX-License-Identifier: Apache-2.0
// Requests dumps of one process, and knows where they appear.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "process/target_process.h"

namespace tensorscope::process {

// Dump files in some folders; a file is known by its inode as well as its name, since names may come back.
class DumpWatch {
 public:
  // `of_top`: dumps that `top` asked for, and no others; else the others alone.
  DumpWatch(const TargetProcess& target, bool of_top);

  // A dump of the target that was made after `asked_ns`, if there is one by now.
  std::optional<std::string> find(uint64_t asked_ns);

 private:
  using Key = std::tuple<std::string, uint64_t, int64_t>;  // path, size, time of writing

  template <typename Function>
  void for_each_dump(Function function);
  bool answers(const std::string& path, uint64_t asked_ns) const;

  const TargetProcess& target_;
  const bool of_top_;
  std::set<Key> seen_;
};

struct AskedProcess {
  AskedProcess(TargetProcess&& process, bool by_top) : target(std::move(process)), watch(target, by_top), top(by_top) {}

  // Asks for a dump; `names`: with a look at Python's objects, which only `top` does without. Where that cannot be
  // done, it is done at once, and `problem` says why.
  void ask(bool names = true);
  // Looks whether the dump is there by now, or will not come: `done`.
  void look(std::chrono::steady_clock::duration waited, uint64_t timeout_ns);

  TargetProcess target;
  DumpWatch watch;
  const bool top;
  bool by_file = false;
  uint64_t asked_ns = 0;
  bool done = false;
  std::string path;     // of its dump
  std::string problem;  // why there is none
};

enum class RequestKind : uint8_t { dump, dump_by_file, top };  // dump: by its signal where it has no handler of its own

// Throws ProcessError.
[[nodiscard]] std::unique_ptr<AskedProcess> open_asked_process(pid_t pid, RequestKind what);

}  // namespace tensorscope::process
