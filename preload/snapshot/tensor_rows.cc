#include "snapshot/tensor_rows.h"

#include <algorithm>
#include <vector>

#include "snapshot/chunk.h"
#include "snapshot/metadata/safe_reads.h"
#include "snapshot/tensor_parts.h"

namespace tensorscope::snapshot {

namespace {

// Rows of a chunk: few enough that a dump of a million tensors needs some megabytes, enough that a chunk's head is
// nothing.
constexpr size_t kTensorRows = 16384;
constexpr size_t kTensorSamples = 2048;
static_assert(kTensorRows <= dump::kMaxRowsPerChunk);

// Facts of the tensors of one chunk. Filled under table locks: nothing may grow there.
struct TensorBatch {
  const live::TensorEntry* entries = nullptr;
  size_t first = 0;  // index of the chunk's first entry
  MetadataReader* reader = nullptr;
  std::vector<Metadata> facts;
  std::vector<uint32_t> dims_at;
  std::vector<uint8_t> seen;
  std::vector<int64_t> dims;

  void start(size_t begin, size_t size) {
    first = begin;
    dims.clear();
    dims.reserve(size * 2 * kMaxDims);  // untouched pages cost nothing
    std::fill(seen.begin(), seen.end(), 0);
  }
  void look(size_t index) {
    const size_t i = index - first;
    Metadata& m = facts[i];
    reader->read(entries[index].impl, entries[index].released, m);
    seen[i] = 1;
    dims_at[i] = uint32_t(dims.size());
    if (m.sizes != nullptr) dims.insert(dims.end(), m.sizes, m.sizes + m.ndim);
    if (m.strides != nullptr) dims.insert(dims.end(), m.strides, m.strides + m.ndim);
  }
};

// Class names of objects that may be gone by now: their first words are read without faulting. "": not known.
std::vector<const char*> class_names(const std::vector<uint64_t>& objects, MetadataReader* reader) {
  std::vector<uint64_t> addresses;
  for (uint64_t object : objects) {
    if (object != 0) addresses.push_back(object);
  }
  std::vector<uint64_t> words(addresses.size(), 0);
  std::vector<const char*> names(objects.size(), "");
  if (reader == nullptr || !read_words_safely(addresses.data(), words.data(), addresses.size())) return names;
  size_t next = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] != 0) names[i] = reader->classes().by_vtable(words[next++]);
  }
  return names;
}

dump::Tensor row_of(const live::TensorEntry& entry, const Metadata& m, const TensorBatch& batch, size_t i,
                    uint32_t flags, StringTable& strings, const char* grad_fn_name) {
  return dump::Tensor(entry.serial, reinterpret_cast<uint64_t>(entry.impl), entry.created_ns, m.storage_base,
                      m.storage_nbytes, m.storage_offset, m.numel, m.grad, m.grad_fn, m.known, flags, batch.dims_at[i],
                      entry.site, entry.thread, strings.intern_literal(m.class_name),
                      strings.intern_literal(grad_fn_name), strings.intern_literal(m.note), m.itemsize, m.ndim,
                      m.device_type, m.device_index, m.dtype, m.layout);
}

}  // namespace

void learn_layout(const live::SnapshotView& view, MetadataReader& reader) {
  if (reader.layout_known() || view.tensors.size == 0) return;
  struct Context {
    LayoutFinder finder;
    const live::TensorEntry* entries;
  } context = {LayoutFinder(reader.torch(), reader.classes()), view.tensors.data};
  auto look = [](size_t index, void* pointer) {
    auto* context = static_cast<Context*>(pointer);
    if (!context->entries[index].released) context->finder.add(context->entries[index].impl);
  };
  look_at_live(view.tensors, 0, std::min(view.tensors.size, kTensorSamples), look, &context);
  const char* why = "";
  const TensorLayout layout = context.finder.result(&why);
  reader.use_layout(layout, why);
}

bool write_tensors(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file,
                   const KeptOfTensors& kept) {
  TensorBatch batch;
  batch.entries = view.tensors.data;
  batch.reader = reader;
  const size_t most = std::min(view.tensors.size, kTensorRows);
  batch.facts.resize(most);
  batch.dims_at.resize(most);
  batch.seen.resize(most);
  std::vector<uint64_t> grad_fns(most);
  std::vector<uint32_t> outputs;
  outputs.reserve(most);
  std::vector<dump::Tensor> rows;
  rows.reserve(most);
  std::vector<size_t> owners;
  const Metadata nothing;

  for (size_t begin = 0; begin < view.tensors.size; begin += kTensorRows) {
    const size_t size = std::min(kTensorRows, view.tensors.size - begin);
    batch.start(begin, size);
    auto look = [](size_t index, void* context) { static_cast<TensorBatch*>(context)->look(index); };
    if (reader != nullptr) look_at_live(view.tensors, begin, begin + size, look, &batch);

    grad_fns.assign(size, 0);
    for (size_t i = 0; i < size; ++i) {
      if (batch.seen[i]) grad_fns[i] = batch.facts[i].grad_fn;
      if (grad_fns[i] != 0) kept.grad_fns.push_back(grad_fns[i]);
    }
    const std::vector<const char*> names = class_names(grad_fns, reader);
    rows.clear();
    owners.clear();
    outputs.clear();
    for (size_t i = 0; i < size; ++i) {
      const live::TensorEntry& entry = view.tensors[begin + i];
      const Metadata& m = batch.seen[i] ? batch.facts[i] : nothing;
      uint32_t flags = m.flags;
      if (!batch.seen[i]) {
        batch.dims_at[i] = 0;
        if (reader != nullptr) flags |= uint32_t(dump::TensorFlag::freed_during_dump);
      }
      if (entry.serial <= view.fork_serial) flags |= uint32_t(dump::TensorFlag::inherited);
      rows.push_back(row_of(entry, m, batch, i, flags, strings, names[i]));
      if (may_have_parts(m)) owners.push_back(begin + i);
      if (m.output != 0) outputs.resize(i, 0), outputs.push_back(m.output);
      if (m.storage_nbytes != 0) kept.sizes.push({entry.serial, m.storage_nbytes});
      if (kept.facts != nullptr) {
        kept.facts->add({entry.serial,
                         reinterpret_cast<uint64_t>(entry.impl),
                         m.storage_base,
                         m.storage_nbytes,
                         m.grad,
                         entry.site,
                         m.known,
                         flags,
                         {m.device_type, m.device_index}});
      }
    }
    Chunk chunk(dump::kTensors, rows.size() * sizeof(dump::Tensor) + batch.dims.size() * sizeof(int64_t) +
                                    size * sizeof(uint32_t) + 256);
    auto values = chunk.builder().CreateVectorOfStructs(rows);
    auto dims = chunk.builder().CreateVector(batch.dims);
    const std::vector<dump::TensorPart> found =
        reader != nullptr ? tensor_parts(view, owners, *reader) : std::vector<dump::TensorPart>();
    auto parts = chunk.builder().CreateVectorOfStructs(found);
    flatbuffers::Offset<flatbuffers::Vector<uint32_t>> output_rows;
    if (reader != nullptr && reader->torch().output_nr != nullptr) output_rows = chunk.builder().CreateVector(outputs);
    if (!chunk.append_to(file, dump::CreateTensorRows(chunk.builder(), values, dims, parts, output_rows))) return false;
  }
  return true;
}

bool write_nodes(const live::SnapshotView& view, MetadataReader* reader, StringTable& strings, DumpFile& file) {
  std::vector<dump::Node> rows;
  for (size_t begin = 0; begin < view.nodes.size; begin += kTensorRows) {
    const size_t size = std::min(kTensorRows, view.nodes.size - begin);
    rows.clear();
    for (size_t i = 0; i < size; ++i) {
      const live::NodeEntry& node = view.nodes[begin + i];
      // By the vtable that was there when it was entered: the node itself may be gone.
      const char* name = reader ? reader->classes().by_vtable(reinterpret_cast<uint64_t>(node.vtable)) : "";
      rows.emplace_back(node.serial, reinterpret_cast<uint64_t>(node.node), node.created_ns,
                        strings.intern_literal(name), node.site, node.thread, uint8_t(node.alive));
    }
    Chunk chunk(dump::kNodes, rows.size() * sizeof(dump::Node) + 256);
    auto values = chunk.builder().CreateVectorOfStructs(rows);
    if (!chunk.append_to(file, dump::CreateNodeRows(chunk.builder(), values))) return false;
  }
  return true;
}

}  // namespace tensorscope::snapshot
