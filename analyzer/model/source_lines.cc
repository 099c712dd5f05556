#include "model/source_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

namespace tensorscope::model {

namespace {
constexpr off_t kMostSourceBytes = off_t{16} << 20;
constexpr size_t kMaxLine = 400;
// The kernel tells a process's start in ticks of 10 ms: a script that is run as soon as it is written seems younger.
constexpr uint64_t kClockTick = 20'000'000;
}  // namespace

std::vector<std::string> SourceLines::read(const std::string& file) const {
  if (file.empty() || file.front() == '<') return {};
  const std::string path = sysroot_ + (file.front() == '/' ? file : working_directory_ + "/" + file);
  // The name comes from a dump: it may be a device or a pipe.
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  struct stat status;
  std::string text;
  bool usable = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= kMostSourceBytes;
  if (usable && start_unix_ns_ != 0) {
    const uint64_t written = uint64_t(status.st_mtim.tv_sec) * 1'000'000'000 + uint64_t(status.st_mtim.tv_nsec);
    usable = written <= start_unix_ns_ + kClockTick;
  }
  if (usable) {
    text.resize(size_t(status.st_size));
    ssize_t got = pread(fd, text.data(), text.size(), 0);
    text.resize(got > 0 ? size_t(got) : 0);
  }
  close(fd);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    size_t begin = line.find_first_not_of(" \t\r\f"), end = line.find_last_not_of(" \t\r\f");
    lines.push_back(begin == line.npos ? "" : line.substr(begin, std::min(end - begin + 1, kMaxLine)));
  }
  return lines;
}

std::string SourceLines::line(const std::string& file, int line) {
  if (line <= 0) return "";
  auto [found, fresh] = files_.try_emplace(file);
  if (fresh) found->second = read(file);
  return size_t(line) <= found->second.size() ? found->second[size_t(line) - 1] : "";
}

}  // namespace tensorscope::model
