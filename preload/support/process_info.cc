// SPDX-License-Identifier: Apache-2.0
#include "support/process_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "support/clock.h"
#include "support/private_descriptor_table.h"
#include "support/program_name.h"
#include "support/secret_arguments.h"
#include "support/small_file.h"
#include "tensorscope/rules/job_name.h"

namespace tensorscope {

namespace {

constexpr size_t kMaxCommandLine = size_t{1} << 20;
ProcessInfo g_info;

void read_start_time() {
  constexpr int kStartTime = 22;  // in clock ticks after boot
  const uint64_t ticks = read_stat("/proc/self/stat", kStartTime);
  const uint64_t start_boot_ns = ticks * (1'000'000'000 / uint64_t(sysconf(_SC_CLK_TCK)));
  const uint64_t boot_now = read_clock_ns(CLOCK_BOOTTIME);
  const uint64_t age = ticks != 0 && boot_now > start_boot_ns ? boot_now - start_boot_ns : 0;
  const uint64_t monotonic_now = read_clock_ns(CLOCK_MONOTONIC);
  g_info.start_ns = monotonic_now > age ? monotonic_now - age : 0;
  g_info.start_unix_ns = read_clock_ns(CLOCK_REALTIME) - age;
}

void make_run_id() {
  uint8_t bytes[16] = {};
  if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != ssize_t(sizeof(bytes))) {
    // Early in the machine's life there is no randomness yet.
    const uint64_t words[2] = {read_clock_ns(CLOCK_REALTIME),
                               uint64_t(getpid()) << 32 ^ read_clock_ns(CLOCK_MONOTONIC)};
    memcpy(bytes, words, sizeof(bytes));
  }
  for (size_t i = 0; i < sizeof(bytes); ++i) {
    g_info.run_id[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    g_info.run_id[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
}

int number_from(const char* variable) {
  const char* text = getenv(variable);
  if (text == nullptr || *text == 0) return -1;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *end == 0 && value >= 0 && value <= INT_MAX ? int(value) : -1;
}

int first_number(const char* const* variables) {
  for (; *variables != nullptr; ++variables) {
    if (const int value = number_from(*variables); value >= 0) return value;
  }
  return -1;
}

void read_ranks() {
  constexpr const char* kRank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", nullptr};
  constexpr const char* kLocal[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", nullptr};
  constexpr const char* kWorld[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", nullptr};
  g_info.rank = first_number(kRank);
  g_info.local_rank = first_number(kLocal);
  g_info.world_size = first_number(kWorld);
  // Slurm sets its variables in every shell of a job; only more than one task makes ranks of them.
  if (g_info.rank < 0 && number_from("SLURM_NTASKS") > 1) {
    g_info.rank = number_from("SLURM_PROCID");
    g_info.local_rank = number_from("SLURM_LOCALID");
    g_info.world_size = number_from("SLURM_NTASKS");
  }
  if (g_info.rank >= 0) rules::job_name([](const char* variable) { return getenv(variable); }, g_info.job);
}

void read_command_line() {
  void* memory =
      mmap(nullptr, kMaxCommandLine, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  g_info.command_line_size = read_small_file("/proc/self/cmdline", static_cast<char*>(memory), kMaxCommandLine);
  g_info.command_line = static_cast<const char*>(memory);
}

// Its name has been read by now.
void forget_secrets() {
  if (g_info.command_line_size == 0) return;
  g_info.command_line_size = star_secrets(const_cast<char*>(g_info.command_line), g_info.command_line_size);
}

void name_program() {
  program_name(g_info.executable, g_info.command_line, g_info.command_line_size, g_info.program,
               sizeof(g_info.program));
  if (is_helper_process(g_info.command_line, g_info.command_line_size)) {
    name_of_launching_program(g_info.parent_pid, g_info.executable, g_info.program, sizeof(g_info.program));
  }
}

}  // namespace

namespace {

void read_process_info() {
  g_info.pid = uint32_t(getpid());
  g_info.parent_pid = uint32_t(getppid());
  const ssize_t length = readlink("/proc/self/exe", g_info.executable, sizeof(g_info.executable) - 1);
  g_info.executable[length > 0 ? length : 0] = 0;
  if (getcwd(g_info.directory, sizeof(g_info.directory)) == nullptr) g_info.directory[0] = 0;
  if (gethostname(g_info.host, sizeof(g_info.host) - 1) != 0) g_info.host[0] = 0;
  read_command_line();
  name_program();
  forget_secrets();
  read_ranks();
  read_start_time();
  g_info.image_start_unix_ns = g_info.start_unix_ns;
  make_run_id();
}

}  // namespace

void start_process_info() {
  if (g_info.pid == 0) with_private_descriptors([] { read_process_info(); });
}

const ProcessInfo& process_info() { return g_info; }

void process_info_after_fork_in_child() {
  g_info.forked_from = g_info.pid;
  g_info.pid = uint32_t(getpid());
  g_info.parent_pid = uint32_t(getppid());
  g_info.start_ns = read_clock_ns(CLOCK_MONOTONIC);  // this process begins here: no file has to be read for that
  g_info.start_unix_ns = read_clock_ns(CLOCK_REALTIME);
  make_run_id();
}

}  // namespace tensorscope
