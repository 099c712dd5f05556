// A dump's tensors, what names and holds them, and the memory that they lie in.
#include <span>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::Allocation;
using analyzer::Holder;
using analyzer::kNone;
using analyzer::Storage;
using analyzer::Tensor;
using enum Type;

const Tensor& tensor_at(In in, At at) { return in.dump().tensors[at.index]; }
bool knows(const Tensor& tensor, format::TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; }
bool has(const Tensor& tensor, format::TensorFlag what) { return (tensor.flags & uint32_t(what)) != 0; }

std::string listed(std::span<const int64_t> numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]";
}

const analyzer::TensorObject* object_of(In in, At at) {
  return in.dump().references.present ? &in.dump().references.tensors[at.index] : nullptr;
}

constexpr Column kTensors[] = {
    kDumpColumn,
    {"tensor", whole, "id: the number that `list` and `show` use; the same in all dumps of a run",
     [](In in, At at, Out out) { out.whole(tensor_at(in, at).serial); }},
    {"name", text, "best name; all of them are in `names`",
     [](In in, At at, Out out) { text_or_null(out, in.opened().holders.name(uint32_t(at.index))); }},
    {"category", word, "what it is for, as `report` says",
     [](In in, At at, Out out) { out.text(analyzer::text(in.opened().holders.category(uint32_t(at.index)))); }},
    {"category_source", word, "dump, or inferred (from call stack and lifetime); null: not known",
     [](In in, At at, Out out) {
       text_or_null(out, analyzer::text(in.opened().holders.category_source(uint32_t(at.index))));
     }},
    {"evidence", text, "why this category",
     [](In in, At at, Out out) { text_or_null(out, in.opened().holders.evidence(uint32_t(at.index))); }},
    {"bytes", whole, "of its elements; views and aliases share memory",
     [](In in, At at, Out out) {
       if (tensor_at(in, at).knows_size()) out.whole(tensor_at(in, at).nbytes);
     }},
    {"own_bytes", whole,
     "live bytes counted at this tensor: its storage's at one of the storage's tensors, else 0; null: not known",
     [](In in, At at, Out out) {
       if (!tensor_at(in, at).knows_memory()) return;
       const uint32_t item = in.opened().accounts.item_of_tensor(uint32_t(at.index));
       out.whole(in.everything().speaker(item) == at.index ? in.opened().accounts.items()[item].bytes : 0);
     }},
    {"dtype", word, "float32, ...",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::dtype)) out.text(tensor_at(in, at).dtype_text());
     }},
    {"shape", word, "\"[64, 1024]\"",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::sizes)) out.text(listed(tensor_at(in, at).sizes));
     }},
    {"strides", word, "in elements",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::strides)) out.text(listed(tensor_at(in, at).strides));
     }},
    {"numel", whole, "elements",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::sizes)) out.whole(uint64_t(tensor_at(in, at).numel));
     }},
    {"device", word, "cpu, cuda:0, ...",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::device)) out.text(tensor_at(in, at).device.text());
     }},
    {"layout", word, "strided, ...",
     [](In in, At at, Out out) {
       if (knows(tensor_at(in, at), format::TensorKnown::layout)) out.text(tensor_at(in, at).layout_text());
     }},
    {"storage", whole, "storage; null: it has no memory, or `memory_is_known` is false",
     [](In in, At at, Out out) {
       const uint32_t storage = tensor_at(in, at).storage;
       if (storage != kNone) out.whole(in.dump().storages[storage].id);
     }},
    {"memory_is_known", truth, "whether it is known that it has memory, and which",
     [](In in, At at, Out out) { out.truth(tensor_at(in, at).knows_memory()); }},
    {"storage_offset", whole, "in elements",
     [](In in, At at, Out out) {
       const Tensor& tensor = tensor_at(in, at);
       if (tensor.knows_offset()) out.whole(uint64_t(tensor.storage_offset));
     }},
    {"is_view", truth, "a view of another tensor",
     [](In in, At at, Out out) {
       if (tensor_at(in, at).knows_view()) out.truth(tensor_at(in, at).is_view());
     }},
    {"requires_grad", truth, "",
     [](In in, At at, Out out) {
       const Tensor& tensor = tensor_at(in, at);
       if (knows(tensor, format::TensorKnown::requires_grad)) out.truth(has(tensor, format::TensorFlag::requires_grad));
     }},
    {"is_leaf", truth, "",
     [](In in, At at, Out out) {
       const Tensor& tensor = tensor_at(in, at);
       if (knows(tensor, format::TensorKnown::leaf)) out.truth(has(tensor, format::TensorFlag::leaf));
     }},
    {"grad", whole, "tensor that is its .grad",
     [](In in, At at, Out out) {
       const Tensor& tensor = tensor_at(in, at);
       if (tensor.grad != 0) tensor_or_null(in, out, in.opened().tensor_at(tensor.grad));
     }},
    {"grad_fn", word, "class of its grad_fn",
     [](In in, At at, Out out) { text_or_null(out, tensor_at(in, at).grad_fn_name); }},
    {"version", whole, "changes in place (Tensor._version)",
     [](In in, At at, Out out) { index_or_null(out, tensor_at(in, at).version); }},
    {"type", word, "Python class",
     [](In in, At at, Out out) {
       const analyzer::TensorObject* object = object_of(in, at);
       if (object != nullptr && object->known) text_or_null(out, object->type_name);
     }},
    {"class", word, "C++ class", [](In in, At at, Out out) { text_or_null(out, tensor_at(in, at).class_name); }},
    {"python_id", whole, "Python's id()",
     [](In in, At at, Out out) {
       const analyzer::TensorObject* object = object_of(in, at);
       if (object != nullptr) number_or_null(out, object->id);
     }},
    {"address", whole, "of the TensorImpl", [](In in, At at, Out out) { out.whole(tensor_at(in, at).address); }},
    {"module", word, "nn.Module that it belongs to",
     [](In in, At at, Out out) { text_or_null(out, in.opened().holders.module(uint32_t(at.index))); }},
    {"holders", whole, "how many things keep it alive",
     [](In in, At at, Out out) { out.whole(in.opened().holders.holder_count(uint32_t(at.index))); }},
    {"site", whole, "where it was made", [](In in, At at, Out out) { number_or_null(out, tensor_at(in, at).site); }},
    {"place", word, "the same as one line: \"train.py:57 step\"",
     [](In in, At at, Out out) { place_or_null(in, out, tensor_at(in, at).site); }},
    {"thread", whole, "thread that made it",
     [](In in, At at, Out out) { number_or_null(out, tensor_at(in, at).thread); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, tensor_at(in, at).created_ns); }},
    {"age_ns", whole, "before the dump",
     [](In in, At at, Out out) { age_or_null(in, out, tensor_at(in, at).created_ns); }},
    {"note", word, "why something is not known",
     [](In in, At at, Out out) { text_or_null(out, tensor_at(in, at).note); }},
};

const std::vector<std::string>& names_at(In in, At at) { return in.opened().holders.names(uint32_t(at.index)); }
const Holder& holder_at(In in, At at) { return in.opened().holders.holders(uint32_t(at.index))[at.part]; }
void tensor_cell(In in, At at, Out out) { out.whole(tensor_at(in, at).serial); }

constexpr Column kNames[] = {
    kDumpColumn,
    {"tensor", whole, "tensor", tensor_cell},
    {"position", whole, "0: the best", [](In, At at, Out out) { out.whole(at.part); }},
    {"name", text, "\"model.fc1.weight\", \"train.py: losses[3]\"",
     [](In in, At at, Out out) { out.text(names_at(in, at)[at.part]); }},
};

constexpr Column kHolders[] = {
    kDumpColumn,
    {"tensor", whole, "tensor that is held", tensor_cell},
    {"position", whole, "0: the closest", [](In, At at, Out out) { out.whole(at.part); }},
    {"kind", word, "python, saved, gradient, view, storage, accumulator, cycle, traceback, part, cpp, unknown",
     [](In in, At at, Out out) { out.text(analyzer::text(holder_at(in, at).kind)); }},
    {"holder", text, "the whole reference chain", [](In in, At at, Out out) { out.text(holder_at(in, at).text); }},
    {"root", word, "its beginning", [](In in, At at, Out out) { text_or_null(out, holder_at(in, at).root); }},
    {"node", whole, "autograd node that saved it",
     [](In in, At at, Out out) { index_or_null(out, holder_at(in, at).node); }},
    {"by_tensor", whole, "tensor that holds it: gradient, view, storage",
     [](In in, At at, Out out) { tensor_or_null(in, out, holder_at(in, at).tensor); }},
};

// ---- storages, allocations ----

const Storage& storage_at(In in, At at) { return in.dump().storages[at.index]; }
const Allocation& allocation_at(In in, At at) { return in.dump().allocations[at.index]; }

constexpr Column kStorages[] = {
    kDumpColumn,
    {"storage", whole, "id: the oldest of its tensors",
     [](In in, At at, Out out) { out.whole(storage_at(in, at).id); }},
    {"bytes", whole, "size", [](In in, At at, Out out) { out.whole(storage_at(in, at).nbytes); }},
    {"own_bytes", whole, "size without what an overlapping storage counts",
     [](In in, At at, Out out) { out.whole(storage_at(in, at).own_nbytes); }},
    {"device", word, "cpu, cuda:0, ...", [](In in, At at, Out out) { out.text(storage_at(in, at).device.text()); }},
    {"kind", word, "allocator, external, shared, pinned, runtime, unknown",
     [](In in, At at, Out out) { out.text(analyzer::text(storage_at(in, at).kind)); }},
    {"address", whole, "data pointer", [](In in, At at, Out out) { number_or_null(out, storage_at(in, at).data_ptr); }},
    {"tensors", whole, "tensors that share it",
     [](In in, At at, Out out) { out.whole(storage_at(in, at).tensors.size()); }},
    {"allocation", whole, "allocation that it lies in",
     [](In in, At at, Out out) {
       if (storage_at(in, at).allocation != kNone)
         out.whole(in.dump().allocations[storage_at(in, at).allocation].serial);
     }},
    {"runtime_block", whole, "block of the CUDA runtime that it lies in",
     [](In in, At at, Out out) {
       const uint32_t block = storage_at(in, at).runtime_block;
       if (block != kNone) out.whole(in.dump().runtime_blocks[block].serial);
     }},
};

constexpr Column kAllocations[] = {
    kDumpColumn,
    {"allocation", whole, "id; the same in all dumps of a run",
     [](In in, At at, Out out) { out.whole(allocation_at(in, at).serial); }},
    {"bytes", whole, "as the allocator accounts it",
     [](In in, At at, Out out) { out.whole(allocation_at(in, at).nbytes); }},
    {"device", word, "cpu, cuda:0, ...", [](In in, At at, Out out) { out.text(allocation_at(in, at).device.text()); }},
    {"kind", word, "heap, mapped, caching, runtime",
     [](In in, At at, Out out) {
       out.text(format::EnumNameAllocationKind(format::AllocationKind(allocation_at(in, at).kind)));
     }},
    {"address", whole, "", [](In in, At at, Out out) { out.whole(allocation_at(in, at).pointer); }},
    {"storages", whole, "storages that lie in it; 0: memory in no tensor",
     [](In in, At at, Out out) { out.whole(allocation_at(in, at).storages.size()); }},
    {"site", whole, "where it was allocated",
     [](In in, At at, Out out) { number_or_null(out, allocation_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, allocation_at(in, at).site); }},
    {"thread", whole, "thread that allocated it",
     [](In in, At at, Out out) { number_or_null(out, allocation_at(in, at).thread); }},
    {"seen_node", whole, "autograd node in whose backward it was allocated",
     [](In in, At at, Out out) { number_or_null(out, allocation_at(in, at).node); }},
    {"inherited", truth, "made by the parent process before a fork",
     [](In in, At at, Out out) { out.truth(allocation_at(in, at).inherited); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, allocation_at(in, at).created_ns); }},
    {"age_ns", whole, "before the dump",
     [](In in, At at, Out out) { age_or_null(in, out, allocation_at(in, at).created_ns); }},
};

constexpr Table kTensorTables[] = {
    {"tensors", "Live tensors.", FileKind::dump, kTensors,
     [](In in, const VisitRow& visit) { each_index(in.dump().tensors.size(), visit); }},
    {"names", "All names of tensors.", FileKind::dump, kNames,
     [](In in, const VisitRow& visit) {
       each_part(in.dump().tensors.size(), visit, [&](size_t i) { return names_at(in, {.index = i}).size(); });
     }},
    {"holders", "What keeps tensors alive, the closest first.", FileKind::dump, kHolders,
     [](In in, const VisitRow& visit) {
       each_part(in.dump().tensors.size(), visit,
                 [&](size_t i) { return in.opened().holders.holders(uint32_t(i)).size(); });
     }},
    {"storages", "Storages of live tensors.", FileKind::dump, kStorages,
     [](In in, const VisitRow& visit) { each_index(in.dump().storages.size(), visit); }},
    {"allocations", "Live allocations of torch's allocators.", FileKind::dump, kAllocations,
     [](In in, const VisitRow& visit) { each_index(in.dump().allocations.size(), visit); }},
};

}  // namespace

std::span<const Table> tensor_tables() { return kTensorTables; }

}  // namespace tensorscope::tables
