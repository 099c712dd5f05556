#include "model/reader.h"

#include "model/byte_source.h"
#include "model/chunk_reader.h"
#include "model/row_collector.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::model {

namespace {

Dump read_source(const ByteSource& source, const std::string& path, const std::string& name) {
  Dump dump;
  dump.path = path;
  RowCollector rows(dump, name);
  std::vector<std::string> problems = walk_chunks(source, name, [&](const ChunkView& chunk) {
    rows.add(chunk);
    return chunk.type != dump::kEnd;
  });
  if (!rows.has_process()) {
    throw BadInput(problems.empty()
                       ? name + " does not say which process it is of; nothing can be shown."
                       : problems.front() + " It does not say which process it is of; nothing can be shown.");
  }
  dump.complete = problems.empty() && rows.end_agrees();
  rows.finish();
  dump.problems.insert(dump.problems.begin(), problems.begin(), problems.end());
  if (!dump.problems.empty()) dump.complete = false;
  return dump;
}

}  // namespace

Dump read_dump(const std::string& path) {
  return read_source(*open_file(path), path, path.substr(path.rfind('/') + 1));
}

Dump read_dump_bytes(const void* data, size_t size, const std::string& name) {
  return read_source(*wrap_memory(data, size), name, name);
}

}  // namespace tensorscope::model
