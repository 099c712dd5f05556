// SPDX-License-Identifier: Apache-2.0
// A dump while its chunks are decoded. Chunks come in any order, so what their rows refer to may come later: it waits
// here, as the file has it, until all chunks were decoded. What is out of range is cleared and counted, never followed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/chunk_reader.h"
#include "dump/dump.h"
#include "dump/sort_by_serial.h"
#include "dump/storages.h"
#include "dump/sum_guard.h"

namespace tensorscope::analyzer {

struct Decoding {
  Decoding(Dump& to, std::string file) : dump(to), name(std::move(file)) {}

  // Frames and sites may come in several chunks, in any order: by the id of the first row of each.
  template <typename Row>
  using Parts = std::map<uint32_t, std::vector<Row>>;

  Dump& dump;
  std::string name;                  // of the file, for messages
  std::set<uint32_t> seen;           // types of the chunks that were sound
  const ChunkView* chunk = nullptr;  // the one that is being decoded
  bool end_agrees = false;           // whether the end mark agrees with the chunks before it

  std::map<std::string, uint64_t> left_out;   // what was cleared -> how often
  uint64_t text_budget = uint64_t{64} << 20;  // bytes of text that rows may still repeat; grows with the file
  std::vector<std::string> strings;           // rows have their indexes

  struct Stacks {  // of stacks.cc
    std::vector<std::array<uint32_t, 2>> code_strings;
    std::vector<uint32_t> thread_names;
    Parts<NativeFrame> native;
    Parts<PythonFrame> python;
    Parts<Site> sites;
  } stacks;

  struct TensorStrings {
    uint32_t class_name, grad_fn_name, note;
  };
  struct Tensors {  // of tensors.cc; the first two are parallel to Dump::tensors
    std::vector<TensorStrings> strings;
    std::vector<StorageClaim> claims;
    std::vector<std::pair<uint64_t, uint64_t>> parts;  // serials: owner and part
    SerialIndex by_serial;                             // once they are sorted
  } tensors;

  std::vector<uint32_t> node_names;  // of allocations.cc, parallel to Dump::nodes

  struct SlotRow {
    std::string class_name, name;
    uint16_t ordinal;
  };
  struct GraphRows {                                       // of graph_rows.cc
    std::unordered_map<std::string, uint32_t> classes;     // index into Graph::class_names
    std::vector<uint64_t> node_serials, tensors_of_slots;  // parallel to Graph::nodes and Graph::saved
    std::vector<SlotRow> slots;
  } graph;

  struct ObjectRow {
    uint64_t serial;
    TensorObject object;
  };
  struct WithinRow {
    uint64_t serial;
    uint8_t what;
    std::string text;
  };
  struct ReferenceRows {            // of reference_rows.cc
    std::vector<uint64_t> tensors;  // serials, parallel to References::rows
    std::vector<ObjectRow> objects;
    std::vector<uint64_t> freed;
    std::vector<WithinRow> within;
  } references;

  struct Devices {  // of devices.cc
    SumGuard segments, driver;
    std::set<Device> described;
  } devices;

  void count(const std::string& what, uint64_t times = 1) { left_out[what] += times; }

  // The text, or "" and a count. FlatBuffers may refer to one string many times, and a row's string may be much longer
  // than the row: what is copied is charged against a budget in proportion to the file.
  std::string charged(std::string_view text);
  std::string text(uint32_t index);  // of `strings`

  // Clears what does not exist: the site, the thread. Nothing was made after the dump.
  void check_row(uint32_t& site, uint32_t& thread, uint64_t& created_ns);
  // Its index, once the tensors are sorted; kNone, and counted, if there is none.
  uint32_t tensor_with(uint64_t serial);
  // The index of a class of autograd nodes, "AddmmBackward0".
  uint32_t graph_class(const std::string& class_name);
};

}  // namespace tensorscope::analyzer
