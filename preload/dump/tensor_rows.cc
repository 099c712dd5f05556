// SPDX-License-Identifier: Apache-2.0
#include "dump/tensor_rows.h"

#include <algorithm>
#include <vector>

#include "dump/chunk.h"
#include "dump/tensor_parts.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::dump {

namespace {

// Rows of a chunk: few enough that a dump of a million tensors needs two megabytes, enough that a chunk's head is
// nothing.
constexpr size_t kTensorRows = 4096;
constexpr size_t kTensorSamples = 2048;
static_assert(kTensorRows <= format::kMaxRowsPerChunk);

// Facts of the tensors of one chunk. Filled under table locks: nothing may grow there.
struct TensorBatch {
  const live::TensorEntry* entries = nullptr;
  size_t first = 0;  // index of the chunk's first entry
  torch::MetadataReader* reader = nullptr;
  std::vector<torch::Metadata> facts;
  std::vector<uint32_t> dims_at;
  std::vector<uint8_t> seen;
  std::vector<int64_t> dims;

  void start(size_t begin, size_t size) {
    first = begin;
    dims.clear();
    dims.reserve(size * 2 * torch::kMaxDims);  // untouched pages cost nothing
    std::fill(seen.begin(), seen.end(), 0);
  }
  void look(size_t index) {
    const size_t i = index - first;
    torch::Metadata& m = facts[i];
    reader->read(entries[index].impl, entries[index].released, m);
    seen[i] = 1;
    dims_at[i] = uint32_t(dims.size());
    if (m.sizes != nullptr) dims.insert(dims.end(), m.sizes, m.sizes + m.ndim);
    if (m.strides != nullptr) dims.insert(dims.end(), m.strides, m.strides + m.ndim);
  }
};

// Class names of objects that may be gone by now: their first words are read without faulting. "": not known.
std::vector<const char*> class_names(const std::vector<uint64_t>& objects, torch::MetadataReader* reader) {
  std::vector<uint64_t> addresses;
  for (uint64_t object : objects) {
    if (object != 0) addresses.push_back(object);
  }
  std::vector<uint64_t> words(addresses.size(), 0);
  std::vector<const char*> names(objects.size(), "");
  if (reader == nullptr || !torch::read_words_safely(addresses.data(), words.data(), addresses.size())) return names;
  size_t next = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] != 0) names[i] = reader->classes().by_vtable(words[next++]);
  }
  return names;
}

format::Tensor row_of(const live::TensorEntry& entry, const torch::Metadata& m, const TensorBatch& batch, size_t i,
                      uint32_t flags, StringTable& strings, const char* grad_fn_name) {
  return format::Tensor(entry.serial, reinterpret_cast<uint64_t>(entry.impl), entry.created_ns, m.storage_base,
                        m.storage_nbytes, m.storage_offset, m.numel, m.grad, m.grad_fn, m.known, flags,
                        batch.dims_at[i], entry.site, entry.thread, strings.intern_literal(m.class_name),
                        strings.intern_literal(grad_fn_name), strings.intern_literal(m.note), m.itemsize, m.ndim,
                        m.device_type, m.device_index, m.dtype, m.layout);
}

// One chunk's rows of tensors.
class TensorWriter {
 public:
  TensorWriter(const live::SnapshotView& view, torch::MetadataReader* reader, StringTable& strings,
               const KeptOfTensors& kept)
      : view_(view), reader_(reader), strings_(strings), kept_(kept) {
    const size_t most = std::min(view.tensors.size, kTensorRows);
    batch_.entries = view.tensors.data;
    batch_.reader = reader;
    batch_.facts.resize(most);
    batch_.dims_at.resize(most);
    batch_.seen.resize(most);
    grad_fns_.resize(most);
    outputs_.reserve(most);
    versions_.reserve(most);
    rows_.reserve(most);
  }

  void read(size_t begin, size_t size) {
    batch_.start(begin, size);
    const auto look = [&](size_t index) { batch_.look(index); };
    if (reader_ != nullptr) look_at_live(view_.tensors, begin, begin + size, look);
    grad_fns_.assign(size, 0);
    for (size_t i = 0; i < size; ++i) {
      if (batch_.seen[i]) grad_fns_[i] = batch_.facts[i].grad_fn;
      if (grad_fns_[i] != 0) kept_.grad_fns.push_back(grad_fns_[i]);
    }
    const std::vector<const char*> names = class_names(grad_fns_, reader_);
    rows_.clear();
    owners_.clear();
    outputs_.clear();
    versions_.clear();
    for (size_t i = 0; i < size; ++i) add(begin + i, i, names[i]);
  }

  bool write(ChunkSink& file) const {
    Chunk chunk(format::kTensors, rows_.size() * sizeof(format::Tensor) + batch_.dims.size() * sizeof(int64_t) +
                                      2 * rows_.size() * sizeof(uint32_t) + 256);
    auto values = chunk.builder().CreateVectorOfStructs(rows_);
    auto dims = chunk.builder().CreateVector(batch_.dims);
    const std::vector<format::TensorPart> found =
        reader_ != nullptr ? tensor_parts(view_, owners_, *reader_) : std::vector<format::TensorPart>();
    auto parts = chunk.builder().CreateVectorOfStructs(found);
    flatbuffers::Offset<flatbuffers::Vector<uint32_t>> outputs;
    if (reader_ != nullptr && reader_->torch().output_nr != nullptr) outputs = chunk.builder().CreateVector(outputs_);
    auto versions = chunk.builder().CreateVector(versions_);
    const auto root = format::CreateTensorRows(chunk.builder(), values, dims, parts, outputs, versions);
    return chunk.append_to(file, root);
  }

 private:
  void add(size_t index, size_t i, const char* grad_fn_name) {
    const live::TensorEntry& entry = view_.tensors[index];
    const torch::Metadata& m = batch_.seen[i] ? batch_.facts[i] : nothing_;
    uint32_t flags = m.flags;
    if (!batch_.seen[i]) {
      batch_.dims_at[i] = 0;
      if (reader_ != nullptr) flags |= uint32_t(format::TensorFlag::freed_during_dump);
    }
    if (entry.serial <= view_.fork_serial) flags |= uint32_t(format::TensorFlag::inherited);
    rows_.push_back(row_of(entry, m, batch_, i, flags, strings_, grad_fn_name));
    if (may_have_parts(m)) owners_.push_back(index);
    if (m.output != 0) outputs_.resize(i, 0), outputs_.push_back(m.output);
    if (m.version != 0) versions_.resize(i, 0), versions_.push_back(m.version);
    if (m.storage_nbytes != 0 && kept_.sizes != nullptr) {
      kept_.sizes->push(
          {entry.serial, m.storage_nbytes, m.storage_base, m.storage_base + uint64_t(m.storage_offset) * m.itemsize});
    }
    if (kept_.facts != nullptr) {
      kept_.facts->add({entry.serial,
                        reinterpret_cast<uint64_t>(entry.impl),
                        m.storage_base,
                        m.storage_nbytes,
                        m.grad,
                        entry.site,
                        m.known,
                        flags,
                        {m.device_type, m.device_index},
                        may_have_parts(m)});
    }
  }

  const live::SnapshotView& view_;
  torch::MetadataReader* reader_;
  StringTable& strings_;
  const KeptOfTensors& kept_;
  const torch::Metadata nothing_;
  TensorBatch batch_;
  std::vector<uint64_t> grad_fns_;
  std::vector<uint32_t> outputs_, versions_;  // as long as the last one that is not 0
  std::vector<format::Tensor> rows_;
  std::vector<size_t> owners_;
};

}  // namespace

void learn_layout(const live::SnapshotView& view, torch::MetadataReader& reader) {
  if (reader.layout_known() || view.tensors.size == 0) return;
  torch::LayoutFinder finder(reader.torch(), reader.classes());
  look_at_live(view.tensors, 0, std::min(view.tensors.size, kTensorSamples), [&](size_t index) {
    const live::TensorEntry& entry = view.tensors[index];
    if (!entry.released) finder.add(entry.impl);
  });
  torch::TensorLayout layout;
  const Status found = finder.result(layout);
  reader.use_layout(layout, found.why());
}

bool write_tensors(const live::SnapshotView& view, torch::MetadataReader* reader, StringTable& strings, ChunkSink& file,
                   const KeptOfTensors& kept) {
  TensorWriter writer(view, reader, strings, kept);
  for (size_t begin = 0; begin < view.tensors.size; begin += kTensorRows) {
    writer.read(begin, std::min(kTensorRows, view.tensors.size - begin));
    if (!writer.write(file)) return false;
  }
  return true;
}

bool write_nodes(const live::SnapshotView& view, torch::MetadataReader* reader, StringTable& strings, ChunkSink& file) {
  std::vector<format::Node> rows;
  std::vector<uint32_t> ran;
  for (size_t begin = 0; begin < view.nodes.size; begin += kTensorRows) {
    const size_t size = std::min(kTensorRows, view.nodes.size - begin);
    rows.clear();
    ran.clear();
    for (size_t i = 0; i < size; ++i) {
      const live::NodeEntry& node = view.nodes[begin + i];
      // By the vtable that was there when it was entered: the node itself may be gone.
      const char* name = reader ? reader->classes().by_vtable(reinterpret_cast<uint64_t>(node.vtable)) : "";
      rows.emplace_back(node.serial, reinterpret_cast<uint64_t>(node.node), node.created_ns,
                        strings.intern_literal(name), node.site, node.thread, uint8_t(node.alive));
      if (node.ran_site != 0) ran.resize(i, 0), ran.push_back(node.ran_site);
    }
    Chunk chunk(format::kNodes, rows.size() * sizeof(format::Node) + ran.size() * sizeof(uint32_t) + 256);
    auto values = chunk.builder().CreateVectorOfStructs(rows);
    auto ran_rows = chunk.builder().CreateVector(ran);
    if (!chunk.append_to(file, format::CreateNodeRows(chunk.builder(), values, ran_rows))) return false;
  }
  return true;
}

}  // namespace tensorscope::dump
