#include "recording/table_growth.h"

#include <string.h>

#include <algorithm>
#include <vector>

#include "dump/chunk.h"
#include "dump/table_chunks.h"
#include "live/site_table.h"
#include "live/thread_table.h"
#include "stacks/native/native_stack.h"
#include "stacks/python/python_stack.h"

namespace tensorscope::recording {

namespace {

// Rows [begin, end) in chunks: `row(i)` makes one, `create` the chunk's table.
template <typename Row, typename Make, typename Create>
bool write_rows(uint32_t type, size_t& begin, size_t end, Make row, Create create, dump::ChunkSink& file) {
  std::vector<Row> rows;
  while (begin < end) {
    const size_t stop = std::min(end, begin + format::kMaxRowsPerChunk);
    rows.clear();
    for (size_t i = begin; i < stop; ++i) rows.push_back(row(i));
    dump::Chunk chunk(type, rows.size() * sizeof(Row) + 256);
    auto values = chunk.builder().CreateVectorOfStructs(rows);
    if (!chunk.append_to(file, create(chunk.builder(), uint32_t(begin), values))) return false;
    begin = stop;
  }
  return true;
}

}  // namespace

bool TableGrowth::write(dump::ChunkSink& file) {
  // A site refers to frames that were there before it, a frame to code that was.
  const size_t sites = live::g_sites.size();
  const size_t native = stacks::native_frame_count(), python = stacks::python_frame_count();
  const size_t codes = stacks::python_code_count();
  return write_codes(codes, file) && write_frames(native, python, file) && write_sites(sites, file) &&
         write_threads(file) && write_strings(file);
}

bool TableGrowth::write_strings(dump::ChunkSink& file) {
  const auto& values = strings_.values();
  if (strings_written_ == values.size()) return true;
  dump::Chunk chunk(format::kStrings, size_t{16} << 10);
  std::vector<flatbuffers::Offset<flatbuffers::String>> rows;
  for (size_t i = strings_written_; i < values.size(); ++i) rows.push_back(chunk.string(values[i]));
  strings_written_ = values.size();
  return chunk.append_to(file, format::CreateStringsDirect(chunk.builder(), &rows));
}

bool TableGrowth::write_codes(size_t count, dump::ChunkSink& file) {
  const auto row = [this](size_t i) {
    const stacks::PythonCode code = stacks::python_code(uint32_t(i));
    return format::Code(strings_.intern(code.file ? code.file : ""), strings_.intern(code.name ? code.name : ""),
                        code.first_line);
  };
  const auto create = [](auto& builder, uint32_t, auto values) { return format::CreateCodes(builder, values); };
  return write_rows<format::Code>(format::kCodes, codes_, count, row, create, file);
}

bool TableGrowth::write_frames(size_t native, size_t python, dump::ChunkSink& file) {
  const auto native_row = [](size_t i) {
    const stacks::NativeFrame frame = stacks::native_frame(StackId(i));
    return format::NativeFrame(frame.address, frame.parent);
  };
  const auto create_native = [](auto& builder, uint32_t first, auto values) {
    return format::CreateNativeFrames(builder, first, values);
  };
  const auto python_row = [](size_t i) {
    const stacks::PythonFrame frame = stacks::python_frame(StackId(i));
    return format::PythonFrame(frame.module_object, frame.parent, frame.code, frame.line, uint8_t(frame.entry));
  };
  const auto create_python = [](auto& builder, uint32_t first, auto values) {
    return format::CreatePythonFrames(builder, first, values);
  };
  return write_rows<format::NativeFrame>(format::kNativeFrames, native_, native, native_row, create_native, file) &&
         write_rows<format::PythonFrame>(format::kPythonFrames, python_, python, python_row, create_python, file);
}

bool TableGrowth::write_sites(size_t count, dump::ChunkSink& file) {
  const auto row = [](size_t i) {
    const stacks::Stack stack = live::g_sites.stack_of(SiteId(i));
    return format::Site(0, 0, 0, 0, 0, 0, 0, stack.native, stack.python);
  };
  const auto create = [](auto& builder, uint32_t first, auto values) {
    return format::CreateSites(builder, first, values);
  };
  return write_rows<format::Site>(format::kSites, sites_, count, row, create, file);
}

bool TableGrowth::write_threads(dump::ChunkSink& file) {
  const size_t count = live::g_threads.size();
  if (count == threads_) return true;
  std::vector<live::ThreadEntry> entries(count);
  live::g_threads.copy(entries.data(), count);
  const auto row = [&](size_t i) {
    const std::string_view name(entries[i].name, strnlen(entries[i].name, sizeof entries[i].name));
    return format::Thread(entries[i].tid, strings_.intern(name), 1);
  };
  const auto create = [](auto& builder, uint32_t, auto values) { return format::CreateThreads(builder, values); };
  return write_rows<format::Thread>(format::kThreads, threads_, count, row, create, file);
}

bool TableGrowth::write_objects(const torch::SharedObjectMap& objects, dump::ChunkSink& file) {
  uint64_t sum = objects.objects().size();
  for (const torch::MappedObject& object : objects.objects()) sum = sum * 31 + object.begin + object.load_bias;
  if (sum == objects_) return true;
  objects_ = sum;
  return dump::write_shared_objects(objects, file);
}

}  // namespace tensorscope::recording
