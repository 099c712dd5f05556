#include "dump/row_collector.h"

#include <algorithm>

#include "dump/row_collector_verify.h"
#include "dump_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxDims = 64;  // as at::Tensor itself: TensorImpl::sizes_and_strides with more is no real tensor

std::string hex(const flatbuffers::Vector<uint8_t>* bytes) {
  constexpr size_t kMaxBuildId = 64;
  std::string out;
  if (!bytes || bytes->size() > kMaxBuildId) return out;
  for (uint8_t byte : *bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace

uint32_t RowCollector::process_type() { return format::kProcess; }

void RowCollector::add(const ChunkView& chunk) {
  text_budget_ += 8 * chunk.length;
  switch (chunk.type) {
    case format::kProcess:
      return add_process(chunk);
    case format::kStrings:
      return add_strings(chunk);
    case format::kSharedObjects:
      return add_modules(chunk);
    case format::kCodes:
      return add_codes(chunk);
    case format::kNativeFrames:
      return add_native(chunk);
    case format::kPythonFrames:
      return add_python(chunk);
    case format::kSites:
      return add_sites(chunk);
    case format::kThreads:
      return add_threads(chunk);
    case format::kTensors:
      return add_tensors(chunk);
    case format::kAllocations:
      return add_allocations(chunk);
    case format::kNodes:
      return add_nodes(chunk);
    case format::kTotals:
      return add_totals(chunk);
    case format::kSteps:
      return add_steps(chunk);
    case format::kCoverage:
      return add_coverage(chunk);
    case format::kNames:
      return add_names(chunk);
    case format::kGraph:
      return add_graph(chunk);
    case format::kReferences:
      return add_references(chunk);
    case format::kFailure:
      return add_failure(chunk);
    case format::kDeviceMemory:
      return add_device_memory(chunk);
    case format::kRuntimeBlocks:
      return add_runtime_blocks(chunk);
    case format::kDriverMemory:
      return add_driver_memory(chunk);
    case format::kLaunches:
      return add_launches(chunk);
    case format::kSourceLines:
      return add_sources(chunk);
    case format::kProcessMemory:
      return add_process_parts(chunk);
    case format::kProcessGroups:
      return add_process_groups(chunk);
    case format::kEnd:
      return add_end(chunk);
    default:
      return;  // of a later minor version
  }
}

bool RowCollector::first_of_its_kind(const ChunkView& chunk) {
  if (!seen_.count(chunk.type)) return true;
  dump_.problems.push_back("a second '" + chunk_name(chunk.type) + "' chunk at byte " + with_commas(chunk.offset) +
                           " of " + name_ + " was ignored.");
  return false;
}

// FlatBuffers may refer to one string many times, and a row's string may be much longer than the row: what is copied
// is charged against a budget in proportion to the file.
std::string RowCollector::charged(std::string_view text) {
  if (text.size() < sizeof(std::string)) return std::string(text);
  if (text.size() > text_budget_) {
    count("too many repeated texts");
    return {};
  }
  text_budget_ -= text.size();
  return std::string(text);
}

std::string RowCollector::text(uint32_t index) {
  if (index < strings_.size()) return charged(strings_[index]);
  count("references to missing texts");
  return {};
}

void RowCollector::add_process(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Process>(chunk);
  if (!in) return;
  auto str = [&](const flatbuffers::String* s) { return s ? charged(s->string_view()) : std::string(); };
  Process& out = dump_.process;
  out.pid = in->pid();
  out.parent_pid = in->parent_pid();
  out.forked_from = in->forked_from();
  out.program = str(in->program());
  out.executable = str(in->executable());
  out.working_directory = str(in->working_directory());
  out.host = str(in->host());
  out.run_id = str(in->run_id());
  if (in->command_line()) {
    for (const auto* word : *in->command_line()) out.command_line.push_back(str(word));
  }
  out.start_unix_ns = in->start_unix_ns();
  out.dump_unix_ns = std::max(in->dump_unix_ns(), in->start_unix_ns());
  out.start_ns = in->start_ns();
  out.dump_ns = std::max(in->dump_ns(), in->start_ns());
  out.trigger = int(in->trigger());
  out.trigger_detail = str(in->trigger_detail());
  out.dump_number = in->dump_number();
  out.rank = in->rank();
  out.local_rank = in->local_rank();
  out.world_size = in->world_size();
  out.torch_version = str(in->torch_version());
  out.python_version = str(in->python_version());
  out.tensorscope_version = str(in->tensorscope_version());
  if (in->options()) {
    for (const auto* pair : *in->options()) out.options.emplace_back(str(pair->key()), str(pair->value()));
  }
  out.snapshot_serial = in->snapshot_serial();
  out.fork_serial = in->fork_serial();
  out.attached_ns = in->attached_ns();
  out.earlier_site = in->earlier_site();
  out.earlier_tensors = in->earlier_tensors();
  out.earlier_detail = str(in->earlier_detail());
  out.step = std::max<int64_t>(in->step(), -1);
  out.job = str(in->job());
}

void RowCollector::add_strings(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Strings>(chunk);
  if (!in || !in->values()) return;
  for (const auto* value : *in->values()) strings_.push_back(charged(value->string_view()));
}

void RowCollector::add_modules(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::SharedObjects>(chunk);
  if (!in || !in->values()) return;
  for (const auto* value : *in->values()) {
    if (value->begin() >= value->end()) {
      count("shared objects without addresses");
      continue;
    }
    dump_.shared_objects.push_back({value->path() ? charged(value->path()->string_view()) : "", value->load_bias(),
                                    value->begin(), value->end(), hex(value->build_id())});
  }
  std::stable_sort(dump_.shared_objects.begin(), dump_.shared_objects.end(),
                   [](const SharedObject& a, const SharedObject& b) { return a.begin < b.begin; });
}

void RowCollector::add_codes(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Codes>(chunk);
  if (!in || !in->values()) return;
  for (const format::Code* value : *in->values()) {
    dump_.codes.push_back({"", "", value->first_line()});
    code_strings_.push_back({value->file(), value->name()});
  }
}

void RowCollector::add_native(const ChunkView& chunk) {
  const auto* in = verified<format::NativeFrames>(chunk);
  if (!in || !in->values()) return;
  std::vector<NativeFrame> rows;
  rows.reserve(in->values()->size());
  for (const format::NativeFrame* value : *in->values()) rows.push_back({value->address(), value->parent()});
  if (!native_.by_first.try_emplace(in->first(), std::move(rows)).second) count("repeated table chunks");
}

void RowCollector::add_python(const ChunkView& chunk) {
  const auto* in = verified<format::PythonFrames>(chunk);
  if (!in || !in->values()) return;
  std::vector<PythonFrame> rows;
  rows.reserve(in->values()->size());
  for (const format::PythonFrame* value : *in->values()) {
    rows.push_back(
        {value->module_object(), value->parent(), value->code(), std::max(value->line(), 0), value->entry() != 0});
  }
  if (!python_.by_first.try_emplace(in->first(), std::move(rows)).second) count("repeated table chunks");
}

void RowCollector::add_sites(const ChunkView& chunk) {
  const auto* in = verified<format::Sites>(chunk);
  if (!in || !in->values()) return;
  std::vector<Site> rows;
  rows.reserve(in->values()->size());
  for (const format::Site* value : *in->values()) {
    rows.push_back({value->tensors_live(), value->tensors_total(), value->allocations_live(),
                    value->allocations_total(), value->bytes_live(), value->bytes_total(), value->bytes_peak(),
                    value->native(), value->python()});
  }
  if (!sites_.by_first.try_emplace(in->first(), std::move(rows)).second) count("repeated table chunks");
}

void RowCollector::add_threads(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Threads>(chunk);
  if (!in || !in->values()) return;
  for (const format::Thread* value : *in->values()) {
    dump_.threads.push_back({value->tid(), "", value->alive() != 0});
    thread_names_.push_back(value->name());
  }
}

void RowCollector::add_tensors(const ChunkView& chunk) {
  const auto* in = verified<format::TensorRows>(chunk);
  if (!in || !in->values()) return;
  const size_t dims_size = in->dims() ? in->dims()->size() : 0;
  auto bit = [](format::TensorKnown known) { return uint32_t(known); };
  const size_t rows = in->values()->size();
  make_room(dump_.tensors, rows);
  make_room(tensor_strings_, rows);
  make_room(claims_, rows);
  const int64_t* all_dims = nullptr;
  if (dims_size != 0) {
    all_dims = dump_.dims.emplace_back(in->dims()->data(), in->dims()->data() + dims_size).data();
  }
  flatbuffers::uoffset_t number = 0;
  for (const format::Tensor* row : *in->values()) {
    const flatbuffers::uoffset_t at = number++;
    if (row->serial() == 0) {
      count("tensors without an id");
      continue;
    }
    Tensor& tensor = dump_.tensors.emplace_back();
    tensor.serial = row->serial();
    tensor.address = row->address();
    tensor.created_ns = row->created_ns();
    tensor.storage_offset = std::max<int64_t>(row->storage_offset(), 0);
    tensor.numel = std::max<int64_t>(row->numel(), 0);
    tensor.grad = row->grad();
    tensor.grad_fn = row->grad_fn();
    if (in->outputs() != nullptr) tensor.output = at < in->outputs()->size() ? in->outputs()->Get(at) : 0;
    const uint32_t version = in->versions() && at < in->versions()->size() ? in->versions()->Get(at) : 0;
    if (version != 0) tensor.version = version - 1;
    tensor.known = row->known();
    tensor.flags = row->flags();
    tensor.site = row->site();
    tensor.thread = row->thread();
    tensor.itemsize = row->itemsize();
    tensor.device = device_of(row->device_type(), row->device_index());
    tensor.dtype = row->dtype();
    tensor.layout = row->layout();

    const bool sizes = tensor.known & bit(format::TensorKnown::sizes);
    const bool strides = sizes && tensor.known & bit(format::TensorKnown::strides);
    const size_t wanted = size_t(row->ndim()) * (sizes + strides);
    if (row->ndim() > kMaxDims || row->dims() > dims_size || wanted > dims_size - row->dims()) {
      count("tensors whose shape is not in the file");
      tensor.known &= ~(bit(format::TensorKnown::sizes) | bit(format::TensorKnown::strides));
    } else if (wanted != 0) {
      const int64_t* dims = all_dims + row->dims();
      tensor.sizes = {dims, row->ndim()};
      if (strides) tensor.strides = {dims + row->ndim(), row->ndim()};
      if (std::any_of(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t size) { return size < 0; })) {
        count("tensors of a negative size");
        tensor.sizes = tensor.strides = {};
        tensor.known &= ~(bit(format::TensorKnown::sizes) | bit(format::TensorKnown::strides));
      }
    }
    StorageClaim claim;
    if (tensor.known & bit(format::TensorKnown::storage)) claim = {row->storage_base(), row->storage_nbytes()};
    uint64_t end = 0;
    if (__builtin_add_overflow(claim.base, claim.nbytes, &end)) {
      count("storages beyond the end of memory");
      claim.nbytes = 0;
    }
    tensor_strings_.push_back({row->class_name(), row->grad_fn_name(), row->note()});
    claims_.push_back(claim);
  }
  for (size_t i = 0; in->parts() && i < in->parts()->size(); i++) {
    const format::TensorPart* row = in->parts()->Get(flatbuffers::uoffset_t(i));
    part_serials_.emplace_back(row->owner(), row->part());
  }
}

void RowCollector::add_allocations(const ChunkView& chunk) {
  const auto* in = verified<format::AllocationRows>(chunk);
  if (!in || !in->values()) return;
  make_room(dump_.allocations, in->values()->size());
  for (const format::Allocation* row : *in->values()) {
    uint64_t end = 0;
    if (row->serial() == 0 || row->kind() > format::AllocationKind::MAX ||
        __builtin_add_overflow(row->pointer(), std::max<uint64_t>(row->nbytes(), 1), &end)) {
      count("invalid allocations");
      continue;
    }
    dump_.allocations.push_back({row->serial(), row->pointer(), row->nbytes(), row->created_ns(), row->node(),
                                 row->site(), row->thread(), uint8_t(row->kind()), row->inherited() != 0,
                                 device_of(row->device_type(), row->device_index())});
  }
}

void RowCollector::add_nodes(const ChunkView& chunk) {
  const auto* in = verified<format::NodeRows>(chunk);
  if (!in || !in->values()) return;
  flatbuffers::uoffset_t number = 0;
  for (const format::Node* row : *in->values()) {
    const flatbuffers::uoffset_t at = number++;
    const uint32_t ran = in->ran() && at < in->ran()->size() ? in->ran()->Get(at) : 0;
    dump_.nodes.push_back(
        {row->serial(), row->address(), row->created_ns(), "", row->site(), row->thread(), row->alive() != 0, ran});
    node_strings_.push_back(row->class_name());
  }
}

void RowCollector::add_totals(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Totals>(chunk);
  if (!in) return;
  Totals& out = dump_.totals;
  if (in->devices()) {
    for (const format::DeviceTotal* row : *in->devices()) {
      out.devices.push_back({device_of(row->device_type(), row->device_index()), row->live_bytes(), row->peak_bytes(),
                             row->live_count(), row->total_count(), row->total_bytes(), row->allocator_allocated(),
                             row->allocator_reserved(), row->allocator_reserved_peak()});
    }
  }
  out.tensors_live = in->tensors_live();
  out.tensors_total = in->tensors_total();
  out.resident_bytes = in->resident_bytes();
  out.resident_peak_bytes = in->resident_peak_bytes();
  out.cgroup_current = in->cgroup_current();
  out.cgroup_limit = in->cgroup_limit();
  out.machine_total = in->machine_total();
  out.machine_available = in->machine_available();
  out.profiler_bytes = in->profiler_bytes();
  out.stopped_ns = in->stopped_ns();
  out.phase1_ns = in->phase1_ns();
  out.heap_in_use = in->heap_in_use();
  out.heap_free = in->heap_free();
  out.children_known = in->children_known();
  out.children = in->children();
  out.children_resident_bytes = in->children_resident_bytes();
  out.children_private_bytes = in->children_private_bytes();
  out.anonymous_bytes = in->anonymous_bytes();
  out.file_bytes = in->file_bytes();
  out.shared_bytes = in->shared_bytes();
}

void RowCollector::add_coverage(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Coverages>(chunk);
  if (!in || !in->values()) return;
  for (const auto* row : *in->values()) {
    dump_.coverage.push_back({row->subject() ? charged(row->subject()->string_view()) : "", int(row->seen()),
                              row->detail() ? charged(row->detail()->string_view()) : "", row->missed()});
  }
}

void RowCollector::add_names(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Names>(chunk);
  if (!in) return;
  dump_.names_complete = in->complete();
  if (in->detail()) dump_.names_detail = charged(in->detail()->string_view());
  if (!in->modules()) return;
  auto str = [&](uint32_t index) -> std::string {
    if (in->strings() && index < in->strings()->size()) return charged(in->strings()->Get(index)->string_view());
    count("references to missing texts");
    return {};
  };
  for (const format::ModuleName* row : *in->modules()) {
    dump_.module_names.try_emplace(row->object(), Dump::ModuleName{str(row->path()), str(row->class_name())});
  }
}

void RowCollector::add_end(const ChunkView& chunk) {
  const auto* in = verified<format::EndMark>(chunk);
  if (!in) return;
  end_agrees_ = in->chunks() == chunk.chunks_before && in->bytes() == chunk.offset;
  if (!end_agrees_)
    dump_.problems.push_back("the end of " + name_ + " does not match the chunks before it: chunks were lost.");
}

}  // namespace tensorscope::analyzer
