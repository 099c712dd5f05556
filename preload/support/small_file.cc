// SPDX-License-Identifier: Apache-2.0
#include "support/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/private_descriptor_table.h"

namespace tensorscope {

namespace {

// errno, or 0.
int read_file_here(const char* path, char* buffer, size_t size, size_t& length) {
  const int fd = int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return errno;
  int error = 0;
  while (length < size - 1) {
    const ssize_t got = syscall(SYS_read, fd, buffer + length, size - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    length += size_t(got);
  }
  syscall(SYS_close, fd);
  return error;
}

}  // namespace

int read_file(const char* path, char* buffer, size_t size, size_t& length) {
  int error = EPERM;
  length = 0;
  with_private_descriptors([&] { error = read_file_here(path, buffer, size, length); });
  buffer[length] = 0;
  return error;
}

size_t read_small_file(const char* path, char* buffer, size_t size) {
  size_t length = 0;
  const int error = read_file(path, buffer, size, length);
  return error == 0 ? length : 0;
}

bool find_number(const char* text, const char* key, uint64_t& number) {
  const size_t key_length = strlen(key);
  for (const char* line = text; line != nullptr && *line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    const char last = strncmp(line, key, key_length) == 0 ? line[key_length] : 'x';
    if (last != ' ' && last != '\t') continue;
    number = strtoull(line + key_length, nullptr, 10);
    return true;
  }
  return false;
}

uint64_t number_after(const char* text, const char* key) {
  uint64_t number = 0;
  find_number(text, key, number);
  return number;
}

uint64_t read_stat(const char* path, int field) {
  char stat[1024];
  read_small_file(path, stat, sizeof(stat));
  const char* at = strrchr(stat, ')');  // the end of field 2, a name that may hold anything
  for (int i = 2; at != nullptr && i < field; ++i) at = strchr(at + 1, ' ');
  return at != nullptr ? strtoull(at, nullptr, 10) : 0;
}

}  // namespace tensorscope
