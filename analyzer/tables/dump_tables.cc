// A dump's tensors, what names and holds them, their memory, and the places it was allocated at.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "dump_generated.h"
#include "tables/cells.h"
#include "xxhash.h"

namespace tensorscope::tables {

namespace {

using analyzer::Allocation;
using analyzer::Holder;
using analyzer::Item;
using analyzer::kNone;
using analyzer::Storage;
using analyzer::Tensor;
using enum Type;

// ---- dumps ---------------------------------------------------------------------------------------------------------

const analyzer::Process& process_of(In in) { return in.dump().process; }
const analyzer::Totals& totals_of(In in) { return in.dump().totals; }

constexpr Column kDumps[] = {
    kDumpColumn,
    {"path", text, "file", [](In in, At, Out out) { out.text(in.path()); }},
    {"program", text, "script, module or binary", [](In in, At, Out out) { out.text(process_of(in).program); }},
    {"pid", whole, "process", [](In in, At, Out out) { out.whole(process_of(in).pid); }},
    {"host", text, "machine", [](In in, At, Out out) { text_or_null(out, process_of(in).host); }},
    {"run_id", text, "the same in every file of one process",
     [](In in, At, Out out) { out.text(process_of(in).run_id); }},
    {"rank", whole, "rank in a distributed job",
     [](In in, At, Out out) {
       if (process_of(in).rank >= 0) out.whole(uint64_t(process_of(in).rank));
     }},
    {"local_rank", whole, "rank on its machine",
     [](In in, At, Out out) {
       if (process_of(in).local_rank >= 0) out.whole(uint64_t(process_of(in).local_rank));
     }},
    {"world_size", whole, "processes of the job",
     [](In in, At, Out out) {
       if (process_of(in).world_size >= 0) out.whole(uint64_t(process_of(in).world_size));
     }},
    {"job", text, "the same for all ranks of a job", [](In in, At, Out out) { text_or_null(out, process_of(in).job); }},
    {"step", whole, "optimizer steps so far, or as the program marked them",
     [](In in, At, Out out) {
       if (process_of(in).step >= 0) out.whole(uint64_t(process_of(in).step));
     }},
    {"dump_number", whole, "of the process's dumps, from 1",
     [](In in, At, Out out) { out.whole(process_of(in).dump_number); }},
    {"trigger", text, "why it was written: signal, exit, call, out_of_memory, growth, low_memory",
     [](In in, At, Out out) { out.text(format::EnumNameTrigger(format::Trigger(process_of(in).trigger))); }},
    {"trigger_detail", text, "\"SIGUSR1\", ...",
     [](In in, At, Out out) { text_or_null(out, process_of(in).trigger_detail); }},
    {"dump_unix_ns", whole, "when, nanoseconds since 1970",
     [](In in, At, Out out) { out.whole(process_of(in).dump_unix_ns); }},
    {"dump_ns", whole, "the same on the monotonic clock, as created_ns is",
     [](In in, At, Out out) { out.whole(process_of(in).dump_ns); }},
    {"run_time_ns", whole, "since the process started",
     [](In in, At, Out out) { out.whole(process_of(in).dump_ns - process_of(in).start_ns); }},
    {"torch_version", text, "", [](In in, At, Out out) { text_or_null(out, process_of(in).torch_version); }},
    {"python_version", text, "null: a program without Python",
     [](In in, At, Out out) { text_or_null(out, process_of(in).python_version); }},
    {"tensorscope_version", text, "that wrote it",
     [](In in, At, Out out) { text_or_null(out, process_of(in).tensorscope_version); }},
    {"live_bytes", whole, "live memory: the sum of memory.bytes",
     [](In in, At, Out out) { out.whole(in.opened().accounts.total_bytes()); }},
    {"tensors", whole, "live tensors", [](In in, At, Out out) { out.whole(in.dump().tensors.size()); }},
    {"tensors_made", whole, "tensors so far, live or not",
     [](In in, At, Out out) { out.whole(totals_of(in).tensors_total); }},
    {"resident_bytes", whole, "resident memory of the process",
     [](In in, At, Out out) { out.whole(totals_of(in).resident_bytes); }},
    {"resident_peak_bytes", whole, "its peak",
     [](In in, At, Out out) { out.whole(totals_of(in).resident_peak_bytes); }},
    {"heap_in_use_bytes", whole, "allocated with malloc",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).heap_in_use); }},
    {"heap_free_bytes", whole, "kept by malloc for later",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).heap_free); }},
    {"cgroup_bytes", whole, "in use in the cgroup",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).cgroup_current); }},
    {"cgroup_limit_bytes", whole, "limit of the cgroup",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).cgroup_limit); }},
    {"machine_bytes", whole, "memory of the machine",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).machine_total); }},
    {"machine_available_bytes", whole, "of it available",
     [](In in, At, Out out) { number_or_null(out, totals_of(in).machine_available); }},
    {"profiler_bytes", whole, "memory that tensorscope itself took",
     [](In in, At, Out out) { out.whole(totals_of(in).profiler_bytes); }},
    {"children", whole, "child processes", [](In in, At, Out out) { out.whole(totals_of(in).children); }},
    {"failure", text, "an out-of-memory error: what failed",
     [](In in, At, Out out) {
       if (in.dump().failure) out.text(in.dump().failure->error);
     }},
    {"failure_bytes", whole, "bytes asked for in vain",
     [](In in, At, Out out) {
       if (in.dump().failure) number_or_null(out, in.dump().failure->requested);
     }},
    {"failure_site", whole, "site of the failing call",
     [](In in, At, Out out) {
       if (in.dump().failure) number_or_null(out, in.dump().failure->site);
     }},
};

// ---- memory --------------------------------------------------------------------------------------------------------

const Item& item_at(In in, At at) { return in.opened().accounts.items()[at.index]; }
uint32_t speaker_at(In in, At at) { return in.everything().speaker(uint32_t(at.index)); }

constexpr Column kMemory[] = {
    kDumpColumn,
    {"memory", whole, "number of the row in its dump", [](In, At at, Out out) { out.whole(at.index); }},
    {"bytes", whole, "live bytes; each byte of the dump is in one row, so sums are those of `report`",
     [](In in, At at, Out out) { out.whole(item_at(in, at).bytes); }},
    {"rounding_bytes", whole, "of these: the allocator's rounding",
     [](In in, At at, Out out) { out.whole(item_at(in, at).rounding); }},
    {"outside_bytes", whole, "of these: in no recorded allocation",
     [](In in, At at, Out out) { out.whole(item_at(in, at).outside); }},
    {"device", word, "cpu, cuda:0, ...", [](In in, At at, Out out) { out.text(item_at(in, at).device.text()); }},
    {"category", word, "what it is for, as `report` says; workspace: in no tensor",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       out.text(analyzer::text(tensor == kNone ? analyzer::Category::workspace : in.opened().holders.category(tensor)));
     }},
    {"name", text, "best name of its tensor",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       if (tensor != kNone) text_or_null(out, in.opened().holders.name(tensor));
     }},
    {"module", word, "nn.Module that it belongs to",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       text_or_null(out, tensor == kNone ? in.opened().places.module_path(item_at(in, at).site)
                                         : in.opened().holders.module(tensor));
     }},
    {"holder", word, "what keeps it alive: variable, module, \"autograd graph\", \"C++ only\"",
     [](In in, At at, Out out) {
       const uint32_t tensor = speaker_at(in, at);
       if (tensor == kNone) return;
       const std::vector<Holder>& holders = in.opened().holders.holders(tensor);
       if (!holders.empty()) text_or_null(out, holders.front().root);
     }},
    {"tensor", whole, "tensor that it is described by; null: in no tensor",
     [](In in, At at, Out out) { tensor_or_null(in, out, speaker_at(in, at)); }},
    {"storage", whole, "storage; null: in no tensor",
     [](In in, At at, Out out) {
       if (item_at(in, at).storage != kNone) out.whole(in.dump().storages[item_at(in, at).storage].id);
     }},
    {"allocation", whole, "allocation that it lies in",
     [](In in, At at, Out out) {
       if (item_at(in, at).allocation != kNone) out.whole(in.dump().allocations[item_at(in, at).allocation].serial);
     }},
    {"site", whole, "where it was allocated", [](In in, At at, Out out) { number_or_null(out, item_at(in, at).site); }},
    {"place", word, "the same as one line: \"train.py:57 step\"",
     [](In in, At at, Out out) { place_or_null(in, out, item_at(in, at).site); }},
    {"thread", whole, "thread that allocated it",
     [](In in, At at, Out out) { number_or_null(out, item_at(in, at).thread); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, item_at(in, at).created_ns); }},
    {"age_ns", whole, "before the dump",
     [](In in, At at, Out out) { age_or_null(in, out, item_at(in, at).created_ns); }},
};

// ---- tensors -------------------------------------------------------------------------------------------------------

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
     [](In in, At at, Out out) { out.whole(tensor_at(in, at).nbytes); }},
    {"own_bytes", whole, "live bytes counted at this tensor: its storage's at one of the storage's tensors, else 0",
     [](In in, At at, Out out) {
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
    {"storage", whole, "storage; null: it has no memory",
     [](In in, At at, Out out) {
       const uint32_t storage = tensor_at(in, at).storage;
       if (storage != kNone) out.whole(in.dump().storages[storage].id);
     }},
    {"storage_offset", whole, "in elements",
     [](In in, At at, Out out) {
       const Tensor& tensor = tensor_at(in, at);
       if (knows(tensor, format::TensorKnown::storage)) out.whole(uint64_t(tensor.storage_offset));
     }},
    {"is_view", truth, "a view of another tensor",
     [](In in, At at, Out out) { out.truth(has(tensor_at(in, at), format::TensorFlag::view)); }},
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

template <typename Count>
void each_part(size_t rows, const VisitRow& visit, Count count) {
  for (size_t i = 0; i < rows; ++i) {
    const size_t parts = count(i);
    for (size_t part = 0; part < parts; ++part) {
      if (!visit({.index = i, .part = part})) return;
    }
  }
}

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
    {"kind", word, "python, saved, gradient, view, storage, accumulator, cycle, traceback, part, cpp",
     [](In in, At at, Out out) { out.text(analyzer::text(holder_at(in, at).kind)); }},
    {"holder", text, "the whole reference chain", [](In in, At at, Out out) { out.text(holder_at(in, at).text); }},
    {"root", word, "its beginning", [](In in, At at, Out out) { text_or_null(out, holder_at(in, at).root); }},
    {"node", whole, "autograd node that saved it",
     [](In in, At at, Out out) { index_or_null(out, holder_at(in, at).node); }},
    {"by_tensor", whole, "tensor that holds it: gradient, view, storage",
     [](In in, At at, Out out) { tensor_or_null(in, out, holder_at(in, at).tensor); }},
};

// ---- storages, allocations -----------------------------------------------------------------------------------------

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

// ---- sites, stacks -------------------------------------------------------------------------------------------------

const analyzer::Site& site_at(In in, At at) { return in.dump().sites[at.index]; }
const analyzer::Place& place_at(In in, At at) { return in.place(uint32_t(at.index)); }
const analyzer::Frame& frame_at(In in, At at) { return in.stack(uint32_t(at.index))[at.part]; }
void index_cell(In, At at, Out out) { out.whole(at.index); }

constexpr Column kSites[] = {
    kDumpColumn,
    {"site", whole, "number of the site in this dump; in dumps of one run the same", index_cell},
    {"place", word, "as one line: \"train.py:57 step\"",
     [](In in, At at, Out out) { out.text(place_at(in, at).where); }},
    {"file", word, "", [](In in, At at, Out out) { text_or_null(out, place_at(in, at).file); }},
    {"line", whole, "",
     [](In in, At at, Out out) {
       if (place_at(in, at).frame.line > 0) out.whole(uint64_t(place_at(in, at).frame.line));
     }},
    {"function", word, "", [](In in, At at, Out out) { text_or_null(out, place_at(in, at).function); }},
    {"source", text, "the source line",
     [](In in, At at, Out out) {
       in.place(uint32_t(at.index));
       text_or_null(out, in.opened().places.source_line(uint32_t(at.index)));
     }},
    {"module", word, "nn.Module whose forward runs there",
     [](In in, At at, Out out) { text_or_null(out, in.opened().places.module_path(uint32_t(at.index))); }},
    {"tensors_live", whole, "", [](In in, At at, Out out) { out.whole(site_at(in, at).tensors_live); }},
    {"tensors_made", whole, "so far", [](In in, At at, Out out) { out.whole(site_at(in, at).tensors_total); }},
    {"allocations_live", whole, "", [](In in, At at, Out out) { out.whole(site_at(in, at).allocations_live); }},
    {"allocations_made", whole, "so far", [](In in, At at, Out out) { out.whole(site_at(in, at).allocations_total); }},
    {"bytes_live", whole, "in live allocations", [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_live); }},
    {"bytes_made", whole, "allocated so far", [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_total); }},
    {"bytes_peak", whole, "highest bytes_live so far",
     [](In in, At at, Out out) { out.whole(site_at(in, at).bytes_peak); }},
    {"stack", whole, "number that equal stacks have in any dump of the program (a hash)",
     [](In in, At at, Out out) {
       const std::string& key = in.stack_key(uint32_t(at.index));
       out.whole(XXH3_64bits(key.data(), key.size()));
     }},
};

constexpr Column kStacks[] = {
    kDumpColumn,
    {"site", whole, "site", index_cell},
    {"stack", text, "its frames, outermost first, with ';' between them",
     [](In in, At at, Out out) {
       std::string folded;
       const std::vector<analyzer::Frame>& frames = in.stack(uint32_t(at.index));
       for (size_t i = frames.size(); i-- > 0;) {
         std::string where = in.opened().places.describe(frames[i]).where;
         std::replace(where.begin(), where.end(), ';', ':');
         folded += (folded.empty() ? "" : ";") + where;
       }
       out.text(folded);
     }},
    {"callers", text, "the program's own code that led to the site, innermost first",
     [](In in, At at, Out out) {
       in.stack(uint32_t(at.index));
       text_or_null(out, in.opened().places.callers(uint32_t(at.index)));
     }},
    {"frames", whole, "how many", [](In in, At at, Out out) { out.whole(in.stack(uint32_t(at.index)).size()); }},
};

constexpr Column kFrames[] = {
    kDumpColumn,
    {"site", whole, "site", index_cell},
    {"depth", whole, "0: the innermost", [](In, At at, Out out) { out.whole(at.part); }},
    {"language", word, "python, native",
     [](In in, At at, Out out) {
       out.text(frame_at(in, at).language == analyzer::Frame::Language::python ? "python" : "native");
     }},
    {"function", word, "", [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).function); }},
    {"file", word, "", [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).file); }},
    {"line", whole, "",
     [](In in, At at, Out out) {
       if (frame_at(in, at).line > 0) out.whole(uint64_t(frame_at(in, at).line));
     }},
    {"object", word, "shared object of a native frame",
     [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).object); }},
    {"module", word, "nn.Module whose forward a Python frame runs",
     [](In in, At at, Out out) { text_or_null(out, frame_at(in, at).module); }},
    {"inlined", truth, "", [](In in, At at, Out out) { out.truth(frame_at(in, at).inlined); }},
    {"address", whole, "of a native frame",
     [](In in, At at, Out out) { number_or_null(out, frame_at(in, at).address); }},
};

// ---- modules, threads, options, coverage ---------------------------------------------------------------------------

using NamedModule = std::pair<const uint64_t, analyzer::Dump::ModuleName>;
const NamedModule& module_at(At at) { return *static_cast<const NamedModule*>(at.object); }

constexpr Column kModules[] = {
    kDumpColumn,
    {"module", text, "path: \"model.layers.0.attn\"", [](In, At at, Out out) { out.text(module_at(at).second.path); }},
    {"class", word, "of the nn.Module", [](In, At at, Out out) { text_or_null(out, module_at(at).second.class_name); }},
    {"object", whole, "Python's id()", [](In, At at, Out out) { out.whole(module_at(at).first); }},
};

const analyzer::Thread& thread_at(In in, At at) { return in.dump().threads[at.index]; }

constexpr Column kThreads[] = {
    kDumpColumn,
    {"thread", whole, "number of the thread in this dump", index_cell},
    {"tid", whole, "the system's number", [](In in, At at, Out out) { out.whole(thread_at(in, at).tid); }},
    {"name", text, "", [](In in, At at, Out out) { text_or_null(out, thread_at(in, at).name); }},
    {"alive", truth, "at the dump", [](In in, At at, Out out) { out.truth(thread_at(in, at).alive); }},
};

constexpr Column kOptions[] = {
    kDumpColumn,
    {"option", text, "TENSORSCOPE_...",
     [](In in, At at, Out out) { out.text(process_of(in).options[at.index].first); }},
    {"value", text, "as it took effect",
     [](In in, At at, Out out) { out.text(process_of(in).options[at.index].second); }},
};

const analyzer::Coverage& coverage_at(In in, At at) { return in.dump().coverage[at.index]; }

constexpr Column kCoverage[] = {
    kDumpColumn,
    {"subject", text, "tensors, CPU memory, ...", [](In in, At at, Out out) { out.text(coverage_at(in, at).subject); }},
    {"recorded", word, "yes, partly, no, not_applicable",
     [](In in, At at, Out out) { out.text(format::EnumNameSeen(format::Seen(coverage_at(in, at).seen))); }},
    {"detail", text, "why not", [](In in, At at, Out out) { text_or_null(out, coverage_at(in, at).detail); }},
    {"missed", whole, "events known to be lost", [](In in, At at, Out out) { out.whole(coverage_at(in, at).missed); }},
};

// ---- findings ------------------------------------------------------------------------------------------------------

const analyzer::LeakFinding& finding_at(In in, At at) { return in.findings().findings[at.index]; }

constexpr Column kFindings[] = {
    kDumpColumn,
    {"finding", whole, "number, as `leaks` has them", [](In, At at, Out out) { out.whole(at.index + 1); }},
    {"kind", word, "accumulated-graph, small-view, ... (docs/cli/leaks.md)",
     [](In in, At at, Out out) { out.text(analyzer::name(finding_at(in, at).kind)); }},
    {"bytes", whole, "retained size", [](In in, At at, Out out) { out.whole(finding_at(in, at).bytes); }},
    {"holder", text, "name of the largest holder",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).holders.empty()) out.text(finding_at(in, at).holders.front());
     }},
    {"site", whole, "where it is made; null: at no one place",
     [](In in, At at, Out out) { number_or_null(out, finding_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, finding_at(in, at).site); }},
    {"first_bytes", whole, "in the first dump, where it grows",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).growth.bytes.empty()) out.whole(finding_at(in, at).growth.bytes.front());
     }},
    {"last_bytes", whole, "in the last dump, where it grows",
     [](In in, At at, Out out) {
       if (!finding_at(in, at).growth.bytes.empty()) out.whole(finding_at(in, at).growth.bytes.back());
     }},
    {"tensors", whole, "tensors that it explains",
     [](In in, At at, Out out) { out.whole(finding_at(in, at).tensors.size()); }},
};

constexpr Column kFindingTensors[] = {
    kDumpColumn,
    {"finding", whole, "finding", [](In, At at, Out out) { out.whole(at.index + 1); }},
    {"tensor", whole, "tensor that it explains",
     [](In in, At at, Out out) { tensor_or_null(in, out, finding_at(in, at).tensors[at.part]); }},
};

constexpr Table kTables[] = {
    {"dumps", "The dumps themselves: process, time, totals.", FileKind::dump, kDumps,
     [](In, const VisitRow& visit) { visit({}); }},
    {"memory",
     "Live memory, each byte once: a row for each storage, for each allocation in no tensor, and for each tensor "
     "without "
     "memory.",
     FileKind::dump, kMemory,
     [](In in, const VisitRow& visit) { each_index(in.opened().accounts.items().size(), visit); }},
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
    {"sites", "Allocation sites, with counters since the program started.", FileKind::dump, kSites,
     [](In in, const VisitRow& visit) { each_index(in.dump().sites.size(), visit, 1); }},
    {"stacks", "The call stack of each site as text.", FileKind::dump, kStacks,
     [](In in, const VisitRow& visit) { each_index(in.dump().sites.size(), visit, 1); }},
    {"frames", "The frames of each site's call stack.", FileKind::dump, kFrames,
     [](In in, const VisitRow& visit) {
       each_part(in.dump().sites.size(), visit, [&](size_t i) { return i == 0 ? 0 : in.stack(uint32_t(i)).size(); });
     }},
    {"modules", "nn.Modules whose names are known.", FileKind::dump, kModules,
     [](In in, const VisitRow& visit) {
       for (const NamedModule& module : in.dump().module_names) {
         if (!visit({.object = &module})) return;
       }
     }},
    {"threads", "Threads that allocated something.", FileKind::dump, kThreads,
     [](In in, const VisitRow& visit) { each_index(in.dump().threads.size(), visit, 1); }},
    {"findings",
     "What `leaks` finds: in all dumps together where up to 16 of one run are given (rows of the last one), else in "
     "each "
     "dump alone.",
     FileKind::dump, kFindings, [](In in, const VisitRow& visit) { each_index(in.findings().findings.size(), visit); }},
    {"finding_tensors", "The tensors that findings explain.", FileKind::dump, kFindingTensors,
     [](In in, const VisitRow& visit) {
       each_part(in.findings().findings.size(), visit,
                 [&](size_t i) { return in.findings().findings[i].tensors.size(); });
     }},
    {"options", "The profiler's options.", FileKind::dump, kOptions,
     [](In in, const VisitRow& visit) { each_index(process_of(in).options.size(), visit); }},
    {"coverage", "What was recorded, and what was not.", FileKind::dump, kCoverage,
     [](In in, const VisitRow& visit) { each_index(in.dump().coverage.size(), visit); }},
};

}  // namespace

std::span<const Table> dump_tables() { return kTables; }

}  // namespace tensorscope::tables
