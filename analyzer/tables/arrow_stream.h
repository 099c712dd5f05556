// SPDX-License-Identifier: Apache-2.0
// Batches as an Arrow C stream (https://arrow.apache.org/docs/format/CStreamInterface.html): any Arrow library reads
// it, and none is needed here. Buffers are those of the batches; each lives until the reader has released it.
#pragma once

#include <cstdint>
#include <deque>

#include "tables/table.h"

// As the interface's specification declares them.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace tensorscope::tables {

// All columns of the table. The stream needs nothing else afterwards.
void export_stream(const Table& table, std::deque<Batch> batches, ArrowArrayStream& out);

}  // namespace tensorscope::tables
