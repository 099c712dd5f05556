// SPDX-License-Identifier: Apache-2.0
#include "oom/earlier_names.h"

#include <algorithm>
#include <vector>

#include "dump/reader.h"
#include "dump/run_dumps.h"
#include "memory/difference.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxFiles = 256, kMaxRead = 3;

bool knows(const Dump& dump, uint32_t tensor) {
  return tensor < dump.references.tensors.size() && dump.references.tensors[tensor].known;
}

size_t known_tensors(const Dump& dump) {
  size_t count = 0;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) count += knows(dump, i);
  return count;
}

}  // namespace

bool lacks_names(const Dump& dump) {
  return !dump.process.python_version.empty() && !dump.tensors.empty() && !dump.references.complete;
}

std::optional<Dump> earlier_with_names(const Dump& dump) {
  std::vector<std::pair<uint64_t, std::string>> candidates;
  for (const RunDump& other : dumps_beside(dump.path, dump.process, kMaxFiles)) {
    if (other.dump_ns < dump.process.dump_ns) candidates.emplace_back(other.dump_ns, other.path);
  }
  std::sort(candidates.rbegin(), candidates.rend());
  if (candidates.size() > kMaxRead) candidates.resize(kMaxRead);
  for (const auto& [moment, path] : candidates) {
    try {
      Dump earlier = read_dump(path);
      const bool more = earlier.references.complete || known_tensors(earlier) > known_tensors(dump);
      if (same_run(earlier, dump) && more) return earlier;
    } catch (const BadInput&) {
    }
  }
  return std::nullopt;
}

}  // namespace tensorscope::analyzer::oom
