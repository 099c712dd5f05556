// SPDX-License-Identifier: Apache-2.0
// A dump that was built, read, and made ready to be asked.
#pragma once

#include <memory>
#include <string>

#include "dump/reader.h"
#include "memory/accounting.h"
#include "memory/grouping.h"
#include "memory/selection.h"
#include "ownership/category.h"
#include "support/dump_builder.h"
#include "symbols/places.h"

namespace tensorscope::testing {

struct Asked {
  explicit Asked(const DumpBuilder& builder, analyzer::Filter filter = {})
      : bytes(builder.bytes()),
        dump(analyzer::read_dump_bytes(bytes.data(), bytes.size(), "test")),
        symbols(dump, {.sysroot = {}, .source_folders = {}, .debug_dirs = {}, .use_cache = false, .native = false}),
        places(dump, symbols),
        accounts(dump),
        holders(dump),
        selection(dump, accounts, holders, places, filter) {}

  analyzer::View view() { return {dump, accounts, holders, places, selection}; }

  std::string bytes;
  analyzer::Dump dump;
  analyzer::Symbols symbols;
  analyzer::Places places;
  analyzer::Accounts accounts;
  analyzer::Holders holders;
  analyzer::Selection selection;
};

// A tensor with a block of its own, of one float each `floats`, at an address that no other has.
inline TensorSpec owned(DumpBuilder& builder, int64_t floats, uint32_t site, uint64_t serial = 0) {
  AllocationSpec block;
  TensorSpec tensor;
  tensor.serial = serial;
  if (serial != 0) block.serial = serial - 1;
  uint64_t number = serial != 0 ? serial : builder.next_serial();
  block.pointer = 0x100000000 + number * 0x10000;
  block.nbytes = uint64_t(floats) * 4;
  block.site = site;
  builder.allocation(block);
  tensor.sizes = {floats};
  tensor.storage_base = block.pointer;
  tensor.site = site;
  builder.tensor(tensor);
  return tensor;
}

}  // namespace tensorscope::testing
