// SPDX-License-Identifier: Apache-2.0
// A values file for other programs: numpy, safetensors, HDF5, tables (docs/cli/values.md).
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "export/arrays/value_arrays.h"

namespace tensorscope::exports {

struct ExportNotes {
  std::vector<std::string> converted;    // "model.fc: bfloat16 as float32"
  std::vector<std::string> without_pad;  // names
  void take(const values::Column& column, const ColumnArrays& arrays);
};

// Both throw analyzer::BadInput where elements are damaged. A stream that fails is the caller's to see.
void export_npz(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes);
void export_safetensors(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes);
// A folder for each column, a file for each array: "model.fc/values.npy". `file` opens a stream for each path.
using FileOf = std::function<void(const std::string& path, const std::function<void(std::ostream&)>& write)>;
void export_npy(const values::ValueColumns& columns, const FileOf& file, ExportNotes& notes);
// The array of elements alone, where there is just one column.
void export_one_npy(const values::ValueColumns& columns, std::ostream& out, ExportNotes& notes);
// One row a value.
void export_values_csv(const values::ValueColumns& columns, std::ostream& out);
void export_values_parquet(const values::ValueColumns& columns, std::ostream& out);

// One group for each column. Kept for a file that grows: each write adds what came since.
class Hdf5Export {
 public:
  struct Options {
    int compress = 0;    // deflate's level; 0: not at all
    bool grows = false;  // data sets that can be extended
  };
  Hdf5Export(std::string path, const Options& options) : path_(std::move(path)), options_(options) {}

  // Opens the file, writes, closes it. Throws OutputError, with what went wrong alone.
  void write(const values::ValueColumns& columns, ExportNotes& notes);

 private:
  std::string path_;
  Options options_;
  bool begun_ = false;
};

}  // namespace tensorscope::exports
