// SPDX-License-Identifier: Apache-2.0
#include "process/remote_call.h"

#include <elf.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "process/process_memory.h"
#include "support/error.h"

namespace tensorscope::process {

using analyzer::ProcessError;

namespace {

using Clock = std::chrono::steady_clock;

// The mapping: code, then texts and the answer, then the stack.
constexpr uint64_t kPage = 4096, kTextBytes = 64 << 10, kMappingBytes = 2 << 20;
constexpr uint64_t kAnswer = kPage, kTexts = kPage + 64;

//   call *%rbx; mov %rax, (%r12); mov $15, %eax; syscall; 1: jmp 1b
constexpr uint8_t kCode[] = {0xff, 0xd3, 0x49, 0x89, 0x04, 0x24, 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05, 0xeb, 0xfe};
constexpr uint64_t kEndOfCode = 13;
constexpr uint64_t kFlagsAtEntry = 0x202;  // of a function: no direction, no trap

// What rt_sigreturn takes from the stack (arch/x86/include/asm/sigframe.h, asm/sigcontext.h; the same since 2.6).
struct SignalContext {
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trap, old_mask, cr2, floating_point, reserved[8];
};
struct SignalFrame {
  uint64_t return_address;
  uint64_t flags, link;
  uint64_t stack, stack_flags, stack_size;
  SignalContext context;
  uint64_t mask;
  uint8_t information[128];
};
static_assert(sizeof(SignalContext) == 256 && sizeof(SignalFrame) == 440);
constexpr uint64_t kHasExtendedState = 1, kSavesStackSegment = 2, kStrictStackSegment = 4;
constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;  // asm/sigcontext.h: FP_XSTATE_MAGIC1, 2
constexpr size_t kSoftwareReserved = 464, kFeatures = 512, kLegacyBytes = 512;

// -ERESTART*: the thread was in a system call that the kernel restarts (Linux, errno.h).
constexpr int64_t kRestartSystem = -512, kRestartNoInterrupt = -513, kRestartNoHandler = -514, kRestartBlock = -516;

void set_back_to_system_call(user_regs_struct& registers) {
  if (int64_t(registers.orig_rax) < 0) return;
  switch (int64_t(registers.rax)) {
    case kRestartSystem:
    case kRestartNoInterrupt:
    case kRestartNoHandler:
      registers.rax = registers.orig_rax;
      registers.rip -= 2;
      break;
    case kRestartBlock:
      registers.rax = SYS_restart_syscall;
      registers.rip -= 2;
      break;
    default:
      break;
  }
}

bool get_registers(pid_t thread, user_regs_struct& registers) {
  return ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0;
}
bool set_registers(pid_t thread, const user_regs_struct& registers) {
  return ptrace(PTRACE_SETREGS, thread, nullptr, &registers) == 0;
}

// Signals that a fault in the called function raises cannot be blocked: the kernel would end the process.
uint64_t mask_for_calls() {
  uint64_t mask = ~uint64_t{0};
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT})
    mask &= ~(uint64_t{1} << (fault - 1));
  return mask;
}

}  // namespace

struct RemoteThread::State {
  pid_t thread = 0;
  RemoteFunctions functions;
  user_regs_struct registers{};
  std::vector<uint8_t> extended;  // floating point and vector registers
  uint64_t mask = 0;
  uint64_t mapping = 0;
  uint64_t stack = 0;  // where the frame of the way back begins
  uint64_t next_text = 0;
  uint64_t errno_address = 0;
  int errno_value = 0;
  bool saved = false, usable = false, left_alone = false;

  bool save();
  bool wait_for_stop(int& status, Clock::time_point end);
  std::optional<uint64_t> system_call(uint64_t number, const std::vector<uint64_t>& arguments);
  bool map_memory();
  bool write_way_back();
  void restore();
};

bool RemoteThread::State::save() {
  std::vector<uint8_t> buffer(64 << 10);
  iovec area{buffer.data(), buffer.size()};
  if (!get_registers(thread, registers) ||
      ptrace(PTRACE_GETREGSET, thread, reinterpret_cast<void*>(uintptr_t{NT_X86_XSTATE}), &area) != 0 ||
      ptrace(PTRACE_GETSIGMASK, thread, reinterpret_cast<void*>(sizeof mask), &mask) != 0) {
    return false;
  }
  buffer.resize(area.iov_len);
  extended = std::move(buffer);
  const uint64_t blocked = mask_for_calls();
  saved = true;
  return ptrace(PTRACE_SETSIGMASK, thread, reinterpret_cast<void*>(sizeof blocked), &blocked) == 0;
}

bool RemoteThread::State::wait_for_stop(int& status, Clock::time_point end) {
  for (;;) {
    const pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
    if (found == thread) return WIFSTOPPED(status);
    if (found < 0 || Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// One instruction, wherever the thread stands.
std::optional<uint64_t> RemoteThread::State::system_call(uint64_t number, const std::vector<uint64_t>& arguments) {
  user_regs_struct at_call = registers;
  uint64_t* const places[] = {reinterpret_cast<uint64_t*>(&at_call.rdi), reinterpret_cast<uint64_t*>(&at_call.rsi),
                              reinterpret_cast<uint64_t*>(&at_call.rdx), reinterpret_cast<uint64_t*>(&at_call.r10),
                              reinterpret_cast<uint64_t*>(&at_call.r8),  reinterpret_cast<uint64_t*>(&at_call.r9)};
  for (size_t i = 0; i < arguments.size(); ++i) *places[i] = arguments[i];
  at_call.rip = functions.system_call;
  at_call.rax = number;
  at_call.orig_rax = uint64_t(-1);
  int status = 0;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  if (!set_registers(thread, at_call)) return std::nullopt;
  for (;;) {
    if (ptrace(PTRACE_SINGLESTEP, thread, nullptr, 0) != 0 || !wait_for_stop(status, end)) return std::nullopt;
    if (status >> 16 != PTRACE_EVENT_STOP) break;
  }
  user_regs_struct after;
  if (WSTOPSIG(status) != SIGTRAP || !get_registers(thread, after)) return std::nullopt;
  return after.rax;
}

bool RemoteThread::State::map_memory() {
  const auto mapped =
      system_call(SYS_mmap, {0, kMappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, uint64_t(-1), 0});
  if (!mapped || int64_t(*mapped) < 0 || *mapped % kPage != 0) return false;
  mapping = *mapped;
  next_text = mapping + kTexts;
  if (!write_memory(thread, mapping, kCode, sizeof kCode)) return false;
  const auto protectable = system_call(SYS_mprotect, {mapping, kPage, PROT_READ | PROT_EXEC});
  return protectable && *protectable == 0;
}

// As the kernel lays it out for a signal handler.
bool RemoteThread::State::write_way_back() {
  const uint64_t top = mapping + kMappingBytes;
  std::vector<uint8_t> area = extended;
  const uint64_t area_bytes = area.size() + sizeof kMagic2;
  const uint64_t area_at = (top - area_bytes - 64) & ~uint64_t{63};
  if (area.size() > kLegacyBytes) {
    const struct {
      uint32_t magic, extended_size;
      uint64_t features;
      uint32_t size, padding[7];
    } software = {kMagic1,
                  uint32_t(area_bytes),
                  *reinterpret_cast<const uint64_t*>(area.data() + kFeatures),
                  uint32_t(area.size()),
                  {}};
    memcpy(area.data() + kSoftwareReserved, &software, 48);
  }
  if (!write_memory(thread, area_at, area.data(), area.size()) ||
      !write_memory(thread, area_at + area.size(), &kMagic2, sizeof kMagic2)) {
    return false;
  }
  user_regs_struct r = registers;
  set_back_to_system_call(r);
  SignalFrame frame{};
  frame.flags = (area.size() > kLegacyBytes ? kHasExtendedState : 0) | kSavesStackSegment | kStrictStackSegment;
  frame.stack_flags = SS_DISABLE;
  frame.context = {r.r8,  r.r9,           r.r10, r.r11, r.r12, r.r13, r.r14,   r.r15,    r.rdi,          r.rsi,
                   r.rbp, r.rbx,          r.rdx, r.rax, r.rcx, r.rsp, r.rip,   r.eflags, uint16_t(r.cs), 0,
                   0,     uint16_t(r.ss), 0,     0,     mask,  0,     area_at, {}};
  frame.mask = mask;
  // Eight below a multiple of 16, so that the stack is aligned where the function is called.
  stack = ((area_at - sizeof frame) & ~uint64_t{15}) - 8;
  return write_memory(thread, stack, &frame, sizeof frame);
}

// The other constructor has made the object, so what throws here has the destructor restore the thread.
RemoteThread::RemoteThread(pid_t thread, const RemoteFunctions& functions) : RemoteThread(new State) {
  State& s = *state_;
  s.thread = thread;
  s.functions = functions;
  if (!s.save()) {
    throw ProcessError(fmt::format("the registers of thread {} cannot be read: {}.", thread, strerror(errno)));
  }
  if (!s.map_memory() || !s.write_way_back()) {
    throw ProcessError(fmt::format("thread {} cannot map memory for a call.", thread));
  }
  s.usable = true;
  s.errno_address = call(functions.errno_location, {}, std::chrono::seconds(5));
  read_memory(thread, s.errno_address, &s.errno_value, sizeof s.errno_value);
}

void RemoteThread::State::restore() {
  if (errno_address != 0) write_memory(thread, errno_address, &errno_value, sizeof errno_value);
  if (mapping != 0) system_call(SYS_munmap, {mapping, kMappingBytes});
  ptrace(PTRACE_SETSIGMASK, thread, reinterpret_cast<void*>(sizeof mask), &mask);
  iovec area{extended.data(), extended.size()};
  ptrace(PTRACE_SETREGSET, thread, reinterpret_cast<void*>(uintptr_t{NT_X86_XSTATE}), &area);
  // A system call is restarted where the thread comes out of such a stop, and of no other.
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  user_regs_struct waiting = registers;
  int status = 0;
  waiting.orig_rax = uint64_t(-1);
  waiting.rip = functions.system_call;
  waiting.rax = SYS_sched_yield;
  set_registers(thread, waiting);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
  do {
    ptrace(PTRACE_CONT, thread, nullptr, 0);
    if (!wait_for_stop(status, end)) return;
  } while (status >> 16 != PTRACE_EVENT_STOP);
  set_registers(thread, registers);
  ptrace(PTRACE_DETACH, thread, nullptr, 0);
}

RemoteThread::~RemoteThread() {
  if (state_->saved && !state_->left_alone) {
    state_->restore();
  } else {
    ptrace(PTRACE_DETACH, state_->thread, nullptr, 0);
  }
  delete state_;
}

uint64_t RemoteThread::put(const std::string& bytes) {
  State& s = *state_;
  const uint64_t at = s.next_text;
  if (at + bytes.size() + 1 > s.mapping + kTexts + kTextBytes) return 0;
  s.next_text += (bytes.size() + 16) & ~size_t{15};
  return write_memory(s.thread, at, bytes.c_str(), bytes.size() + 1) ? at : 0;
}

std::string RemoteThread::get_text(uint64_t address, size_t most) const {
  std::string text;
  char page[256];
  while (address != 0 && text.size() < most) {
    const size_t read = read_memory(state_->thread, address, page, sizeof page - address % sizeof page);
    const size_t length = strnlen(page, read);
    text.append(page, length);
    if (read == 0 || length < read) break;
    address += read;
  }
  return text;
}

uint64_t RemoteThread::call(uint64_t function, const std::vector<uint64_t>& arguments, std::chrono::milliseconds most) {
  State& s = *state_;
  if (!s.usable) throw ProcessError(fmt::format("thread {} makes no calls any more.", s.thread));
  user_regs_struct at_call = s.registers;
  uint64_t* const places[] = {reinterpret_cast<uint64_t*>(&at_call.rdi), reinterpret_cast<uint64_t*>(&at_call.rsi),
                              reinterpret_cast<uint64_t*>(&at_call.rdx), reinterpret_cast<uint64_t*>(&at_call.rcx)};
  for (size_t i = 0; i < arguments.size(); ++i) *places[i] = arguments[i];
  at_call.rip = s.mapping;
  at_call.rbx = function;
  at_call.r12 = s.mapping + kAnswer;
  at_call.rsp = s.stack + 8;
  at_call.rax = 0;
  at_call.orig_rax = uint64_t(-1);
  at_call.eflags = kFlagsAtEntry;
  const Clock::time_point end = Clock::now() + most;
  if (!set_registers(s.thread, at_call)) {
    s.usable = false;
    throw ProcessError(fmt::format("thread {} has ended.", s.thread));
  }
  for (;;) {
    int status = 0;
    if (ptrace(PTRACE_SYSCALL, s.thread, nullptr, 0) != 0) break;
    if (!s.wait_for_stop(status, end)) {
      if (Clock::now() <= end) break;
      // It comes back by itself.
      s.usable = false;
      s.left_alone = true;
      ptrace(PTRACE_INTERRUPT, s.thread, nullptr, nullptr);
      s.wait_for_stop(status, Clock::now() + std::chrono::seconds(5));
      throw ProcessError("the library is still being loaded; the program goes on when it is.");
    }
    const int signal = WSTOPSIG(status);
    user_regs_struct now;
    if (!get_registers(s.thread, now)) break;
    if (signal == (SIGTRAP | 0x80)) {
      if (now.rip != s.mapping + kEndOfCode) continue;
      // The way back is not needed: this stop is at its beginning, the next one after it was left out.
      now.orig_rax = uint64_t(-1);
      if (!set_registers(s.thread, now) || ptrace(PTRACE_SYSCALL, s.thread, nullptr, 0) != 0 ||
          !s.wait_for_stop(status, Clock::now() + std::chrono::seconds(5))) {
        break;
      }
      uint64_t answer = 0;
      read_memory(s.thread, s.mapping + kAnswer, &answer, sizeof answer);
      return answer;
    }
    if (status >> 16 == PTRACE_EVENT_STOP) continue;
    if (mask_for_calls() >> (signal - 1) & 1) continue;  // cannot come
    s.usable = false;
    throw ProcessError(fmt::format("the call in thread {} was ended by signal {} ({}); the thread goes on as it was.",
                                   s.thread, signal, strsignal(signal)));
  }
  s.usable = false;
  s.left_alone = true;
  throw ProcessError("the process ended.");
}

}  // namespace tensorscope::process
