// SPDX-License-Identifier: Apache-2.0
#include "process/asked_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "dump/reader.h"
#include "support/error.h"
#include "tensorscope/rules/request_name.h"
#include "text/units.h"

namespace tensorscope::process {

namespace fs = std::filesystem;

template <typename Function>
void DumpWatch::for_each_dump(Function function) {
  for (const std::string& directory : target_.directories()) {
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      if (at->path().extension() != ".tscope" || !at->is_regular_file(gone)) continue;
      uint64_t size = at->file_size(gone);
      int64_t written = at->last_write_time(gone).time_since_epoch().count();
      if (!gone) function(at->path().string(), Key{at->path().string(), size, written});
    }
  }
}

DumpWatch::DumpWatch(const TargetProcess& target, bool of_top) : target_(target), of_top_(of_top) {
  for_each_dump([this](const std::string&, const Key& key) { seen_.insert(key); });
}

std::optional<std::string> DumpWatch::find(uint64_t asked_ns) {
  std::optional<std::string> found;
  for_each_dump([&](const std::string& path, const Key& key) {
    if (!found && seen_.insert(key).second && answers(path, asked_ns)) found = path;
  });
  return found;
}

bool DumpWatch::answers(const std::string& path, uint64_t asked_ns) const {
  try {
    const analyzer::Process process = analyzer::read_process(path);
    const auto& pids = target_.pids();
    if ((process.trigger_detail == rules::kDetailOfTop) != of_top_) return false;
    return std::find(pids.begin(), pids.end(), pid_t(process.pid)) != pids.end() && process.dump_ns >= asked_ns;
  } catch (const analyzer::BadInput&) {
    return false;
  }
}

void AskedProcess::ask(bool names) {
  done = false;
  path.clear();
  problem.clear();
  asked_ns = target.expect_answer();
  const char* const what = !top ? rules::kRequestDump : names ? rules::kRequestTop : rules::kRequestTopCheap;
  try {
    if (by_file) {
      target.ask_by_file(what);
    } else {
      target.ask();
    }
  } catch (const analyzer::ProcessError& error) {
    problem = error.what();
    done = true;
    target.forget_answer();
  }
}

void AskedProcess::look(std::chrono::steady_clock::duration waited, uint64_t timeout_ns) {
  const bool alive = target.alive();  // before looking: what it wrote last is found
  if (std::optional<std::string> found = watch.find(asked_ns)) {
    path = *found;
    done = true;
  } else if (const std::optional<std::string> refusal = target.refusal(asked_ns)) {
    problem = *refusal;
  } else if (!alive) {
    problem = fmt::format("process {} ended before it wrote the dump.", target.pid());
  } else if (uint64_t(std::chrono::nanoseconds(waited).count()) > timeout_ns) {
    problem = fmt::format("process {} wrote no dump to {} within {}; it may still come (--timeout waits longer).",
                          target.pid(), fmt::join(target.directories(), " or "), text::duration(timeout_ns));
  }
  if (!problem.empty()) done = true;
  if (done && by_file) target.withdraw();
  if (done) target.forget_answer();
}

std::unique_ptr<AskedProcess> open_asked_process(pid_t pid, RequestKind what) {
  const bool by_file = what != RequestKind::dump;
  TargetProcess target = TargetProcess::open(pid, by_file ? RequestMethod::file : RequestMethod::signal);
  if (target.directories().empty()) {
    throw analyzer::ProcessError(fmt::format("cannot find the dump directory of process {}. Nothing was sent.", pid));
  }
  auto asked = std::make_unique<AskedProcess>(std::move(target), what == RequestKind::top);
  asked->by_file = by_file || asked->target.has_own_handler();
  return asked;
}

}  // namespace tensorscope::process
