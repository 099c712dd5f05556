// SPDX-License-Identifier: Apache-2.0
#include "cli/graphviz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "support/error.h"

extern char** environ;

namespace tensorscope::cli {

namespace {

using analyzer::OutputError;

// A directory of our own that goes away with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "tensorscope-XXXXXX").string();
    if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Exit status, or the negative error that kept it from being started. Its standard error goes to `errors`.
int run(std::vector<std::string> words, const std::string& errors) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -error;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string draw_with_graphviz(const std::string& dot, const std::string& format) {
  TemporaryDirectory directory;
  if (directory.path().empty()) throw OutputError("no temporary file can be made for Graphviz.");
  const std::string source = directory.path() + "/graph.dot", target = directory.path() + "/picture",
                    errors = directory.path() + "/errors";
  std::ofstream out(source, std::ios::binary);
  out << dot;
  if (!out.flush()) throw OutputError(fmt::format("cannot write {}: {}.", source, strerror(errno)));
  const int status = run({"dot", "-T" + format, "-o", target, source}, errors);
  // A spawn that fails may also show as 127: where the C library execs in the child.
  if (status == -ENOENT || status == 127) {
    throw OutputError(fmt::format(
        "{} needs Graphviz' program 'dot', which is not installed here; --format dot writes its input.", format));
  }
  if (status < 0) throw OutputError(fmt::format("Graphviz' program 'dot' cannot be started: {}.", strerror(-status)));
  std::ifstream in(target, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  if (status != 0 || !in || content.str().empty()) {
    const std::string reason = first_line_of(errors);
    throw OutputError(
        fmt::format("Graphviz' program 'dot' ended with status {}{}.", status, reason.empty() ? "" : ": " + reason));
  }
  return content.str();
}

}  // namespace tensorscope::cli
