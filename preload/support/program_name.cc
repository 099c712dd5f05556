// SPDX-License-Identifier: Apache-2.0
#include "support/program_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/pages.h"
#include "support/small_file.h"

namespace tensorscope {

namespace {

// What the command lines hold of multiprocessing's spawn (multiprocessing/spawn.py, get_command_line, 3.8 to 3.14) and
// fork server (multiprocessing/forkserver.py; the default from 3.14 on), and of loky's workers
// (joblib/externals/loky/backend/popen_loky_posix.py, joblib 1.6).
constexpr const char* kWorkerMarks[] = {"--multiprocessing-fork", "from multiprocessing.forkserver import main",
                                        "loky.backend.popen_loky_posix"};

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool is_called_python(const char* path) { return strncmp(base_name(path), "python", strlen("python")) == 0; }

// The arguments of a command line, one after the other.
class Arguments {
 public:
  Arguments(const char* data, size_t size) : next_(data), end_(data + size) {}
  const char* next() {
    if (next_ >= end_) return nullptr;
    const char* argument = next_;
    next_ += strnlen(next_, size_t(end_ - next_)) + 1;
    return argument;
  }

 private:
  const char* next_;
  const char* end_;
};

// What CPython runs, by the grammar of its command line (Python/initconfig.c: short options may be joined; c, m, W and
// X take the rest of the word or the next word). Null: a command, standard input or a prompt.
const char* python_target(Arguments arguments) {
  for (const char* word = arguments.next(); word != nullptr; word = arguments.next()) {
    if (word[0] != '-') return word;
    if (word[1] == 0) return nullptr;
    if (word[1] == '-') {
      if (strcmp(word, "--check-hash-based-pycs") == 0) arguments.next();
      continue;
    }
    for (const char* option = word + 1; *option != 0; ++option) {
      if (*option == 'c') return nullptr;
      if (*option == 'm') return option[1] != 0 ? option + 1 : arguments.next();
      if (*option == 'W' || *option == 'X') {
        if (option[1] == 0) arguments.next();
        break;
      }
    }
  }
  return nullptr;
}

uint32_t parent_of(uint32_t pid) {
  constexpr int kParent = 4;
  char path[64];
  snprintf(path, sizeof(path), "/proc/%u/stat", pid);
  return uint32_t(read_stat(path, kParent));
}

bool read_executable(uint32_t pid, char (&out)[PATH_MAX]) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%u/exe", pid);
  const ssize_t length = readlink(path, out, sizeof(out) - 1);
  out[length > 0 ? length : 0] = 0;
  return length > 0;
}

}  // namespace

void program_name(const char* executable, const char* arguments, size_t size, char* out, size_t out_size) {
  char trimmed[PATH_MAX];
  Arguments words(arguments, size);
  const char* first = words.next();
  const bool is_python = is_called_python(executable) || (first != nullptr && is_called_python(first));
  const char* name = base_name(executable);
  if (is_python) {
    const char* target = python_target(words);
    snprintf(trimmed, sizeof(trimmed), "%s", target != nullptr ? target : "python");
    size_t length = strlen(trimmed);
    while (length > 1 && trimmed[length - 1] == '/') trimmed[--length] = 0;
    if (length > 3 && strcmp(trimmed + length - 3, ".py") == 0) trimmed[length - 3] = 0;
    name = base_name(trimmed);
    if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) name = "python";
  }
  size_t n = 0;
  for (; name[n] != 0 && n + 1 < out_size; ++n) {
    out[n] = (unsigned char)name[n] <= ' ' || name[n] == 0x7f ? '_' : name[n];
  }
  out[n] = 0;
  if (n == 0) snprintf(out, out_size, "program");
}

bool is_helper_process(const char* arguments, size_t size) {
  Arguments words(arguments, size);
  for (const char* word = words.next(); word != nullptr; word = words.next()) {
    for (const char* mark : kWorkerMarks) {
      if (strstr(word, mark) != nullptr) return true;
    }
  }
  return false;
}

void name_of_launching_program(uint32_t parent, const char* executable, char* out, size_t out_size) {
  constexpr size_t kMaxArguments = size_t{64} << 10;
  constexpr int kMaxGenerations = 16;
  char* const arguments = static_cast<char*>(map_pages(kMaxArguments));
  if (arguments == nullptr) return;
  char path[64], theirs[PATH_MAX];
  for (int i = 0; i < kMaxGenerations && parent > 1; ++i, parent = parent_of(parent)) {
    snprintf(path, sizeof(path), "/proc/%u/cmdline", parent);
    const size_t size = read_small_file(path, arguments, kMaxArguments);
    if (size == 0 || !read_executable(parent, theirs)) break;
    if (is_helper_process(arguments, size)) continue;
    // Else the parent has ended, and this is who looks after orphans.
    if (is_called_python(theirs) || strcmp(theirs, executable) == 0) {
      program_name(theirs, arguments, size, out, out_size);
    }
    break;
  }
  unmap_pages(arguments, kMaxArguments);
}

}  // namespace tensorscope
