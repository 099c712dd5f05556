// SPDX-License-Identifier: Apache-2.0
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

const Tensor& tensor_at(InputFile& file, const Row& row) { return file.dump().tensors[row.index]; }
bool knows(const Tensor& tensor, format::TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; }
bool has(const Tensor& tensor, format::TensorFlag what) { return (tensor.flags & uint32_t(what)) != 0; }

std::string listed(std::span<const int64_t> numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]";
}

const analyzer::TensorObject* object_of(InputFile& file, const Row& row) {
  return file.dump().references.present ? &file.dump().references.tensors[row.index] : nullptr;
}

constexpr Column kTensors[] = {
    kDumpColumn,
    {"tensor", int64, "id: the number that `list` and `show` use; the same in all dumps of a run",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(tensor_at(file, row).serial); }},
    {"name", text, "best name; all of them are in `names`",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, file.opened().holders.name(uint32_t(row.index)));
     }},
    {"category", dictionary, "what it is for, as `report` says",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(analyzer::text(file.opened().holders.category(uint32_t(row.index))));
     }},
    {"category_source", dictionary, "dump, or inferred (from call stack and lifetime); null: not known",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, analyzer::text(file.opened().holders.category_source(uint32_t(row.index))));
     }},
    {"evidence", text, "why this category",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, file.opened().holders.evidence(uint32_t(row.index)));
     }},
    {"bytes", int64, "of its elements; views and aliases share memory",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (tensor_at(file, row).knows_size()) column.int64(tensor_at(file, row).nbytes);
     }},
    {"own_bytes", int64,
     "live bytes counted at this tensor: its storage's at one of the storage's tensors, else 0; null: not known",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (!tensor_at(file, row).knows_memory()) return;
       const uint32_t item = file.opened().accounts.item_of_tensor(uint32_t(row.index));
       column.int64(file.everything().representative(item) == row.index ? file.opened().accounts.items()[item].bytes
                                                                        : 0);
     }},
    {"dtype", dictionary, "float32, ...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::dtype)) column.text(tensor_at(file, row).dtype_text());
     }},
    {"shape", dictionary, "\"[64, 1024]\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::sizes)) column.text(listed(tensor_at(file, row).sizes));
     }},
    {"strides", dictionary, "in elements",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::strides)) column.text(listed(tensor_at(file, row).strides));
     }},
    {"numel", int64, "elements",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::sizes)) column.int64(uint64_t(tensor_at(file, row).numel));
     }},
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::device)) column.text(tensor_at(file, row).device.text());
     }},
    {"layout", dictionary, "strided, ...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (knows(tensor_at(file, row), format::TensorKnown::layout)) column.text(tensor_at(file, row).layout_text());
     }},
    {"storage", int64, "storage; null: it has no memory, or `memory_is_known` is false",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t storage = tensor_at(file, row).storage;
       if (storage != kNone) column.int64(file.dump().storages[storage].id);
     }},
    {"memory_is_known", boolean, "whether it is known that it has memory, and which",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(tensor_at(file, row).knows_memory()); }},
    {"storage_offset", int64, "in elements",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const Tensor& tensor = tensor_at(file, row);
       if (tensor.knows_offset()) column.int64(uint64_t(tensor.storage_offset));
     }},
    {"is_view", boolean, "a view of another tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (tensor_at(file, row).knows_view()) column.boolean(tensor_at(file, row).is_view());
     }},
    {"requires_grad", boolean, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const Tensor& tensor = tensor_at(file, row);
       if (knows(tensor, format::TensorKnown::requires_grad))
         column.boolean(has(tensor, format::TensorFlag::requires_grad));
     }},
    {"is_leaf", boolean, "",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const Tensor& tensor = tensor_at(file, row);
       if (knows(tensor, format::TensorKnown::leaf)) column.boolean(has(tensor, format::TensorFlag::leaf));
     }},
    {"grad", int64, "tensor that is its .grad",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const Tensor& tensor = tensor_at(file, row);
       if (tensor.grad != 0) tensor_or_null(file, column, file.opened().tensor_at(tensor.grad));
     }},
    {"grad_fn", dictionary, "class of its grad_fn",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, tensor_at(file, row).grad_fn_name);
     }},
    {"version", int64, "changes in place (Tensor._version)",
     [](InputFile& file, const Row& row, ColumnData& column) { index_or_null(column, tensor_at(file, row).version); }},
    {"type", dictionary, "Python class",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::TensorObject* object = object_of(file, row);
       if (object != nullptr && object->known) text_or_null(column, object->type_name);
     }},
    {"class", dictionary, "C++ class",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, tensor_at(file, row).class_name);
     }},
    {"python_id", int64, "Python's id()",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const analyzer::TensorObject* object = object_of(file, row);
       if (object != nullptr) number_or_null(column, object->id);
     }},
    {"address", int64, "of the TensorImpl",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(tensor_at(file, row).address); }},
    {"module", dictionary, "nn.Module that it belongs to",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, file.opened().holders.module(uint32_t(row.index)));
     }},
    {"holders", int64, "how many things keep it alive",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(file.opened().holders.holder_count(uint32_t(row.index)));
     }},
    {"site", int64, "where it was made",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, tensor_at(file, row).site); }},
    {"place", dictionary, "the same as one line: \"train.py:57 step\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, tensor_at(file, row).site);
     }},
    {"thread", int64, "thread that made it",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, tensor_at(file, row).thread); }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, tensor_at(file, row).created_ns);
     }},
    {"age_ns", int64, "before the dump",
     [](InputFile& file, const Row& row, ColumnData& column) {
       age_or_null(file, column, tensor_at(file, row).created_ns);
     }},
    {"note", dictionary, "why something is not known",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, tensor_at(file, row).note); }},
};

const std::vector<std::string>& names_at(InputFile& file, const Row& row) {
  return file.opened().holders.names(uint32_t(row.index));
}
const Holder& holder_at(InputFile& file, const Row& row) {
  return file.opened().holders.holders(uint32_t(row.index))[row.part];
}
void tensor_cell(InputFile& file, const Row& row, ColumnData& column) { column.int64(tensor_at(file, row).serial); }

constexpr Column kNames[] = {
    kDumpColumn,
    {"tensor", int64, "tensor", tensor_cell},
    {"position", int64, "0: the best", [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"name", text, "\"model.fc1.weight\", \"train.py: losses[3]\"",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(names_at(file, row)[row.part]); }},
};

constexpr Column kHolders[] = {
    kDumpColumn,
    {"tensor", int64, "tensor that is held", tensor_cell},
    {"position", int64, "0: the closest",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"kind", dictionary, "python, saved, gradient, view, storage, accumulator, cycle, traceback, part, cpp, unknown",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(analyzer::text(holder_at(file, row).kind));
     }},
    {"holder", text, "the whole reference chain",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(holder_at(file, row).text); }},
    {"root", dictionary, "its beginning",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, holder_at(file, row).root); }},
    {"node", int64, "autograd node that saved it",
     [](InputFile& file, const Row& row, ColumnData& column) { index_or_null(column, holder_at(file, row).node); }},
    {"by_tensor", int64, "tensor that holds it: gradient, view, storage",
     [](InputFile& file, const Row& row, ColumnData& column) {
       tensor_or_null(file, column, holder_at(file, row).tensor);
     }},
};

// ---- storages, allocations ----

const Storage& storage_at(InputFile& file, const Row& row) { return file.dump().storages[row.index]; }
const Allocation& allocation_at(InputFile& file, const Row& row) { return file.dump().allocations[row.index]; }

constexpr Column kStorages[] = {
    kDumpColumn,
    {"storage", int64, "id: the oldest of its tensors",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(storage_at(file, row).id); }},
    {"bytes", int64, "size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(storage_at(file, row).nbytes); }},
    {"own_bytes", int64, "size without what an overlapping storage counts",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(storage_at(file, row).own_nbytes); }},
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(storage_at(file, row).device.text()); }},
    {"kind", dictionary, "allocator, external, shared, pinned, runtime, unknown",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(analyzer::text(storage_at(file, row).kind));
     }},
    {"address", int64, "data pointer",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, storage_at(file, row).data_ptr);
     }},
    {"tensors", int64, "tensors that share it",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(storage_at(file, row).tensors.size()); }},
    {"allocation", int64, "allocation that it lies in",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (storage_at(file, row).allocation != kNone)
         column.int64(file.dump().allocations[storage_at(file, row).allocation].serial);
     }},
    {"runtime_block", int64, "block of the CUDA runtime that it lies in",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const uint32_t block = storage_at(file, row).runtime_block;
       if (block != kNone) column.int64(file.dump().runtime_blocks[block].serial);
     }},
};

constexpr Column kAllocations[] = {
    kDumpColumn,
    {"allocation", int64, "id; the same in all dumps of a run",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(allocation_at(file, row).serial); }},
    {"bytes", int64, "as the allocator accounts it",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(allocation_at(file, row).nbytes); }},
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(allocation_at(file, row).device.text()); }},
    {"kind", dictionary, "heap, mapped, caching, runtime",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameAllocationKind(format::AllocationKind(allocation_at(file, row).kind)));
     }},
    {"address", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(allocation_at(file, row).pointer); }},
    {"storages", int64, "storages that lie in it; 0: memory in no tensor",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(allocation_at(file, row).storages.size());
     }},
    {"site", int64, "where it was allocated",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, allocation_at(file, row).site);
     }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, allocation_at(file, row).site);
     }},
    {"thread", int64, "thread that allocated it",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, allocation_at(file, row).thread);
     }},
    {"seen_node", int64, "autograd node in whose backward it was allocated",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, allocation_at(file, row).node);
     }},
    {"inherited", boolean, "made by the parent process before a fork",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(allocation_at(file, row).inherited); }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, allocation_at(file, row).created_ns);
     }},
    {"age_ns", int64, "before the dump",
     [](InputFile& file, const Row& row, ColumnData& column) {
       age_or_null(file, column, allocation_at(file, row).created_ns);
     }},
};

constexpr Table kTensorTables[] = {
    {"tensors", "Live tensors.", FileKind::dump, kTensors,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().tensors.size(), visit); }},
    {"names", "All names of tensors.", FileKind::dump, kNames,
     [](InputFile& file, const VisitRow& visit) {
       each_part(file.dump().tensors.size(), visit, [&](size_t i) { return names_at(file, {.index = i}).size(); });
     }},
    {"holders", "What keeps tensors alive, the closest first.", FileKind::dump, kHolders,
     [](InputFile& file, const VisitRow& visit) {
       each_part(file.dump().tensors.size(), visit,
                 [&](size_t i) { return file.opened().holders.holders(uint32_t(i)).size(); });
     }},
    {"storages", "Storages of live tensors.", FileKind::dump, kStorages,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().storages.size(), visit); }},
    {"allocations", "Live allocations of torch's allocators.", FileKind::dump, kAllocations,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().allocations.size(), visit); }},
};

}  // namespace

std::span<const Table> tensor_tables() { return kTensorTables; }

}  // namespace tensorscope::tables
