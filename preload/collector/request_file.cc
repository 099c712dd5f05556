#include "collector/request_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fresh_in_child.h"
#include "support/process_info.h"
#include "support/small_file.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {

namespace {

// A forked child has another file.
struct RequestFile {
  char path[128] = "";
  struct stat served = {};
};
constinit RequestFile g_file;
FreshInChild g_fresh_file{g_file};

const char* request_path() {
  constexpr int kStartTime = 22;
  if (g_file.path[0] != 0) return g_file.path;
  char name[64];
  rules::request_file_name(process_info().pid, read_stat("/proc/self/stat", kStartTime), name);
  snprintf(g_file.path, sizeof g_file.path, "%s/%s", rules::kRequestFolder, name);
  return g_file.path;
}

// A file that cannot be removed (a folder with other rights) is served once.
bool served_before(const struct stat& file) {
  return file.st_ino == g_file.served.st_ino && file.st_ctim.tv_sec == g_file.served.st_ctim.tv_sec &&
         file.st_ctim.tv_nsec == g_file.served.st_ctim.tv_nsec;
}

Request request_of(const char* text) {
  if (strcmp(text, rules::kRequestDump) == 0) return Request::dump;
  if (strcmp(text, rules::kRequestTop) == 0) return Request::top;
  if (strcmp(text, rules::kRequestTopCheap) == 0) return Request::top_cheap;
  if (strcmp(text, rules::kRequestStop) == 0) return Request::stop;
  if (strcmp(text, rules::kRequestStopAll) == 0) return Request::stop_all;
  if (strcmp(text, rules::kRequestStart) == 0) return Request::start;
  if (strcmp(text, rules::kRequestStopValues) == 0) return Request::stop_values;
  if (strcmp(text, rules::kRequestRecord) == 0) return Request::record;
  if (strcmp(text, rules::kRequestNoRecord) == 0) return Request::no_record;
  return strcmp(text, rules::kRequestStartValues) == 0 ? Request::start_values : Request::none;
}

}  // namespace

Request take_request_file() {
  const char* path = request_path();
  const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return Request::none;
  struct stat facts = {};
  char text[16] = "";
  const bool ours = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
                    (facts.st_uid == geteuid() || facts.st_uid == 0) && !served_before(facts);
  const ssize_t length = ours ? read(file, text, sizeof text - 1) : 0;
  close(file);
  if (length <= 0) return Request::none;
  text[strcspn(text, "\n")] = 0;
  g_file.served = facts;
  unlink(path);
  return request_of(text);
}

}  // namespace tensorscope::collector
