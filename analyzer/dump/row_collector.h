// Takes the payloads of sound chunks in any order, verifies each as a FlatBuffer, and turns their rows into a Dump
// whose every index is in range. What is out of range is cleared and counted, never followed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump/chunk_reader.h"
#include "dump/dump.h"
#include "dump/sort_by_serial.h"
#include "dump/storages.h"
#include "dump/sum_guard.h"

namespace tensorscope::format {
struct GraphRows;
struct ProcessMemory;
struct References;
struct SourceFile;
enum class ReferenceRoot : uint8_t;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

class OwnTexts;  // of a chunk

class RowCollector {
 public:
  RowCollector(Dump& dump, std::string name) : dump_(dump), name_(std::move(name)) {}

  void add(const ChunkView& chunk);

  bool has_process() const { return seen_.count(process_type()) != 0; }
  // True once an end chunk came that agrees with what was counted.
  bool end_agrees() const { return end_agrees_; }

  // Resolves all references, sorts, and builds the storages. Call once, after the last chunk.
  void finish();

  // The parts that every dump has and this one has not: "sites, tensors".
  std::string missing() const;
  // What finish() and the chunks left out because it cannot be: "3 references to missing sites".
  std::string cleared() const;

 private:
  // Strings of rows, as indexes until the string table is known.
  struct TensorStrings {
    uint32_t class_name, grad_fn_name, note;
  };
  // Trie frames and sites may come in several chunks, in any order.
  template <typename Row>
  struct Pieces {
    std::map<uint32_t, std::vector<Row>> by_first;
  };

  static uint32_t process_type();
  bool first_of_its_kind(const ChunkView& chunk);
  template <typename Root>
  const Root* verified(const ChunkView& chunk);
  template <typename Row>
  void join(Pieces<Row>& pieces, std::vector<Row>& out, const char* what);
  std::string text(uint32_t index);
  std::string charged(std::string_view text);
  void check_row(uint32_t& site, uint32_t& thread, uint64_t& created_ns);
  void count(const std::string& what, uint64_t times = 1) { counts_[what] += times; }

  void add_process(const ChunkView& chunk);
  void add_strings(const ChunkView& chunk);
  void add_modules(const ChunkView& chunk);
  void add_codes(const ChunkView& chunk);
  void add_native(const ChunkView& chunk);
  void add_python(const ChunkView& chunk);
  void add_sites(const ChunkView& chunk);
  void add_threads(const ChunkView& chunk);
  void add_tensors(const ChunkView& chunk);
  void add_allocations(const ChunkView& chunk);
  void add_nodes(const ChunkView& chunk);
  void add_totals(const ChunkView& chunk);
  void add_steps(const ChunkView& chunk);
  void add_coverage(const ChunkView& chunk);
  void add_names(const ChunkView& chunk);
  void add_graph(const ChunkView& chunk);
  std::pair<size_t, size_t> add_graph_nodes(const format::GraphRows& in);
  void add_saved_slots(const format::GraphRows& in, size_t slots);
  void add_references(const ChunkView& chunk);
  Beginning beginning_of(const format::References& in, const flatbuffers::Vector<uint32_t>* calls,
                         const flatbuffers::Vector<uint32_t>* objects, size_t number);
  void add_reference_rows(const format::References& in, const OwnTexts& texts);
  void add_tensor_objects(const format::References& in, const OwnTexts& texts);
  void add_slot_names(const format::References& in, const OwnTexts& texts);
  std::string own_text(const OwnTexts& texts, uint32_t index);
  bool sound_root(format::ReferenceRoot root);
  void add_failure(const ChunkView& chunk);
  void add_device_memory(const ChunkView& chunk);
  void add_runtime_blocks(const ChunkView& chunk);
  void add_driver_memory(const ChunkView& chunk);
  void add_launches(const ChunkView& chunk);
  void add_sources(const ChunkView& chunk);
  void add_source_file(const format::SourceFile& row);
  void add_process_parts(const ChunkView& chunk);
  void add_shared_memory(const format::ProcessMemory& in, ProcessParts& out);
  void add_process_groups(const ChunkView& chunk);
  void add_end(const ChunkView& chunk);

  void finish_codes_and_threads();
  void finish_stacks();
  std::vector<uint32_t> leave_interpreters_frames_out();
  void finish_tensors();
  void finish_allocations_and_nodes();
  void finish_memory();
  void check_segments(DeviceMemory& memory, const std::vector<uint32_t>& block_counts);
  void check_driver(DeviceMemory& memory);
  void finish_cupti();
  void finish_graph();
  void measure_sparse_tensors();
  void finish_references();
  void sort_references();
  bool sound_node(uint32_t& node);  // what does not exist becomes kNoNode
  void name_functions();
  void index_tensors() { tensor_serials_.assign(dump_.tensors); }
  uint32_t tensor_with(uint64_t serial);  // its index; kNone, and counted, where there is none
  uint32_t graph_class(const std::string& name);
  static std::string node_class(std::string_view name);

  Dump& dump_;
  std::string name_;
  std::set<uint32_t> seen_;
  std::map<std::string, uint64_t> counts_;     // what was cleared -> how often
  uint64_t text_budget_ = uint64_t{64} << 20;  // bytes of text that rows may still repeat; grows with the file
  bool end_agrees_ = false;

  std::vector<std::string> strings_;
  std::vector<std::array<uint32_t, 2>> code_strings_;
  std::vector<uint32_t> thread_names_;
  Pieces<NativeFrame> native_;
  Pieces<PythonFrame> python_;
  Pieces<Site> sites_;
  std::vector<TensorStrings> tensor_strings_;
  std::vector<StorageClaim> claims_;
  SerialIndex tensor_serials_;
  std::vector<uint32_t> node_strings_;
  std::unordered_map<std::string, uint32_t> graph_classes_;
  // Rows name tensors and nodes by serial until those are sorted: parallel to Graph::nodes, Graph::saved and
  // References::rows.
  std::vector<uint64_t> graph_serials_, saved_serials_, reference_serials_;
  struct ObjectRow {
    uint64_t serial;
    TensorObject object;
  };
  std::vector<ObjectRow> objects_;
  std::vector<uint64_t> freed_serials_;
  std::vector<std::pair<uint64_t, uint64_t>> part_serials_;
  struct WithinRow {
    uint64_t serial;
    uint8_t what;
    std::string text;
  };
  std::vector<WithinRow> within_;
  struct SlotRow {
    std::string class_name, name;
    uint16_t ordinal;
  };
  std::vector<SlotRow> slots_;
  SumGuard segments_, driver_;  // over all devices
  std::set<Device> described_;
};

}  // namespace tensorscope::analyzer
