// SPDX-License-Identifier: Apache-2.0
#include "process/remote_interpreter.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <iterator>
#include <vector>

#include "process/process_memory.h"

namespace tensorscope::process {

namespace {

// _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h), at the head of _PyRuntime, in words of eight bytes.
enum Word : size_t {
  cookie,
  version,
  free_threaded,
  interpreters_head = 5,
  interpreter_id = 7,
  next_interpreter = 8,
  main_thread = 10,
  interpreter_of_thread = 25,
};
// What comes behind these differs.
struct Series {
  uint64_t minor;   // 3.x
  size_t debugger;  // where the debugger's section begins
};
constexpr Series kSeries[] = {{14, 89}, {15, 105}};
enum DebuggerWord : size_t {
  eval_breaker,
  support,
  is_enabled,
  pending_call,
  script_path,
  script_path_size,
  debugger_words
};

constexpr char kCookie[] = "xdebugpy";
constexpr uint8_t kPleaseStop = 1 << 5;  // _PY_EVAL_PLEASE_STOP_BIT; the bit's byte is the first one
constexpr uint64_t kScriptPathBytes = 512, kLargestOffset = 1 << 20;

template <typename T>
T value_at(pid_t pid, uint64_t address) {
  T value{};
  if (read_memory(pid, address, &value, sizeof value) != sizeof value) return T{};
  return value;
}

uint64_t runtime_of(pid_t pid, const MappedFiles& files) {
  char program[PATH_MAX];
  const ssize_t length = readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), program, sizeof program);
  const std::string path(program, length > 0 ? size_t(length) : 0);
  // A program that embeds Python, or is Python; or the loader was started with Python as its argument.
  return files.function({"libpython3.", path.substr(path.rfind('/') + 1), "python3"}, "_PyRuntime");
}

// Address of the main interpreter; the list begins with the newest.
uint64_t main_interpreter(pid_t pid, uint64_t runtime, const std::vector<uint64_t>& offsets) {
  constexpr int kMaxInterpreters = 10'000;
  uint64_t at = value_at<uint64_t>(pid, runtime + offsets[interpreters_head]);
  for (int i = 0; at != 0 && i < kMaxInterpreters; ++i) {
    if (value_at<int64_t>(pid, at + offsets[interpreter_id]) == 0) return at;
    at = value_at<uint64_t>(pid, at + offsets[next_interpreter]);
  }
  return 0;
}

}  // namespace

std::optional<RemoteInterpreter> RemoteInterpreter::find(pid_t pid, const MappedFiles& files) {
  return at(pid, runtime_of(pid, files));
}

std::optional<RemoteInterpreter> RemoteInterpreter::at(pid_t pid, uint64_t runtime) {
  std::vector<uint64_t> offsets(kSeries[1].debugger + debugger_words);
  const size_t bytes = offsets.size() * sizeof offsets[0];
  if (runtime == 0 || read_memory(pid, runtime, offsets.data(), bytes) != bytes ||
      memcmp(offsets.data(), kCookie, sizeof offsets[0]) != 0 || offsets[free_threaded] != 0) {
    return std::nullopt;
  }
  const Series* series = std::find_if(std::begin(kSeries), std::end(kSeries), [&](const Series& known) {
    return offsets[version] >> 16 == (3 << 8 | known.minor);
  });
  if (series == std::end(kSeries)) return std::nullopt;
  const uint64_t* debugger = offsets.data() + series->debugger;
  if (debugger[script_path_size] != kScriptPathBytes || debugger[script_path] != debugger[pending_call] + 4 ||
      std::any_of(debugger, debugger + debugger_words, [](uint64_t offset) { return offset > kLargestOffset; })) {
    return std::nullopt;
  }
  const uint64_t interpreter = main_interpreter(pid, runtime, offsets);
  if (interpreter == 0 || value_at<int32_t>(pid, interpreter + debugger[is_enabled]) != 1) return std::nullopt;
  const uint64_t state = value_at<uint64_t>(pid, interpreter + offsets[main_thread]);
  if (state == 0 || value_at<uint64_t>(pid, state + offsets[interpreter_of_thread]) != interpreter) return std::nullopt;
  RemoteInterpreter found;
  found.pid_ = pid;
  found.breaker_ = state + debugger[eval_breaker];
  found.pending_ = state + debugger[support] + debugger[pending_call];
  found.path_ = state + debugger[support] + debugger[script_path];
  return found;
}

// The order counts: the thread may look at any moment.
bool RemoteInterpreter::ask_for(const std::string& script) const {
  std::array<char, kScriptPathBytes> text{};
  if (script.size() >= kPathBytes || value_at<int32_t>(pid_, pending_) != 0) return false;
  std::copy(script.begin(), script.end(), text.begin());
  const int32_t is_pending = 1;
  if (!write_memory(pid_, path_, text.data(), text.size()) ||
      !write_memory(pid_, pending_, &is_pending, sizeof is_pending)) {
    return false;
  }
  // One byte of the word alone: the others have the version of the instrumentation.
  const uint8_t bits = value_at<uint8_t>(pid_, breaker_) | kPleaseStop;
  return write_memory(pid_, breaker_, &bits, sizeof bits);
}

bool RemoteInterpreter::has_begun() const { return value_at<int32_t>(pid_, pending_) == 0; }

void RemoteInterpreter::take_back() const {
  const int32_t is_not_pending = 0;
  write_memory(pid_, pending_, &is_not_pending, sizeof is_not_pending);
}

}  // namespace tensorscope::process
