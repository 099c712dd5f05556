#include "snapshot/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace tensorscope::snapshot {

size_t read_small_file(const char* path, char* buffer, size_t size) {
  buffer[0] = 0;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t length = 0;
  while (length < size - 1) {
    const ssize_t got = read(fd, buffer + length, size - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += size_t(got);
  }
  close(fd);
  buffer[length] = 0;
  return length;
}

uint64_t number_after(const char* text, const char* key) {
  const size_t key_length = strlen(key);
  for (const char* line = text; line != nullptr && *line; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (strncmp(line, key, key_length) == 0) return strtoull(line + key_length, nullptr, 10);
  }
  return 0;
}

uint64_t read_stat(const char* path, int field) {
  char stat[1024];
  read_small_file(path, stat, sizeof(stat));
  const char* at = strrchr(stat, ')');  // the end of field 2, a name that may hold anything
  for (int i = 2; at != nullptr && i < field; ++i) at = strchr(at + 1, ' ');
  return at != nullptr ? strtoull(at, nullptr, 10) : 0;
}

}  // namespace tensorscope::snapshot
