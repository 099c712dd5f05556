// SPDX-License-Identifier: Apache-2.0
#include "collector/request_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "collector/all_switch.h"
#include "collector/features.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/process_info.h"
#include "support/small_file.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {

namespace {

// A forked child has other files.
struct RequestFiles {
  char request[128] = "", answer[128] = "";
  struct stat served = {};
};
constinit RequestFiles g_files;
FreshInChild g_fresh_files{g_files};

void find_paths() {
  constexpr int kStartTime = 22;
  if (g_files.request[0] != 0) return;
  const uint64_t started = read_stat("/proc/self/stat", kStartTime);
  char name[64];
  rules::request_file_name(process_info().pid, started, name);
  snprintf(g_files.request, sizeof g_files.request, "%s/%s", rules::kRequestFolder, name);
  rules::answer_file_name(process_info().pid, started, name);
  snprintf(g_files.answer, sizeof g_files.answer, "%s/%s", rules::kRequestFolder, name);
}

// What this process's user or root has made, and no link or device in its place.
bool is_ours(int file, struct stat& facts) {
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_uid == geteuid() || facts.st_uid == 0);
}

bool waits_for_start(const Asked& asked) {
  return all_is_stopped() && asked.command && asked.command->refused_while_stopped;
}

// A file that cannot be removed (a folder with other rights) is served once.
bool served_before(const struct stat& file) {
  return file.st_ino == g_files.served.st_ino && file.st_ctim.tv_sec == g_files.served.st_ctim.tv_sec &&
         file.st_ctim.tv_nsec == g_files.served.st_ctim.tv_nsec;
}

Asked request_of(const char* text) {
  if (strcmp(text, rules::kRequestDump) == 0) return {Request::dump};
  if (strcmp(text, rules::kRequestTop) == 0) return {Request::top};
  if (strcmp(text, rules::kRequestTopCheap) == 0) return {Request::top_cheap};
  if (strcmp(text, rules::kRequestStopAll) == 0) return {Request::stop_all};
  if (strcmp(text, rules::kRequestStart) == 0) return {Request::start};
  const Command* const command = find_command(text);
  return {command ? Request::of_feature : Request::none, command};
}

}  // namespace

Asked take_request_file() {
  find_paths();
  const int file = open(g_files.request, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat facts = {};
  char text[16] = "";
  const bool ours = is_ours(file, facts) && !served_before(facts);
  const ssize_t length = ours ? read(file, text, sizeof text - 1) : 0;
  close(file);
  if (length <= 0) return {};
  text[strcspn(text, "\n")] = 0;
  g_files.served = facts;
  Asked asked = request_of(text);
  if (waits_for_start(asked)) {
    answer_request(monotonic_ns(), "everything is stopped by tensorscope stop --all; tensorscope start comes first");
    asked = {};
  }
  unlink(g_files.request);
  return asked;
}

void answer_request(uint64_t requested_ns, const char* reason) {
  find_paths();
  const int file = open(g_files.answer, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return;
  struct stat facts = {};
  char line[512];
  const int length = snprintf(line, sizeof line, "%llu %s", static_cast<unsigned long long>(requested_ns), reason);
  const size_t size = std::min(size_t(length < 0 ? 0 : length), sizeof line - 1);
  line[size] = '\n';  // a whole answer ends with it
  if (is_ours(file, facts) && facts.st_nlink == 1 && ftruncate(file, 0) == 0) {
    [[maybe_unused]] const ssize_t written = write(file, line, size + 1);
  }
  close(file);
}

}  // namespace tensorscope::collector
