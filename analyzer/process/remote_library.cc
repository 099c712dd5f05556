// SPDX-License-Identifier: Apache-2.0
#include "process/remote_library.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "process/mapped_files.h"
#include "process/python_attach.h"
#include "process/remote_call.h"
#include "process/remote_interpreter.h"
#include "process/stopped_process.h"
#include "process/thread_places.h"
#include "support/error.h"
#include "support/process_file.h"

namespace tensorscope::process {

using analyzer::ProcessError;

namespace {

using analyzer::read_process_file;
using analyzer::status_field;
using Clock = std::chrono::steady_clock;
constexpr uint64_t kNow = 2, kGlobal = 0x100, kInternal = 0x80000000;  // RTLD_NOW, RTLD_GLOBAL, __RTLD_DLOPEN
const std::vector<std::string> kLibc = {"libc.so", "libc-2."};

// A process that is traced stands still, or runs.
std::string tracer_of(const std::string& status) {
  const std::string tracer = status_field(status, "TracerPid");
  return tracer == "0" ? "" : tracer;
}

RemoteFunctions functions_of(const MappedFiles& files) {
  std::vector<std::string> with_dl = kLibc;
  with_dl.insert(with_dl.end(), {"libdl.so", "libdl-2."});
  RemoteFunctions functions;
  functions.open_library = files.function(with_dl, "dlopen");
  functions.last_error = files.function(with_dl, "dlerror");
  // Before glibc 2.34 a program that needs no libdl has none; libc's own function takes the same arguments.
  functions.open_mode = kNow | kGlobal;
  if (functions.open_library == 0) {
    functions.open_library = files.function(kLibc, "__libc_dlopen_mode");
    functions.open_mode |= kInternal;
  }
  functions.errno_location = files.function(kLibc, "__errno_location");
  functions.system_call = files.code_with(kLibc, "\x0f\x05");
  return functions;
}

// What can be seen of a process before anything is done to it. Throws ProcessError.
void check_attachable(const AttachRequest& request, const MappedFiles& files) {
  const pid_t pid = request.pid;
  const std::string status = read_process_file(pid, "status").value_or(""), state = status_field(status, "State");
  if (state.empty() || state[0] == 'Z' || state[0] == 'X')
    throw ProcessError(fmt::format("process {} does not exist.", pid));
  if (pid == getpid()) throw ProcessError("this is tensorscope itself.");
  if (files.empty()) {
    throw ProcessError(fmt::format("not allowed to look into process {}: try again as its user, or with sudo.", pid));
  }
  if (state[0] == 'T') {  // not 't', where a tracer has it for a moment
    throw ProcessError(fmt::format("process {} is stopped; continue it first (kill -CONT {}).", pid, pid));
  }
  if (files.has({"libtensorscope.so"})) {
    throw ProcessError(fmt::format("process {} runs under tensorscope already: tensorscope snapshot {}", pid, pid));
  }
  for (const char* sanitizer : {"libasan.so", "libtsan.so", "libclang_rt."}) {
    if (files.has({sanitizer}))
      throw ProcessError(fmt::format("process {} runs under a sanitizer ({}).", pid, sanitizer));
  }
  if (!files.has(kLibc)) {
    throw ProcessError(
        fmt::format("process {} has no glibc: it is linked statically, or against another C library.", pid));
  }
  if (!files.has({"libc10.so"})) {
    throw ProcessError(fmt::format("process {} has not loaded torch; start it with: tensorscope run -- ...", pid));
  }
  struct stat ours, theirs;
  if (stat(request.library.c_str(), &ours) != 0 ||
      stat(fmt::format("/proc/{}/root{}", pid, request.library).c_str(), &theirs) != 0 ||
      ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) {
    throw ProcessError(
        fmt::format("process {} has a file system of its own and does not see {}: run tensorscope in its container.",
                    pid, request.library));
  }
}

// What forbids to stop it and to call a function there; nothing: it may be done.
std::optional<std::string> why_not_stopped(pid_t pid) {
  const std::string status = read_process_file(pid, "status").value_or("");
  if (const std::string tracer = tracer_of(status); !tracer.empty()) {
    return fmt::format("process {} is traced by process {} (a debugger or strace?).", pid, tracer);
  }
  if (status_field(status, "x86_Thread_features").find("shstk") != std::string::npos) {
    return fmt::format("process {} has shadow stacks, which a call from outside would break.", pid);
  }
  return std::nullopt;
}

// What dlerror() says there; "" if it says nothing.
std::string of_last_error(RemoteThread& thread, uint64_t function) {
  if (function == 0) return "";
  try {
    const uint64_t text = thread.call(function, {}, std::chrono::seconds(5));
    return text != 0 ? thread.get_text(text) : "";
  } catch (const ProcessError&) {
    return "";
  }
}

void load_and_start(RemoteThread& thread, const AttachRequest& request, const RemoteFunctions& functions) {
  const std::chrono::seconds most(60);
  const uint64_t path = thread.put(request.library);
  if (thread.call(functions.open_library, {path, functions.open_mode}, most) == 0) {
    const std::string reason = of_last_error(thread, functions.last_error);
    throw ProcessError(
        fmt::format("the library cannot be loaded there: {}", reason.empty() ? "dlopen() failed." : reason));
  }
  const std::string name = request.library.substr(request.library.rfind('/') + 1);
  const uint64_t start = MappedFiles(request.pid).function({name}, "tensorscope_attach");
  if (start == 0) throw ProcessError("the library has no function tensorscope_attach: it is of another version.");
  std::string settings;
  for (const std::string& setting : request.settings) settings += setting + '\0';
  const std::string room(256, '\0');
  const uint64_t settings_at = thread.put(settings + '\0'), message_at = thread.put(room);
  const uint64_t status = thread.call(start, {settings_at, message_at, room.size()}, most);
  if (int32_t(status) == 0) return;
  throw ProcessError(fmt::format("tensorscope did not start there: {}.", thread.get_text(message_at, room.size())));
}

enum class AttachedBy : uint8_t { stopping, python };

// A thread that waits or computes, stopped, loads the library; or the interpreter begins with `python` meanwhile.
AttachedBy attach_by_stopping(const AttachRequest& request, const MappedFiles& files, const PythonAttach* python) {
  const pid_t pid = request.pid;
  const RemoteFunctions functions = functions_of(files);
  if (functions.open_library == 0 || functions.errno_location == 0 || functions.system_call == 0) {
    throw ProcessError(fmt::format("the C library of process {} is not known well enough.", pid));
  }
  StoppedProcess process(pid);
  const Clock::time_point end = Clock::now() + request.most;
  std::string why;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (!process.stop(std::chrono::seconds(2))) {
      if (process.has_ended()) throw ProcessError(fmt::format("process {} has ended.", pid));
      throw ProcessError(fmt::format("a thread of process {} does not stop: it waits in the kernel. Try again.", pid));
    }
    if (python != nullptr && !python->take_back()) return AttachedBy::python;
    python = nullptr;
    const std::unique_ptr<ThreadPlaces> places = ThreadPlaces::open(pid);
    if (!places) throw ProcessError(fmt::format("the stacks of process {} cannot be read.", pid));
    pid_t chosen = 0;
    bool loading = false;
    for (const pid_t thread : process.threads()) {
      const ThreadPlace place = places->of(thread);
      loading = loading || place.loading;
      if (place.safe && chosen == 0) chosen = thread;
      if (!place.safe && (why.empty() || thread == pid)) why = fmt::format("thread {}: {}", thread, place.why);
    }
    if (chosen != 0 && !loading) {
      process.keep_only(chosen);
      process.forget();
      RemoteThread thread(chosen, functions);
      load_and_start(thread, request, functions);
      return AttachedBy::stopping;
    }
    process.go_on();
    if (Clock::now() > end) {
      throw ProcessError(
          fmt::format("process {} came to no place where a library can be loaded safely ({}). Try again.", pid, why));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

void attach_library(const AttachRequest& request) {
  const pid_t pid = request.pid;
  const MappedFiles files(pid);
  check_attachable(request, files);
  std::optional<PythonAttach> python;
  if (const auto interpreter = RemoteInterpreter::find(pid, files)) python.emplace(*interpreter, request);
  // Long enough for a thread that runs Python now and then; one that waits for work needs the other way.
  if (python && python->begins_within(std::chrono::seconds(1))) return python->await_outcome();
  if (const std::optional<std::string> forbidden = why_not_stopped(pid)) {
    if (python && (python->begins_within(request.most) || !python->take_back())) return python->await_outcome();
    throw ProcessError(*forbidden);
  }
  const AttachedBy by = attach_by_stopping(request, files, python ? &*python : nullptr);
  if (by == AttachedBy::python) python->await_outcome();
}

}  // namespace tensorscope::process
