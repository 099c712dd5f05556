// SPDX-License-Identifier: Apache-2.0
#include "ranks/read_ranks.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "dump/reader.h"

namespace tensorscope::analyzer {

namespace fs = std::filesystem;

std::vector<std::string> dump_files(const std::vector<std::string>& files_and_folders) {
  std::vector<std::string> paths;
  for (const std::string& given : files_and_folders) {
    std::error_code error;
    if (!fs::is_directory(given, error)) {
      paths.push_back(given);
      continue;
    }
    std::vector<std::string> found;
    const auto skip = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(given, skip, error), end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      if (at->path().extension() == ".tscope" && at->is_regular_file(gone)) found.push_back(at->path().string());
    }
    if (found.empty()) throw BadInput("no dump (*.tscope) in " + given + ".");
    std::sort(found.begin(), found.end());
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

ReadRanks read_ranks(const std::vector<std::string>& paths, const Filter& filter, const SymbolOptions& symbols,
                     size_t threads, NamePool& names) {
  // A heap for each thread would keep what its largest dump took.
  mallopt(M_ARENA_MAX, 2);
  std::vector<std::optional<RankDump>> read(paths.size());
  std::vector<std::string> mistakes(paths.size());
  std::atomic<size_t> next{0};
  std::exception_ptr wrong;
  std::mutex lock;
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < paths.size();) {
      try {
        read[i] = read_rank_dump(paths[i], filter, symbols, names);
      } catch (const BadInput& error) {
        mistakes[i] = error.what();
      } catch (...) {
        const std::lock_guard guard(lock);
        wrong = std::current_exception();
        next = paths.size();
      }
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(threads, paths.size()); ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (wrong) std::rethrow_exception(wrong);
  ReadRanks out;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (read[i]) {
      out.dumps.push_back(std::move(*read[i]));
    } else {
      out.unreadable.push_back(mistakes[i]);
    }
  }
  return out;
}

}  // namespace tensorscope::analyzer
