#include "attach/python_attach.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "attach/process_memory.h"

namespace tensorscope::attach {

namespace {

namespace fs = std::filesystem;
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

// A folder that only this user may write, below one that the process sees under the same path. Empty: there is none.
std::string make_folder(const std::string& root) {
  for (const char* parent : {"/tmp", "/dev/shm", "/var/tmp"}) {
    std::string pattern = root + parent + "/tensorscope-attach-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) continue;
    if (chmod(pattern.c_str(), 0755) == 0) return pattern;
    std::error_code error;
    fs::remove(pattern, error);
  }
  return "";
}

}  // namespace

std::string attach_script(const AttachRequest& request, uint64_t answer) {
  std::string settings;
  for (const std::string& setting : request.settings) settings += setting + '\0';
  return fmt::format("{}attach({}, {}, {}, {})\n", kScript, as_bytes(request.library), as_bytes(settings + '\0'),
                     answer, sizeof Answer::text);
}

PythonAttach::PythonAttach(const RemoteInterpreter& interpreter, const AttachRequest& request)
    : interpreter_(interpreter), pid_(request.pid) {
  const std::string root = fmt::format("/proc/{}/root", pid_);
  folder_ = make_folder(root);
  if (folder_.empty()) return;
  const std::string path = folder_ + "/attach.py";
  std::ofstream file(path, std::ios::binary);
  file << attach_script(request, interpreter.answer());
  file.close();
  asked_ = file && chmod(path.c_str(), 0644) == 0 && interpreter.ask_for(path.substr(root.size()));
}

PythonAttach::~PythonAttach() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

bool PythonAttach::begins_within(std::chrono::milliseconds most) const {
  const Clock::time_point end = Clock::now() + most;
  while (asked_ && !interpreter_.has_begun()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return asked_;
}

std::string PythonAttach::outcome() const {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
  Answer answer{};
  for (;;) {
    if (read_memory(pid_, interpreter_.answer(), &answer, sizeof answer) != sizeof answer) return "the process ended.";
    if (answer.is_there != 0) break;
    if (Clock::now() > end) return "the library is still being loaded; the program goes on when it is.";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  answer.text[sizeof answer.text - 1] = 0;
  if (answer.status == kNotLoaded) return fmt::format("the library cannot be loaded there: {}", answer.text);
  if (answer.status == kHasNoSuchFunction) {
    return "the library has no function tensorscope_attach: it is of another version.";
  }
  return answer.status == 0 ? "" : fmt::format("tensorscope did not start there: {}.", answer.text);
}

bool PythonAttach::take_back() const {
  if (!asked_) return true;
  if (interpreter_.has_begun()) return false;
  interpreter_.take_back();
  return true;
}

}  // namespace tensorscope::attach
