#include "memory/moment_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "dump/reader.h"
#include "dump/run_dumps.h"
#include "dump_generated.h"
#include "memory/difference.h"
#include "memory/taken_names.h"
#include "recording/moment.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMostFiles = 1024, kMostRead = 4;

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Those that this process wrote, the nearest in time first.
std::vector<std::string> dumps_of_run(const Dump& moment) {
  if (moment.process.run_id.empty()) return {};
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const RunDump& dump : dumps_beside(recording_path(moment.path), moment.process, kMostFiles)) {
    found.emplace_back(distance(dump.dump_ns, moment.process.dump_ns), dump.path);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (const auto& [ns, path] : found) paths.push_back(path);
  return paths;
}

void take(const std::string& path, Dump& moment, NamesOfRun& names, const SymbolOptions& options) {
  const Dump dump = read_dump(path);
  Symbols symbols(dump, options);
  names.add(dump, Holders(dump, &symbols));
  for (const auto& [object, name] : dump.module_names) moment.module_names.try_emplace(object, name);
  take_names(moment, dump);
  if (!moment.sources.present) moment.sources = dump.sources;
}

void say_coverage(Dump& moment, const NamesOfRun& names) {
  uint64_t known = 0;
  for (const Tensor& tensor : moment.tensors) known += names.tensor(tensor.serial) != nullptr;
  moment.references.named = known;
  moment.references.detail = "in no dump of this run";
  std::string files;
  for (const NamesOfRun::Source& source : names.sources()) files += (files.empty() ? "" : ", ") + source.file;
  for (Coverage& row : moment.coverage) {
    if (row.subject != "names") continue;
    row.seen = int(known == moment.tensors.size() ? format::Seen::yes : format::Seen::partly);
    row.detail = fmt::format("{} of {} tensors are in {}", known, moment.tensors.size(), files);
  }
}

}  // namespace

std::unique_ptr<NamesOfRun> names_for_moment(Dump& moment, const SymbolOptions& options) {
  if (!moment.moment) return nullptr;
  auto names = std::make_unique<NamesOfRun>();
  for (const std::string& path : options.name_dumps) {
    const Process process = read_process(path);
    if (process.run_id != moment.process.run_id || process.pid != moment.process.pid) {
      throw BadInput(fmt::format("{} is a dump of another process than {}.", path, recording_path(moment.path)));
    }
    take(path, moment, *names, options);
  }
  if (names->sources().empty()) {
    for (const std::string& path : dumps_of_run(moment)) {
      if (names->sources().size() == kMostRead) break;
      try {
        take(path, moment, *names, options);
      } catch (const BadInput&) {  // cut off, or being written
      }
    }
  }
  if (names->sources().empty()) return nullptr;
  say_coverage(moment, *names);
  return names;
}

}  // namespace tensorscope::analyzer
