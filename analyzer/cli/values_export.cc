// SPDX-License-Identifier: Apache-2.0
#include "cli/values_export.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

#include "cli/replaced_file.h"
#include "export/arrays/values_export.h"
#include "support/error.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

namespace fs = std::filesystem;
using analyzer::OutputError;
using values::ValueColumns;

constexpr size_t kLongestFileName = 255;

bool is_folder(const std::string& path) {
  std::error_code error;
  return path.ends_with('/') || fs::is_directory(path, error);
}

bool is_hdf5(const std::string& path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

// These throw OutputError, with what went wrong alone.
void check(int error) {
  if (error != 0) throw OutputError(strerror(error));
}

void write_whole(const std::string& path, const std::function<void(std::ostream&)>& write) {
  ReplacedFile file(path);
  check(file.error());
  write(file.stream());
  check(file.finish());
}

void write_hdf5(const ValueColumns& columns, const ValuesExportOptions& options, exports::ExportNotes& notes) {
  ReplacedFile file(options.output);
  check(file.error());
  exports::Hdf5Export(file.temporary(), {.compress = options.compress}).write(columns, notes);
  check(file.finish());
}

void write_folder(const ValueColumns& columns, const std::string& folder, exports::ExportNotes& notes) {
  const auto write_one = [&](const std::string& path, const std::function<void(std::ostream&)>& write) {
    const fs::path whole = fs::path(folder) / path;
    std::error_code error;
    fs::create_directories(whole.parent_path(), error);
    if (error) throw OutputError(error.message());
    write_whole(whole.string(), write);
  };
  exports::export_npy(columns, write_one, notes);
}

// The first name that no file system takes; a folder has one for each.
const values::Column* too_long(const ValueColumns& columns) {
  for (const values::Column& column : columns.columns()) {
    if (exports::array_path(column.key).size() > kLongestFileName) return &column;
  }
  return nullptr;
}

using Writer = void (*)(const ValueColumns&, std::ostream&, exports::ExportNotes&);

Writer writer_of(const std::string& path) {
  const std::pair<const char*, Writer> kEndings[] = {
      {".npz", exports::export_npz},
      {".npy", exports::export_one_npy},
      {".safetensors", exports::export_safetensors},
      {".csv", [](const ValueColumns& columns, std::ostream& out,
                  exports::ExportNotes&) { exports::export_values_csv(columns, out); }},
      {".parquet", [](const ValueColumns& columns, std::ostream& out,
                      exports::ExportNotes&) { exports::export_values_parquet(columns, out); }},
  };
  for (const auto& [ending, writer] : kEndings) {
    if (path.ends_with(ending)) return writer;
  }
  return nullptr;
}

void say_notes(const ValueColumns& columns, const exports::ExportNotes& notes, const std::string& output,
               Invocation& invocation) {
  invocation.out += fmt::format("{}: {} of {}\n", output, text::counted(columns.rows(), "value"),
                                text::counted(columns.columns().size(), "name"));
  for (const std::string& converted : notes.converted) invocation.out += "  " + converted + " (exact)\n";
  for (const std::string& name : notes.without_pad) {
    invocation.out += "  " + name + ": without the padded array, which would be mostly padding\n";
  }
}

}  // namespace

int export_values(const text::ValuesFiles& files, const values::ValueFilter& filter, const ValuesExportOptions& options,
                  Invocation& invocation) {
  const std::string& output = options.output;
  const Writer writer = writer_of(output);
  const bool folder = is_folder(output);
  if (writer == nullptr && !folder && !is_hdf5(output)) {
    invocation.say("--export writes .npz, .npy, .safetensors, .h5, .csv, .parquet, or a folder of .npy files (OUT/).");
    return kBadInput;
  }
  if (options.compress > 0 && !is_hdf5(output)) {
    invocation.say("--compress is for .h5 alone.");
    return kBadInput;
  }
  if (!(folder ? may_write_folder(output, options.force, invocation) : may_write(output, options.force, invocation))) {
    return kBadInput;
  }
  ValueColumns columns(files, filter);
  columns.sort_by_step();
  if (columns.rows() == 0) {
    invocation.say("no value fits --name, --step, --mode and --index: nothing is exported.");
    return kBadInput;
  }
  if (output.ends_with(".npy") && !folder && columns.columns().size() > 1) {
    invocation.say(
        fmt::format("one .npy holds one name, and {} were asked for; choose one with --name, or export into "
                    "a folder: OUT/",
                    text::count(columns.columns().size())));
    return kBadInput;
  }
  if (const values::Column* column = folder ? too_long(columns) : nullptr; column != nullptr) {
    invocation.say("the name " + column->key.substr(0, 40) + "... is too long for a file; export into .npz or .h5.");
    return kBadInput;
  }
  exports::ExportNotes notes;
  try {
    if (folder) {
      write_folder(columns, output, notes);
    } else if (is_hdf5(output)) {
      write_hdf5(columns, options, notes);
    } else {
      write_whole(output, [&](std::ostream& out) { writer(columns, out, notes); });
    }
  } catch (const OutputError& error) {
    throw OutputError("cannot write " + output + ": " + error.what() + ".");
  }
  say_notes(columns, notes, output, invocation);
  return kOk;
}

}  // namespace tensorscope::cli
