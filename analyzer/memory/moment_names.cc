// SPDX-License-Identifier: Apache-2.0
#include "memory/moment_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "dump/reader.h"
#include "dump/run_dumps.h"
#include "dump_generated.h"
#include "memory/difference.h"
#include "memory/no_module.h"
#include "memory/taken_names.h"
#include "ownership/names_in_dump.h"
#include "recording/moment.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxFiles = 1024, kMaxRead = 4;

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Those that this process wrote, the nearest in time first.
std::vector<std::string> dumps_of_run(const Dump& moment) {
  if (moment.process.run_id.empty()) return {};
  std::vector<std::pair<uint64_t, std::string>> found;
  for (const RunDump& dump : dumps_beside(recording_path(moment.path), moment.process, kMaxFiles)) {
    found.emplace_back(distance(dump.dump_ns, moment.process.dump_ns), dump.path);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (const auto& [ns, path] : found) paths.push_back(path);
  return paths;
}

// What only an unreachable cycle or a traceback holds in a later dump was most likely held by a variable before; by
// which is not known.
void undo_garbage(References& references) {
  using format::ReferenceRoot;
  const auto undo = [](auto& row) {
    const auto root = ReferenceRoot(row.root);
    if (root != ReferenceRoot::cycle && root != ReferenceRoot::traceback) return;
    row.root = uint8_t(ReferenceRoot::local);
    row.scope = {};
  };
  std::ranges::for_each(references.rows, undo);
  std::ranges::for_each(references.nodes, undo);
  for (TensorObject& object : references.tensors) {
    if (format::WrapperState(object.state) != format::WrapperState::garbage) continue;
    object.state = uint8_t(format::WrapperState::referenced);
  }
}

// What the dumps of a run are read for.
struct RunNames {
  NamesOfRun& names;
  bool no_modules = true;  // each of the dumps says that the program has none
};

void take(const std::string& path, Dump& moment, RunNames& run, const SymbolOptions& options) {
  Dump dump = read_dump(path);
  if (dump.process.dump_ns > moment.process.dump_ns) undo_garbage(dump.references);
  Symbols symbols(dump, options);
  add_names(dump, Holders(dump, &symbols), run.names);
  run.no_modules = run.no_modules && modules_seen(dump) == format::Seen::not_applicable;
  take_names(moment, dump);
  if (!moment.sources.present) moment.sources = dump.sources;
}

void say_modules(Coverage& row, const Dump& moment, bool no_modules) {
  row.detail = "";
  if (!moment.module_names.empty()) {
    row.seen = int(format::Seen::partly);
    row.detail = "of the modules in these dumps";
  } else if (no_modules) {
    row.seen = int(format::Seen::not_applicable);
  } else {
    row.seen = int(format::Seen::no);
    row.detail = "the dumps of this run have none";
  }
}

void say_coverage(Dump& moment, const RunNames& run) {
  const NamesOfRun& names = run.names;
  uint64_t known = 0;
  for (const Tensor& tensor : moment.tensors) known += names.tensor(tensor.serial) != nullptr;
  moment.references.named = known;
  moment.references.detail = "in no dump of this run";
  std::string files;
  for (const NamesOfRun::Source& source : names.sources()) files += (files.empty() ? "" : ", ") + source.file;
  for (Coverage& row : moment.coverage) {
    if (row.subject == "names") {
      row.seen = int(known == moment.tensors.size() ? format::Seen::yes : format::Seen::partly);
      row.detail = fmt::format("{} of {} tensors are in {}", known, moment.tensors.size(), files);
    } else if (row.subject == "module paths") {
      say_modules(row, moment, run.no_modules);
    }
  }
}

}  // namespace

std::unique_ptr<NamesOfRun> names_for_moment(Dump& moment, const SymbolOptions& options) {
  if (!moment.moment) return nullptr;
  auto names = std::make_unique<NamesOfRun>();
  RunNames run{*names};
  for (const std::string& path : options.name_dumps) {
    const Process process = read_process(path);
    if (process.run_id != moment.process.run_id || process.pid != moment.process.pid) {
      throw BadInput(fmt::format("{} is a dump of another process than {}.", path, recording_path(moment.path)));
    }
    take(path, moment, run, options);
  }
  if (names->sources().empty()) {
    for (const std::string& path : dumps_of_run(moment)) {
      if (names->sources().size() == kMaxRead) break;
      try {
        take(path, moment, run, options);
      } catch (const BadInput&) {  // cut off, or being written
      }
    }
  }
  if (names->sources().empty()) return nullptr;
  say_coverage(moment, run);
  return names;
}

}  // namespace tensorscope::analyzer
