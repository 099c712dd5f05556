// SPDX-License-Identifier: Apache-2.0
#include "dump/reader.h"

#include "dump/byte_source.h"
#include "dump/chunk_reader.h"
#include "dump/dump_decoder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

namespace {

Dump read_source(const ByteSource& source, const std::string& path, const std::string& name) {
  Dump dump;
  dump.path = path;
  DumpDecoder rows(dump, name);
  std::vector<std::string> problems = walk_chunks(source, name, [&](const ChunkView& chunk) {
    rows.add(chunk);
    return chunk.type != format::kEnd;
  });
  if (!rows.has_process()) {
    throw BadInput(problems.empty() ? name + " does not name its process; nothing can be shown."
                                    : problems.front() + " It does not name its process; nothing can be shown.");
  }
  rows.finish();
  problems.insert(problems.end(), dump.problems.begin(), dump.problems.end());
  if (problems.empty()) {
    // A file that is whole should not refer to what is not in it; in any other, that is what was to be expected.
    if (!rows.cleared().empty()) problems.push_back("left out of " + name + ": " + rows.cleared() + ".");
  } else if (!rows.missing().empty()) {
    problems.front() += " Missing: " + rows.missing() + ".";
  }
  dump.complete = problems.empty() && rows.end_agrees();
  dump.problems = std::move(problems);
  return dump;
}

}  // namespace

Dump read_dump(const std::string& path) {
  return read_source(*open_file(path), path, path.substr(path.rfind('/') + 1));
}

Process read_process(const std::string& path) {
  return read_process(*open_file(path), path.substr(path.rfind('/') + 1));
}

Process read_process(const ByteSource& source, const std::string& name) {
  Dump dump;
  DumpDecoder rows(dump, name);
  const auto take_one = [&](const ChunkView& chunk) {
    if (chunk.type == format::kProcess) rows.add(chunk);
    return false;
  };
  walk_chunks(source, name, take_one);
  if (!rows.has_process()) throw BadInput(name + " does not begin with its process chunk.");
  return dump.process;
}

Dump read_dump_bytes(const void* data, size_t size, const std::string& name) {
  return read_source(*wrap_memory(data, size), name, name);
}

}  // namespace tensorscope::analyzer
