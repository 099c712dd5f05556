// SPDX-License-Identifier: Apache-2.0
#include "process/python_attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>

#include "process/process_memory.h"
#include "support/error.h"

namespace tensorscope::process {

using analyzer::ProcessError;

namespace {

using Clock = std::chrono::steady_clock;

// What the script writes to the address that it was given. A status above zero is the script's own.
constexpr int32_t kNotLoaded = 1, kHasNoSuchFunction = 2;
struct Answer {
  int32_t status;
  char text[RemoteInterpreter::kAnswerBytes - 8];
  int32_t is_there;
};
static_assert(sizeof(Answer) == RemoteInterpreter::kAnswerBytes);

constexpr char kScript[] = R"(import ctypes, os
def attach(path, settings, answer, room):
    message = ctypes.create_string_buffer(room)
    try:
        library = ctypes.CDLL(os.fsdecode(path), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        status = library.tensorscope_attach(settings, message, room)
    except (OSError, AttributeError) as problem:
        status, message.value = 1 if isinstance(problem, OSError) else 2, os.fsencode(str(problem))[:room - 1]
    ctypes.memmove(answer, ctypes.byref(ctypes.c_int32(status)), 4)
    ctypes.memmove(answer + 4, message, room)
    ctypes.memmove(answer + 4 + room, ctypes.byref(ctypes.c_int32(1)), 4)
)";

std::string as_bytes(const std::string& text) {
  std::string digits;
  for (const char byte : text) digits += fmt::format("{:02x}", uint8_t(byte));
  return "bytes.fromhex('" + digits + "')";
}

constexpr char kScriptName[] = "attach.py";

}  // namespace

ScriptFolder::ScriptFolder(pid_t pid) {
  const std::string root = fmt::format("/proc/{}/root", pid);
  for (const char* parent : {"/tmp", "/dev/shm", "/var/tmp"}) {
    std::string path = fmt::format("{}{}/tensorscope-attach-{}-XXXXXX", root, parent, pid);
    const int parent_file = open((root + parent).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent_file < 0) continue;
    if (mkdtemp(path.data()) != nullptr) {
      parent_ = parent_file;
      path_ = path;
      seen_ = path.substr(root.size());
      if (chmod(path.c_str(), 0755) == 0) return;
      remove();
    } else {
      close(parent_file);
    }
  }
}

ScriptFolder::~ScriptFolder() { remove(); }

// By the descriptor: when the process has ended, its root cannot be reached through /proc any more.
void ScriptFolder::remove() {
  if (parent_ < 0) return;
  const std::string name = path_.substr(path_.rfind('/') + 1);
  unlinkat(parent_, (name + "/" + kScriptName).c_str(), 0);
  unlinkat(parent_, name.c_str(), AT_REMOVEDIR);
  close(parent_);
  parent_ = -1;
}

bool ScriptFolder::write(const std::string& script) const {
  if (parent_ < 0) return false;
  const std::string path = path_ + "/" + kScriptName;
  std::ofstream file(path, std::ios::binary);
  file << script;
  file.close();
  return file && chmod(path.c_str(), 0644) == 0;
}

std::string ScriptFolder::script_path() const { return seen_ + "/" + kScriptName; }

std::string attach_script(const AttachRequest& request, uint64_t answer) {
  std::string settings;
  for (const std::string& setting : request.settings) settings += setting + '\0';
  return fmt::format("{}attach({}, {}, {}, {})\n", kScript, as_bytes(request.library), as_bytes(settings + '\0'),
                     answer, sizeof Answer::text);
}

PythonAttach::PythonAttach(const RemoteInterpreter& interpreter, const AttachRequest& request)
    : interpreter_(interpreter), pid_(request.pid), folder_(request.pid) {
  asked_ = folder_.write(attach_script(request, interpreter.answer())) && interpreter.ask_for(folder_.script_path());
}

bool PythonAttach::begins_within(std::chrono::milliseconds most) const {
  const Clock::time_point end = Clock::now() + most;
  while (asked_ && !interpreter_.has_begun()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return asked_;
}

void PythonAttach::await_outcome() const {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
  Answer answer{};
  for (;;) {
    if (read_memory(pid_, interpreter_.answer(), &answer, sizeof answer) != sizeof answer) {
      throw ProcessError("the process ended.");
    }
    if (answer.is_there != 0) break;
    if (Clock::now() > end) {
      throw ProcessError("the library is still being loaded; the program goes on when it is.");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  answer.text[sizeof answer.text - 1] = 0;
  if (answer.status == kNotLoaded) {
    throw ProcessError(fmt::format("the library cannot be loaded there: {}", answer.text));
  }
  if (answer.status == kHasNoSuchFunction) {
    throw ProcessError("the library has no function tensorscope_attach: it is of another version.");
  }
  if (answer.status != 0) throw ProcessError(fmt::format("tensorscope did not start there: {}.", answer.text));
}

bool PythonAttach::take_back() const {
  if (!asked_) return true;
  if (interpreter_.has_begun()) return false;
  interpreter_.take_back();
  return true;
}

}  // namespace tensorscope::process
