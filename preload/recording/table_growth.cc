// SPDX-License-Identifier: Apache-2.0
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
  Rows end;
  end.sites = live::g_sites.size();
  end.native = stacks::native_frame_count();
  end.python = stacks::python_frame_count();
  end.codes = stacks::python_code_count();
  end.threads = live::g_threads.size();
  return write_up_to(end, file) && write_strings(file);
}

bool TableGrowth::write_again(dump::ChunkSink& file) {
  const Rows before = written_;
  written_ = {};
  const bool good = write_up_to(before, file) && write_strings_up_to(before.strings, file);
  written_ = before;
  return good;
}

bool TableGrowth::write_up_to(const Rows& end, dump::ChunkSink& file) {
  return write_codes(end.codes, file) && write_frames(end.native, end.python, file) && write_sites(end.sites, file) &&
         write_threads(end.threads, file);
}

bool TableGrowth::write_strings(dump::ChunkSink& file) { return write_strings_up_to(strings_.values().size(), file); }

bool TableGrowth::write_strings_up_to(size_t end, dump::ChunkSink& file) {
  const auto& values = strings_.values();
  if (written_.strings == end) return true;
  dump::Chunk chunk(format::kStrings, size_t{16} << 10);
  std::vector<flatbuffers::Offset<flatbuffers::String>> rows;
  for (size_t i = written_.strings; i < end; ++i) rows.push_back(chunk.string(values[i]));
  written_.strings = end;
  return chunk.append_to(file, format::CreateStringsDirect(chunk.builder(), &rows));
}

bool TableGrowth::write_codes(size_t end, dump::ChunkSink& file) {
  const auto row = [this](size_t i) {
    const stacks::PythonCode code = stacks::python_code(uint32_t(i));
    return format::Code(strings_.intern(code.file ? code.file : ""), strings_.intern(code.name ? code.name : ""),
                        code.first_line);
  };
  const auto create = [](auto& builder, uint32_t, auto values) { return format::CreateCodes(builder, values); };
  return write_rows<format::Code>(format::kCodes, written_.codes, end, row, create, file);
}

bool TableGrowth::write_frames(size_t native_end, size_t python_end, dump::ChunkSink& file) {
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
  return write_rows<format::NativeFrame>(format::kNativeFrames, written_.native, native_end, native_row, create_native,
                                         file) &&
         write_rows<format::PythonFrame>(format::kPythonFrames, written_.python, python_end, python_row, create_python,
                                         file);
}

bool TableGrowth::write_sites(size_t end, dump::ChunkSink& file) {
  const auto row = [](size_t i) {
    const stacks::Stack stack = live::g_sites.stack_of(SiteId(i));
    return format::Site(0, 0, 0, 0, 0, 0, 0, stack.native, stack.python);
  };
  const auto create = [](auto& builder, uint32_t first, auto values) {
    return format::CreateSites(builder, first, values);
  };
  return write_rows<format::Site>(format::kSites, written_.sites, end, row, create, file);
}

bool TableGrowth::write_threads(size_t end, dump::ChunkSink& file) {
  if (end == written_.threads) return true;
  std::vector<live::ThreadEntry> entries(end);
  live::g_threads.copy(entries.data(), end);
  const auto row = [&](size_t i) {
    const std::string_view name(entries[i].name, strnlen(entries[i].name, sizeof entries[i].name));
    return format::Thread(entries[i].tid, strings_.intern(name), 1);
  };
  const auto create = [](auto& builder, uint32_t, auto values) { return format::CreateThreads(builder, values); };
  return write_rows<format::Thread>(format::kThreads, written_.threads, end, row, create, file);
}

bool TableGrowth::write_objects(const torch::SharedObjectMap& objects, dump::ChunkSink& file) {
  uint64_t sum = objects.objects().size();
  for (const torch::MappedObject& object : objects.objects()) sum = sum * 31 + object.begin + object.load_bias;
  if (sum == objects_) return true;
  objects_ = sum;
  return dump::write_shared_objects(objects, file);
}

}  // namespace tensorscope::recording
