#include "attach/remote_library.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "attach/remote_call.h"
#include "attach/stopped_process.h"
#include "attach/thread_places.h"

namespace tensorscope::attach {

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kNow = 2, kGlobal = 0x100, kInternal = 0x80000000;  // RTLD_NOW, RTLD_GLOBAL, __RTLD_DLOPEN

struct Mapped {
  uint64_t begin = 0;
  uint64_t offset = 0;
  std::string path;
};

// The first mapping of each file, by its path.
std::map<std::string, Mapped> mapped_files(pid_t pid) {
  std::map<std::string, Mapped> files;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    Mapped mapped;
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[8];
    if (sscanf(line.c_str(), "%llx-%llx %7s %llx", &begin, &end, rights, &offset) != 4) continue;
    mapped.begin = begin;
    mapped.offset = offset;
    mapped.path = line.substr(slash);
    files.emplace(mapped.path, mapped);
  }
  return files;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string status_line(pid_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// An ELF file as the process has it.
class ElfFile {
 public:
  ElfFile(pid_t pid, const std::string& path) {
    elf_version(EV_CURRENT);
    descriptor_ = open(fmt::format("/proc/{}/root{}", pid, path).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ >= 0) elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  uint16_t machine() const {
    GElf_Ehdr header;
    return elf_ != nullptr && gelf_getehdr(elf_, &header) != nullptr ? header.e_machine : 0;
  }
  // Value of an exported symbol, 0: none.
  uint64_t symbol(const char* name) const {
    uint64_t found = 0;
    for_each_section(SHT_DYNSYM, [&](Elf_Scn* section, const GElf_Shdr& header) {
      Elf_Data* data = elf_getdata(section, nullptr);
      for (size_t i = 0; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
        GElf_Sym symbol;
        if (gelf_getsym(data, int(i), &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF) continue;
        const char* text = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (text != nullptr && strcmp(text, name) == 0) found = symbol.st_value;
      }
    });
    return found;
  }
  // Address of a sequence of bytes in its code, 0: it is not there.
  uint64_t code_with(const std::string& bytes) const {
    uint64_t found = 0;
    for_each_section(SHT_PROGBITS, [&](Elf_Scn* section, const GElf_Shdr& header) {
      Elf_Data* data = (header.sh_flags & SHF_EXECINSTR) != 0 && found == 0 ? elf_getdata(section, nullptr) : nullptr;
      if (data == nullptr) return;
      const auto* begin = static_cast<const char*>(data->d_buf);
      const auto* end = begin + data->d_size;
      const auto* at = std::search(begin, end, bytes.begin(), bytes.end());
      if (at != end) found = header.sh_addr + uint64_t(at - begin);
    });
    return found;
  }
  // What is to be added to an address of the file, where it is mapped.
  uint64_t bias(const Mapped& mapped) const {
    size_t count = 0;
    if (elf_ == nullptr || elf_getphdrnum(elf_, &count) != 0) return 0;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, int(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
      return mapped.begin - mapped.offset - (header.p_vaddr - header.p_offset);
    }
    return 0;
  }

 private:
  template <typename Visit>
  void for_each_section(uint32_t type, Visit visit) const {
    for (Elf_Scn* section = nullptr; elf_ != nullptr && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && header.sh_type == type) visit(section, header);
    }
  }
  int descriptor_ = -1;
  Elf* elf_ = nullptr;
};

std::optional<Mapped> find_file(const std::map<std::string, Mapped>& files, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    for (const auto& [path, mapped] : files) {
      if (file_name(path).starts_with(prefix)) return mapped;
    }
  }
  return std::nullopt;
}

// Address of a function in the process.
uint64_t function_in(pid_t pid, const std::map<std::string, Mapped>& files, const std::vector<std::string>& libraries,
                     const char* name) {
  for (const std::string& library : libraries) {
    const std::optional<Mapped> mapped = find_file(files, {library});
    if (!mapped) continue;
    const ElfFile file(pid, mapped->path);
    if (const uint64_t value = file.symbol(name)) return file.bias(*mapped) + value;
  }
  return 0;
}

RemoteFunctions functions_of(pid_t pid, const std::map<std::string, Mapped>& files) {
  const std::vector<std::string> libc = {"libc.so", "libc-2."},
                                 with_dl = {"libc.so", "libc-2.", "libdl.so", "libdl-2."};
  RemoteFunctions functions;
  functions.open_library = function_in(pid, files, with_dl, "dlopen");
  functions.last_error = function_in(pid, files, with_dl, "dlerror");
  // Before glibc 2.34 a program that needs no libdl has none; libc's own function takes the same arguments.
  functions.open_mode = kNow | kGlobal;
  if (functions.open_library == 0) {
    functions.open_library = function_in(pid, files, libc, "__libc_dlopen_mode");
    functions.open_mode |= kInternal;
  }
  functions.errno_location = function_in(pid, files, libc, "__errno_location");
  if (const std::optional<Mapped> mapped = find_file(files, libc)) {
    const ElfFile file(pid, mapped->path);
    if (const uint64_t at = file.code_with("\x0f\x05")) functions.system_call = file.bias(*mapped) + at;
  }
  return functions;
}

// What can be seen of a process before anything is done to it.
std::string why_not(const AttachRequest& request, const std::map<std::string, Mapped>& files) {
  const pid_t pid = request.pid;
  const std::string state = status_line(pid, "State");
  if (state.empty() || state[0] == 'Z' || state[0] == 'X') return fmt::format("process {} does not exist.", pid);
  if (pid == getpid()) return "this is tensorscope itself.";
  if (files.empty()) {
    return fmt::format("not allowed to look into process {}: try again as its user, or with sudo.", pid);
  }
  if (state[0] == 'T' || state[0] == 't') {
    const std::string tracer = status_line(pid, "TracerPid");
    if (tracer != "0" && !tracer.empty()) {
      return fmt::format("process {} is traced by process {} (a debugger or strace?).", pid, tracer);
    }
    return fmt::format("process {} is stopped; continue it first (kill -CONT {}).", pid, pid);
  }
  if (const std::string tracer = status_line(pid, "TracerPid"); tracer != "0") {
    return fmt::format("process {} is traced by process {} (a debugger or strace?).", pid, tracer);
  }
  if (find_file(files, {"libtensorscope.so"})) {
    return fmt::format("process {} runs under tensorscope already: tensorscope snapshot {}", pid, pid);
  }
  for (const char* sanitizer : {"libasan.so", "libtsan.so", "libclang_rt."}) {
    if (find_file(files, {sanitizer})) return fmt::format("process {} runs under a sanitizer ({}).", pid, sanitizer);
  }
  if (!find_file(files, {"libc.so", "libc-2."})) {
    return fmt::format("process {} has no glibc: it is linked statically, or against another C library.", pid);
  }
  if (!find_file(files, {"libc10.so"})) {
    return fmt::format("process {} has not loaded torch; start it with: tensorscope run -- ...", pid);
  }
  if (status_line(pid, "x86_Thread_features").find("shstk") != std::string::npos) {
    return fmt::format("process {} has shadow stacks, which a call from outside would break.", pid);
  }
  struct stat ours, theirs;
  if (stat(request.library.c_str(), &ours) != 0 ||
      stat(fmt::format("/proc/{}/root{}", pid, request.library).c_str(), &theirs) != 0 ||
      ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) {
    return fmt::format("process {} has a file system of its own and does not see {}: run tensorscope in its container.",
                       pid, request.library);
  }
  return "";
}

std::string of_last_error(RemoteThread& thread, uint64_t function) {
  std::string ignored;
  const auto text = function == 0 ? std::nullopt : thread.call(function, {}, std::chrono::seconds(5), ignored);
  return text && *text != 0 ? thread.get_text(*text) : "";
}

std::string load_and_start(RemoteThread& thread, const AttachRequest& request, const RemoteFunctions& functions) {
  std::string problem;
  const std::chrono::seconds most(60);
  const uint64_t path = thread.put(request.library);
  const auto handle = thread.call(functions.open_library, {path, functions.open_mode}, most, problem);
  if (!handle) return problem;
  if (*handle == 0) {
    const std::string reason = of_last_error(thread, functions.last_error);
    return fmt::format("the library cannot be loaded there: {}", reason.empty() ? "dlopen() failed." : reason);
  }
  const uint64_t start =
      function_in(request.pid, mapped_files(request.pid), {file_name(request.library)}, "tensorscope_attach");
  if (start == 0) return "the library has no function tensorscope_attach: it is of another version.";
  std::string settings;
  for (const std::string& setting : request.settings) settings += setting + '\0';
  const std::string room(256, '\0');
  const uint64_t settings_at = thread.put(settings + '\0'), message_at = thread.put(room);
  const auto status = thread.call(start, {settings_at, message_at, room.size()}, most, problem);
  if (!status) return problem;
  return int32_t(*status) == 0
             ? ""
             : fmt::format("tensorscope did not start there: {}.", thread.get_text(message_at, room.size()));
}

}  // namespace

std::string attach_library(const AttachRequest& request) {
#if !defined(__x86_64__)
  return "attach works on x86-64 only; start the program with tensorscope run.";
#else
  const pid_t pid = request.pid;
  const std::map<std::string, Mapped> files = mapped_files(pid);
  if (std::string problem = why_not(request, files); !problem.empty()) return problem;
  const RemoteFunctions functions = functions_of(pid, files);
  if (functions.open_library == 0 || functions.errno_location == 0 || functions.system_call == 0) {
    return fmt::format("the C library of process {} is not known well enough.", pid);
  }
  std::string problem;
  StoppedProcess process(pid, problem);
  if (!problem.empty()) return problem;
  const Clock::time_point end = Clock::now() + request.most;
  std::string why;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    if (!process.stop(std::chrono::seconds(2))) {
      if (process.has_ended()) return fmt::format("process {} has ended.", pid);
      return fmt::format("a thread of process {} does not stop: it waits in the kernel. Try again.", pid);
    }
    const std::unique_ptr<ThreadPlaces> places = ThreadPlaces::open(pid);
    if (!places) return fmt::format("the stacks of process {} cannot be read.", pid);
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
      RemoteThread thread(chosen, functions, problem);
      const std::string answer = problem.empty() ? load_and_start(thread, request, functions) : problem;
      process.forget();
      return answer;
    }
    process.go_on();
    if (Clock::now() > end) {
      return fmt::format("process {} came to no place where a library can be loaded safely ({}). Try again.", pid, why);
    }
    std::this_thread::sleep_for(pause);
  }
#endif
}

}  // namespace tensorscope::attach
