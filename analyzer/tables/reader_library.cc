// SPDX-License-Identifier: Apache-2.0
// libtensorscope_reader.so: the tables for programs that load them as a library, as Python's package does. A C
// interface; every function may be called from any thread, one at a time for a reader.
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tables/arrow_stream.h"
#include "tables/input_file.h"

using namespace tensorscope;

#define TENSORSCOPE_EXPORT extern "C" __attribute__((visibility("default")))

struct tensorscope_reader {
  std::vector<std::unique_ptr<tables::InputFile>> files;
  std::string error, names, problems;
};

namespace {

template <typename Work>
bool guarded(std::string& error, Work work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    error = "not enough memory";
  } catch (const std::exception& problem) {
    error = problem.what();
  }
  return false;
}

bool any_has(const tensorscope_reader& reader, const tables::Table& table) {
  return std::any_of(reader.files.begin(), reader.files.end(), [&](const auto& file) { return file->has(table); });
}

}  // namespace

// Changes with the functions below.
TENSORSCOPE_EXPORT int tensorscope_reader_version() { return 1; }

// Opens dumps, values files, recordings. Null where there is no memory; tensorscope_reader_error() is not "" where a
// file could not be read.
TENSORSCOPE_EXPORT tensorscope_reader* tensorscope_reader_open(const char* const* paths, size_t count) {
  auto* reader = new (std::nothrow) tensorscope_reader;
  if (reader == nullptr) return nullptr;
  guarded(reader->error, [&] {
    for (size_t i = 0; i < count; ++i) {
      reader->files.push_back(std::make_unique<tables::InputFile>(paths[i], i + 1, analyzer::SymbolOptions{}));
    }
    for (const tables::Table& table : tables::all_tables()) {
      if (any_has(*reader, table)) reader->names += std::string(table.name) + '\n';
    }
    for (const auto& file : reader->files) {
      for (const std::string& problem : file->problems()) reader->problems += problem + '\n';
    }
  });
  return reader;
}

TENSORSCOPE_EXPORT void tensorscope_reader_close(tensorscope_reader* reader) { delete reader; }

// Of the last function that failed.
TENSORSCOPE_EXPORT const char* tensorscope_reader_error(const tensorscope_reader* reader) {
  return reader->error.c_str();
}

// Lines: the tables that the files have; what is wrong with damaged files.
TENSORSCOPE_EXPORT const char* tensorscope_reader_tables(const tensorscope_reader* reader) {
  return reader->names.c_str();
}
TENSORSCOPE_EXPORT const char* tensorscope_reader_problems(const tensorscope_reader* reader) {
  return reader->problems.c_str();
}

// A stream of all rows of a table, for tensorscope_reader_free_stream(); it may outlive the reader. Null: an error.
TENSORSCOPE_EXPORT ArrowArrayStream* tensorscope_reader_stream(tensorscope_reader* reader, const char* name) {
  std::unique_ptr<ArrowArrayStream> stream;
  const bool done = guarded(reader->error, [&] {
    const tables::Table* table = tables::table_named(name);
    if (table == nullptr) throw std::invalid_argument("no table " + std::string(name));
    std::deque<tables::Batch> batches;
    for (const auto& file : reader->files) {
      if (!file->has(*table)) continue;
      tables::scan(*file, *table, tables::all_columns(*table), [&](tables::Batch&& batch) {
        batches.push_back(std::move(batch));
        return true;
      });
    }
    stream = std::make_unique<ArrowArrayStream>();
    tables::export_stream(*table, std::move(batches), *stream);
  });
  return done ? stream.release() : nullptr;
}

TENSORSCOPE_EXPORT void tensorscope_reader_free_stream(ArrowArrayStream* stream) {
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}
