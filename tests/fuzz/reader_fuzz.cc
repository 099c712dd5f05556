// SPDX-License-Identifier: Apache-2.0
// The reader against arbitrary bytes. The first byte says what the rest is:
//   'R' a file as it stands: finds little behind the checksums
//   'C' chunks {type, length, payload}, framed here with right checksums: fuzzes the verifier and the row code
//   anything else: numbers from which rows are made that are well-formed FlatBuffers with wild contents
// Whatever comes, read_dump_bytes either refuses or gives a Dump whose every index is in range, and everything that
// works on a Dump works on it.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "cut_chunks.h"
#include "dump/reader.h"
#include "export/export.h"
#include "ownership/holders.h"
#include "support/dump_builder.h"
#include "symbols/symbols.h"
#include "tensorscope/dump_format.h"

namespace {

using namespace tensorscope;
using testing::Chunk;
using testing::DumpBuilder;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_graph(const analyzer::Dump& dump) {
  const analyzer::Graph& graph = dump.graph;
  for (const auto& node : graph.nodes) {
    require(node.class_name < graph.class_names.size());
    require(node.seen == analyzer::kNone || node.seen < dump.nodes.size());
    require(uint64_t(node.first_edge) + node.edge_count <= graph.edges.size());
    require(uint64_t(node.first_saved) + node.saved_count <= graph.saved.size());
  }
  for (const auto& edge : graph.edges) require(edge.node == analyzer::kNoNode || edge.node < graph.nodes.size());
  for (const auto& slot : graph.saved) {
    require((slot.tensor == analyzer::kNone || slot.tensor < dump.tensors.size()) && slot.state <= 2);
  }
  const analyzer::References& references = dump.references;
  if (!references.present) return;
  require(references.tensors.size() == dump.tensors.size() && references.first.size() == dump.tensors.size() + 1);
  require(references.first.back() == references.rows.size());
  for (uint32_t i = 0; i < dump.tensors.size(); i++) {
    for (const auto& reference : references.of(i)) {
      require(reference.tensor == i && (reference.node == analyzer::kNoNode || reference.node < graph.nodes.size()));
      require(reference.root <= 10 && reference.role <= 5);
      reference.line();
    }
  }
  for (const auto& reference : references.nodes) require(reference.node < graph.nodes.size());
}

void check_memory(const analyzer::Dump& dump) {
  uint64_t sum = 0;
  for (const auto& memory : dump.device_memory) {
    require(memory.driver_free <= memory.driver_total && memory.segments_from <= 2);
    for (const auto& segment : memory.segments) {
      require(segment.allocated <= segment.active && segment.active <= segment.size);
      require(uint64_t(segment.first_block) + segment.block_count <= memory.blocks.size());
      require(!__builtin_add_overflow(sum, segment.size, &sum));
      uint64_t from = segment.address;
      for (const auto& block : memory.blocks_of(segment)) {
        require(block.address >= from && block.address + block.size <= segment.address + segment.size);
        require(block.requested <= block.size && block.state <= 2);
        from = block.address + block.size;
      }
    }
  }
  sum = 0;
  for (const auto& block : dump.runtime_blocks) {
    require(block.site < dump.sites.size() && block.thread < dump.threads.size() && block.kind <= 4);
    require(!__builtin_add_overflow(sum, block.nbytes, &sum));
  }
  for (const auto& storage : dump.storages) {
    require(storage.runtime_block == analyzer::kNone || storage.runtime_block < dump.runtime_blocks.size());
  }
  if (!dump.failure) return;
  require(dump.failure->site < dump.sites.size() && dump.failure->thread < dump.threads.size());
  require(dump.failure->node == analyzer::kNone || dump.failure->node < dump.nodes.size());
  require(dump.failure->kind <= 4 && dump.failure->limit <= 5);
}

void check_sources(const analyzer::Dump& dump) {
  const auto& files = dump.sources.files;
  for (size_t i = 0; i < files.size(); i++) {
    require(i == 0 || files[i - 1].path < files[i].path);
    require(!files[i].path.empty() && files[i].state <= 4);
    uint32_t last = 0;
    for (const auto& [number, text] : files[i].lines) {
      require(number > last && number <= INT32_MAX && text.find('\n') == text.npos);
      last = number;
    }
  }
}

void check(const analyzer::Dump& dump) {
  require(!dump.sites.empty() && !dump.threads.empty() && !dump.native_frames.empty() && !dump.python_frames.empty());
  for (size_t i = 1; i < dump.native_frames.size(); i++) require(dump.native_frames[i].parent < i);
  for (size_t i = 1; i < dump.python_frames.size(); i++) require(dump.python_frames[i].parent < i);
  for (const auto& frame : dump.python_frames) require(frame.code < dump.codes.size());
  for (const auto& site : dump.sites) {
    require(site.native < dump.native_frames.size() && site.python < dump.python_frames.size());
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < dump.tensors.size(); i++) {
    const analyzer::Tensor& tensor = dump.tensors[i];
    require(tensor.site < dump.sites.size() && tensor.thread < dump.threads.size());
    require(tensor.storage == analyzer::kNone || tensor.storage < dump.storages.size());
    require(tensor.sizes.size() <= 64 && (tensor.strides.empty() || tensor.strides.size() == tensor.sizes.size()));
    require(i == 0 || dump.tensors[i - 1].serial < tensor.serial);
    require(!__builtin_add_overflow(sum, tensor.nbytes, &sum));
  }
  sum = 0;
  for (const auto& storage : dump.storages) {
    require(!storage.tensors.empty() && storage.own_nbytes <= storage.nbytes);
    require(storage.allocation == analyzer::kNone || storage.allocation < dump.allocations.size());
    for (uint32_t tensor : storage.tensors) require(tensor < dump.tensors.size());
    require(!__builtin_add_overflow(sum, storage.nbytes, &sum));
  }
  sum = 0;
  for (const auto& allocation : dump.allocations) {
    require(allocation.site < dump.sites.size() && allocation.thread < dump.threads.size() && allocation.kind <= 3);
    for (uint32_t storage : allocation.storages) require(storage < dump.storages.size());
    require(!__builtin_add_overflow(sum, allocation.nbytes, &sum));
  }
  for (const auto& node : dump.nodes) require(node.site < dump.sites.size() && node.thread < dump.threads.size());
  check_graph(dump);
  check_sources(dump);
  check_memory(dump);
}

void use(const analyzer::Dump& dump) {
  analyzer::SymbolOptions options;
  options.use_cache = false;
  options.native = false;
  analyzer::Symbols symbols(dump, options);
  for (const auto& frame : dump.python_frames) {
    analyzer::Frame shown;
    shown.file = dump.codes[frame.code].file;
    shown.line = frame.line;
    for (const char c : symbols.source_line(shown)) require(uint8_t(c) >= 0x20 && c != 0x7f);
  }
  // A deep trie makes long stacks of every frame; the export of one is enough.
  if (dump.native_frames.size() > 200 || dump.python_frames.size() > 200) return;
  const analyzer::Holders holders(dump);
  for (uint32_t i = 0; i < dump.tensors.size(); i++) {
    for (const analyzer::Holder& holder : holders.holders(i)) require(!holder.text.empty() && !holder.root.empty());
  }
  exports::ExportOptions options_of_export;
  options_of_export.holders = &holders;
  std::ostringstream out;
  exports::export_json(dump, symbols, out, options_of_export);
  exports::export_csv(dump, symbols, out);
  exports::export_folded(dump, symbols, out);
}

std::string framed_chunks(const uint8_t* data, size_t size) {
  std::vector<Chunk> chunks;
  testing::cut_chunks(data, size, [&](uint32_t type, const uint8_t* payload, size_t length) {
    chunks.push_back({type, std::string(reinterpret_cast<const char*>(payload), length)});
  });
  return DumpBuilder::frame(chunks, !chunks.empty() && chunks.size() % 2 == 0);
}

std::string wild_rows(FuzzedDataProvider& in) {
  DumpBuilder builder;
  // Small numbers collide with each other, extreme ones overflow.
  auto number = [&]() -> uint64_t {
    switch (in.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return in.ConsumeIntegralInRange<uint64_t>(0, 40);
      case 1:
        return in.ConsumeIntegral<uint64_t>();
      case 2:
        return UINT64_MAX - in.ConsumeIntegralInRange<uint64_t>(0, 40);
      default:
        return uint64_t{1} << in.ConsumeIntegralInRange(0, 63);
    }
  };
  auto id = [&] { return in.ConsumeBool() ? in.ConsumeIntegralInRange<uint32_t>(0, 8) : uint32_t(number()); };
  builder.dump_ns = number();
  builder.start_ns = number();
  builder.rows_per_chunk = in.ConsumeIntegralInRange<size_t>(1, 5);
  while (in.remaining_bytes() > 0) {
    switch (in.ConsumeIntegralInRange(0, 16)) {
      case 0:
        builder.native({number()}, id());
        break;
      case 1:
        builder.python({{in.ConsumeRandomLengthString(20), in.ConsumeRandomLengthString(20), int32_t(number()),
                         in.ConsumeBool(), number()}},
                       id());
        break;
      case 2:
        builder.site(id(), id());
        break;
      case 3:
        builder.thread(id(), in.ConsumeRandomLengthString(20));
        break;
      case 4:
        builder.node(number(), in.ConsumeRandomLengthString(60), id(), number());
        break;
      case 5:
        builder.coverage(in.ConsumeBool() ? "CPU memory" : "CUDA memory", format::Seen(in.ConsumeIntegral<uint8_t>()),
                         "", number());
        break;
      case 6:
        builder.shared_object({in.ConsumeRandomLengthString(20), number(), number(), number(),
                               in.ConsumeBytes<uint8_t>(in.ConsumeIntegralInRange(0, 30))});
        break;
      case 7: {
        testing::AllocationSpec block;
        block.serial = number(), block.pointer = number(), block.nbytes = number(), block.node = number();
        block.site = id(), block.thread = id(), block.kind = format::AllocationKind(in.ConsumeIntegralInRange(0, 4));
        block.device_type = in.ConsumeIntegral<int8_t>(), block.device_index = in.ConsumeIntegralInRange<int8_t>(-1, 2);
        builder.allocation(block);
        break;
      }
      case 8: {
        testing::GraphNodeSpec node;
        node.class_name = in.ConsumeRandomLengthString(20);
        node.address = number(), node.serial = number(), node.object = number(), node.sequence = number();
        node.flags = in.ConsumeIntegral<uint8_t>();
        for (int n = in.ConsumeIntegralInRange(0, 4); n > 0; n--) node.edges.emplace_back(id(), id());
        for (int n = in.ConsumeIntegralInRange(0, 4); n > 0; n--) {
          node.saved.push_back({number(), uint16_t(number()), int16_t(number()),
                                format::SlotState(in.ConsumeIntegralInRange(0, 4)), in.ConsumeBool()});
        }
        builder.graph_node(node);
        break;
      }
      case 9: {
        testing::ReferenceSpec reference;
        reference.tensor = number(), reference.text = in.ConsumeRandomLengthString(20);
        reference.scope = in.ConsumeRandomLengthString(20), reference.holder = in.ConsumeRandomLengthString(20);
        reference.root = format::ReferenceRoot(in.ConsumeIntegralInRange(0, 12));
        reference.role = format::ReferenceRole(in.ConsumeIntegralInRange(0, 7));
        reference.steps = uint16_t(number()), reference.node = id();
        builder.reference(reference);
        break;
      }
      case 10:
        builder.tensor_object({number(), in.ConsumeRandomLengthString(20), id(),
                               format::WrapperState(in.ConsumeIntegralInRange(0, 5)), in.ConsumeBool(),
                               in.ConsumeBool()});
        break;
      case 11:
        builder.slot_name(in.ConsumeRandomLengthString(20), uint16_t(number()), in.ConsumeRandomLengthString(20));
        builder.node_reference(id(), in.ConsumeRandomLengthString(20), in.ConsumeRandomLengthString(20),
                               format::ReferenceRoot(in.ConsumeIntegralInRange(0, 12)));
        break;
      case 12: {
        testing::FailureSpec failure;
        failure.kind = format::FailureKind(in.ConsumeIntegralInRange(0, 6));
        failure.limit = format::MemoryLimit(in.ConsumeIntegralInRange(0, 6));
        failure.device_type = in.ConsumeIntegral<int8_t>();
        failure.requested = number(), failure.allocator_allocated = number(), failure.allocator_reserved = number();
        failure.limit_bytes = number(), failure.left_bytes = number(), failure.failed_ns = number();
        failure.site = id(), failure.thread = id(), failure.node = number();
        failure.error = in.ConsumeRandomLengthString(20);
        builder.failure(failure);
        break;
      }
      case 13: {
        testing::DeviceMemorySpec memory;
        memory.device_type = in.ConsumeIntegral<int8_t>();
        memory.device_index = in.ConsumeIntegralInRange<int8_t>(-1, 2);
        memory.driver_total = number(), memory.driver_free = number(), memory.own_bytes = number();
        for (int n = in.ConsumeIntegralInRange(0, 3); n > 0; n--) memory.processes.emplace_back(id(), number());
        for (int n = in.ConsumeIntegralInRange(0, 3); n > 0; n--) {
          testing::SegmentSpec segment;
          segment.address = number(), segment.size = number(), segment.stream = number(), segment.pool = number();
          segment.flags = in.ConsumeIntegral<uint8_t>();
          if (in.ConsumeBool()) segment.allocated = number(), segment.active = number(), segment.requested = number();
          if (in.ConsumeBool()) segment.block_count = id();
          for (int m = in.ConsumeIntegralInRange(0, 4); m > 0; m--) {
            segment.blocks.emplace_back(number(), number(), number(),
                                        format::BlockState(in.ConsumeIntegralInRange(0, 3)));
          }
          memory.segments.push_back(segment);
        }
        builder.device_memory(memory);
        break;
      }
      case 14: {
        testing::RuntimeBlockSpec block;
        block.serial = number(), block.pointer = number(), block.nbytes = number(), block.created_ns = number();
        block.site = id(), block.thread = id(), block.kind = format::RuntimeKind(in.ConsumeIntegralInRange(0, 6));
        block.by_torch = in.ConsumeBool(), block.device_type = in.ConsumeIntegral<int8_t>();
        block.device_index = in.ConsumeIntegralInRange<int8_t>(-1, 2);
        builder.runtime_block(block);
        break;
      }
      case 15: {
        testing::SourceFileSpec file;
        file.path = in.ConsumeRandomLengthString(20);
        file.state = format::SourceState(in.ConsumeIntegralInRange(0, 6));
        file.size = number(), file.hash = number();
        for (int n = in.ConsumeIntegralInRange(0, 4); n > 0; n--) {
          file.lines.emplace_back(id(), in.ConsumeRandomLengthString(60));
        }
        builder.source_file(file);
        break;
      }
      default: {
        testing::TensorSpec tensor;
        tensor.serial = number(), tensor.address = number(), tensor.created_ns = number();
        tensor.storage_base = number(), tensor.storage_nbytes = number() | 1, tensor.storage_offset = int64_t(number());
        tensor.grad = number(), tensor.known = uint32_t(number()), tensor.flags = uint32_t(number());
        for (int n = in.ConsumeIntegralInRange(0, 70); n > 60; n--) tensor.sizes.push_back(int64_t(number() >> 50));
        tensor.strides.assign(tensor.sizes.size(), int64_t(number()));
        tensor.site = id(), tensor.thread = id(), tensor.itemsize = uint16_t(number());
        tensor.class_name = in.ConsumeRandomLengthString(60), tensor.grad_fn_name = in.ConsumeRandomLengthString(60);
        tensor.device_type = in.ConsumeIntegral<int8_t>(),
        tensor.device_index = in.ConsumeIntegralInRange<int8_t>(-1, 2);
        tensor.dtype = in.ConsumeIntegral<int8_t>(), tensor.layout = in.ConsumeIntegral<int8_t>();
        builder.tensor(tensor);
      }
    }
  }
  return builder.bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string file;
  if (data[0] == 'R') {
    file.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  } else if (data[0] == 'C') {
    file = framed_chunks(data + 1, size - 1);
  } else {
    FuzzedDataProvider in(data + 1, size - 1);
    file = wild_rows(in);
  }
  try {
    analyzer::Dump dump = analyzer::read_dump_bytes(file.data(), file.size(), "fuzz.tscope");
    check(dump);
    use(dump);
  } catch (const analyzer::BadInput&) {
  }
  return 0;
}
