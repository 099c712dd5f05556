// SPDX-License-Identifier: Apache-2.0
// The tables as Parquet files: one a table, or a data set of many dumps that DuckDB and Spark read as it is.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "tables/inputs.h"

namespace tensorscope::tables {

// Asks for a stream for each path, relative to the output folder, and keeps it until the export has ended.
using ParquetFileOf = std::function<std::ostream&(const std::string& path)>;

// "tensors.parquet", ...: a row group for each file at least. Throws analyzer::BadInput.
void export_parquet(Inputs& inputs, const ParquetFileOf& file);
// "tensors/run=R/rank=0/step=10/train.4242.1.parquet", ...; of values files and recordings without step=. A part that
// is not known is called __HIVE_DEFAULT_PARTITION__, which readers take for null. Tables without rows have no file.
// `close` is called after each input, when its files are whole.
void export_partitioned(Inputs& inputs, const ParquetFileOf& file, const std::function<void()>& close);

}  // namespace tensorscope::tables
