// SPDX-License-Identifier: Apache-2.0
#include "support/dump_builder.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "tensorscope/dump_format.h"

namespace tensorscope::testing {

namespace {

using flatbuffers::FlatBufferBuilder;

std::string text_of(const FlatBufferBuilder& fbb) {
  return {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()};
}

// One chunk whose root is made by `make`.
Chunk chunk(uint32_t type, const std::function<flatbuffers::uoffset_t(FlatBufferBuilder&)>& make) {
  FlatBufferBuilder fbb;
  fbb.FinishSizePrefixed(flatbuffers::Offset<flatbuffers::Table>(make(fbb)));
  return {type, text_of(fbb)};
}

// Calls add(first, count) for every slice of at most `step` rows; once with none where there are no rows.
void slices(size_t rows, size_t step, const std::function<void(size_t, size_t)>& add) {
  for (size_t first = 0; first == 0 || first < rows; first += step) add(first, std::min(step, rows - first));
}

std::string raw(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }

// Unsigned: a test may want sizes whose product is too large.
int64_t numel(const TensorSpec& tensor) {
  uint64_t product = 1;
  for (int64_t size : tensor.sizes) product *= uint64_t(size);
  return int64_t(product);
}

std::string frame_chunk(const Chunk& chunk) {
  format::ChunkHeader header{chunk.type, 0, chunk.payload.size(), 0};
  header.checksum = format::chunk_checksum(header, chunk.payload.data());
  return raw(&header, sizeof header) + chunk.payload + std::string(format::padding(chunk.payload.size()), '\0');
}

}  // namespace

DumpBuilder::DumpBuilder() {
  string("");
  threads_.emplace_back(0, 0, 0);
  native_.emplace_back(0, 0);
  python_.emplace_back(0, 0, 0, 0, 0);
  sites_.emplace_back();
}

uint32_t DumpBuilder::string(std::string_view text) {
  if (auto found = string_ids_.find(text); found != string_ids_.end()) return found->second;
  string_ids_.emplace(text, uint32_t(strings_.size()));
  strings_.emplace_back(text);
  return uint32_t(strings_.size() - 1);
}

uint32_t DumpBuilder::shared_object(const SharedObjectSpec& object) {
  shared_objects_.push_back(object);
  return uint32_t(shared_objects_.size() - 1);
}

uint32_t DumpBuilder::thread(uint32_t tid, std::string_view name, bool alive) {
  threads_.emplace_back(tid, string(name), alive);
  return uint32_t(threads_.size() - 1);
}

uint32_t DumpBuilder::native(const std::vector<uint64_t>& outermost_first, uint32_t below) {
  for (uint64_t address : outermost_first) {
    native_.emplace_back(address, below);
    below = uint32_t(native_.size() - 1);
  }
  return below;
}

uint32_t DumpBuilder::python(const std::vector<PythonFrameSpec>& outermost_first, uint32_t below) {
  for (const PythonFrameSpec& frame : outermost_first) {
    auto [code, fresh] = code_ids_.try_emplace({frame.file, frame.function}, uint32_t(codes_.size()));
    if (fresh) codes_.emplace_back(string(frame.file), string(frame.function), frame.first_line);
    python_.emplace_back(frame.module_object, below, code->second, frame.line, frame.entry);
    below = uint32_t(python_.size() - 1);
  }
  return below;
}

uint32_t DumpBuilder::site(uint32_t native_leaf, uint32_t python_leaf) {
  sites_.emplace_back(0, 0, 0, 0, 0, 0, 0, native_leaf, python_leaf);
  return uint32_t(sites_.size() - 1);
}

uint64_t DumpBuilder::take_serial(uint64_t wanted) {
  if (wanted == 0) return ++serial_;
  serial_ = std::max(serial_, wanted);
  return wanted;
}

uint64_t DumpBuilder::created(uint64_t serial, uint64_t given) const {
  return given == 0 && ns_each_serial != 0 ? start_ns + serial * ns_each_serial : given;
}

uint64_t DumpBuilder::tensor(const TensorSpec& spec) {
  TensorSpec tensor = spec;
  tensor.serial = take_serial(spec.serial);
  tensor.created_ns = created(tensor.serial, spec.created_ns);
  if (tensor.address == 0) tensor.address = 0x7f0000000000 + tensor.serial * 256;
  if (tensor.strides.empty()) {
    tensor.strides.resize(tensor.sizes.size());
    uint64_t stride = 1;
    for (size_t i = tensor.sizes.size(); i-- > 0; stride *= uint64_t(tensor.sizes[i]))
      tensor.strides[i] = int64_t(stride);
  }
  if (tensor.storage_nbytes == 0 && tensor.storage_base != 0) {
    tensor.storage_nbytes = uint64_t(numel(tensor)) * tensor.itemsize;
  }
  string(tensor.class_name), string(tensor.grad_fn_name), string(tensor.note);
  tensors_.push_back(tensor);
  if (spec.site < sites_.size()) {
    format::Site& site = sites_[spec.site];
    site = format::Site(site.tensors_live() + 1, site.tensors_total() + 1, site.allocations_live(),
                        site.allocations_total(), site.bytes_live(), site.bytes_total(), site.bytes_peak(),
                        site.native(), site.python());
  }
  return tensor.serial;
}

void DumpBuilder::freed(uint32_t number, uint64_t nbytes) {
  format::Site& site = sites_[number];
  site = format::Site(site.tensors_live(), site.tensors_total() + 1, site.allocations_live(),
                      site.allocations_total() + 1, site.bytes_live(), site.bytes_total() + nbytes,
                      std::max(nbytes, site.bytes_peak()), site.native(), site.python());
}

uint64_t DumpBuilder::allocation(const AllocationSpec& spec) {
  uint64_t serial = take_serial(spec.serial);
  allocations_.emplace_back(serial, spec.pointer, spec.nbytes, created(serial, spec.created_ns), spec.node, spec.site,
                            spec.thread, spec.kind, spec.inherited, spec.device_type, spec.device_index);
  if (spec.site < sites_.size()) {
    format::Site& site = sites_[spec.site];
    uint64_t live = site.bytes_live() + spec.nbytes;
    site = format::Site(site.tensors_live(), site.tensors_total(), site.allocations_live() + 1,
                        site.allocations_total() + 1, live, site.bytes_total() + spec.nbytes,
                        std::max(live, site.bytes_peak()), site.native(), site.python());
  }
  format::DeviceTotal& total = devices_[{spec.device_type, spec.device_index}];
  uint64_t live = total.live_bytes() + spec.nbytes;
  total = format::DeviceTotal(live, std::max(live, total.peak_bytes()), total.live_count() + 1, total.total_count() + 1,
                              total.total_bytes() + spec.nbytes, 0, 0, 0, spec.device_type, spec.device_index);
  return serial;
}

uint64_t DumpBuilder::node(uint64_t address, std::string_view class_name, uint32_t site, uint64_t serial) {
  serial = take_serial(serial);
  nodes_.emplace_back(serial, address, created(serial, 0), string(class_name), site, 0, 1);
  return serial;
}

void DumpBuilder::device_total(const format::DeviceTotal& total) {
  set_devices_[{total.device_type(), total.device_index()}] = total;
}

void DumpBuilder::coverage(std::string_view subject, format::Seen seen, std::string_view detail, uint64_t missed) {
  coverage_.push_back({std::string(subject), std::string(detail), seen, missed});
}

void DumpBuilder::module_name(uint64_t object, std::string_view path, std::string_view class_name) {
  module_names_.push_back({object, std::string(path), std::string(class_name)});
}

std::vector<Chunk> DumpBuilder::chunks() const {
  std::vector<Chunk> out;
  out.push_back(chunk(format::kProcess, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> words;
    for (const std::string& word : command_line) words.push_back(fbb.CreateString(word));
    std::vector<flatbuffers::Offset<format::KeyValue>> pairs;
    for (const auto& [key, value] : options)
      pairs.push_back(format::CreateKeyValueDirect(fbb, key.c_str(), value.c_str()));
    return format::CreateProcessDirect(fbb, pid, parent_pid, forked_from, program.c_str(), executable.c_str(), &words,
                                       working_directory.c_str(), host.c_str(), run_id.c_str(), start_unix_ns, start_ns,
                                       start_unix_ns + (dump_ns - start_ns), dump_ns, trigger, trigger_detail.c_str(),
                                       dump_number, rank, local_rank, world_size, torch_version.c_str(),
                                       python_version.c_str(), "0.1.0", &pairs, serial_, fork_serial, step, job.c_str(),
                                       attached_ns, 0, 0, "", asked_by_run.c_str(), asked_by_dump)
        .o;
  }));
  out.push_back(chunk(format::kSharedObjects, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::SharedObject>> rows;
    for (const SharedObjectSpec& object : shared_objects_) {
      rows.push_back(format::CreateSharedObjectDirect(fbb, object.path.c_str(), object.load_bias, object.begin,
                                                      object.end, &object.build_id));
    }
    return format::CreateSharedObjectsDirect(fbb, &rows).o;
  }));
  out.push_back(chunk(format::kStrings, [&](FlatBufferBuilder& fbb) {
    return format::CreateStrings(fbb, fbb.CreateVectorOfStrings(strings_)).o;
  }));
  out.push_back(
      chunk(format::kCodes, [&](FlatBufferBuilder& fbb) { return format::CreateCodesDirect(fbb, &codes_).o; }));
  auto pieces = [&](uint32_t type, const auto& all, auto create) {
    slices(all.size(), rows_per_chunk, [&](size_t first, size_t count) {
      out.push_back(chunk(type, [&](FlatBufferBuilder& fbb) {
        return create(fbb, uint32_t(first), fbb.CreateVectorOfStructs(all.data() + first, count)).o;
      }));
    });
  };
  pieces(format::kNativeFrames, native_, format::CreateNativeFrames);
  pieces(format::kPythonFrames, python_, format::CreatePythonFrames);
  pieces(format::kSites, sites_, format::CreateSites);
  out.push_back(
      chunk(format::kThreads, [&](FlatBufferBuilder& fbb) { return format::CreateThreadsDirect(fbb, &threads_).o; }));
  slices(tensors_.size(), rows_per_chunk, [&](size_t first, size_t count) {
    out.push_back(chunk(format::kTensors, [&](FlatBufferBuilder& fbb) {
      std::vector<format::Tensor> rows;
      std::vector<int64_t> dims;
      std::vector<uint32_t> outputs;
      for (size_t i = first; i < first + count; i++) {
        const TensorSpec& t = tensors_[i];
        rows.emplace_back(t.serial, t.address, t.created_ns, t.storage_base, t.storage_nbytes, t.storage_offset,
                          numel(t), t.grad, t.grad_fn, t.known, t.flags, uint32_t(dims.size()), t.site, t.thread,
                          string_ids_.at(t.class_name), string_ids_.at(t.grad_fn_name), string_ids_.at(t.note),
                          t.itemsize, uint8_t(t.sizes.size()), t.device_type, t.device_index, t.dtype, t.layout);
        dims.insert(dims.end(), t.sizes.begin(), t.sizes.end());
        dims.insert(dims.end(), t.strides.begin(), t.strides.end());
        outputs.push_back(t.output);
      }
      return format::CreateTensorRowsDirect(fbb, &rows, &dims, nullptr, &outputs).o;
    }));
  });
  slices(allocations_.size(), rows_per_chunk, [&](size_t first, size_t count) {
    out.push_back(chunk(format::kAllocations, [&](FlatBufferBuilder& fbb) {
      return format::CreateAllocationRows(fbb, fbb.CreateVectorOfStructs(allocations_.data() + first, count)).o;
    }));
  });
  out.push_back(
      chunk(format::kNodes, [&](FlatBufferBuilder& fbb) { return format::CreateNodeRowsDirect(fbb, &nodes_).o; }));
  out.push_back(chunk(format::kTotals, [&](FlatBufferBuilder& fbb) {
    std::vector<format::DeviceTotal> devices;
    auto all = set_devices_;
    all.insert(devices_.begin(), devices_.end());
    for (const auto& [device, total] : all) devices.push_back(total);
    return format::CreateTotalsDirect(fbb, &devices, tensors_.size(), tensors_total ? tensors_total : tensors_.size(),
                                      resident_bytes, resident_peak_bytes, cgroup_current, cgroup_limit, machine_total,
                                      machine_available, profiler_bytes, 0, 0, heap_in_use, heap_free, children,
                                      children_resident_bytes, anonymous_bytes, file_bytes, shared_bytes,
                                      children_private_bytes, children_known)
        .o;
  }));
  if (step_source != format::StepSource::none) {
    out.push_back(chunk(format::kSteps, [&](FlatBufferBuilder& fbb) {
      return format::CreateStepsDirect(fbb, step_source, step_ends.size() * steps_every, steps_every, &step_ends).o;
    }));
  }
  if (!history_points.empty()) {
    out.push_back(chunk(format::kHistory, [&](FlatBufferBuilder& fbb) {
      return format::CreateHistoryDirect(fbb, history_every, &history_devices, &history_points, &history_levels).o;
    }));
  }
  if (peak_bytes != 0) {
    out.push_back(chunk(format::kPeak, [&](FlatBufferBuilder& fbb) {
      return format::CreatePeakDirect(fbb, peak_ns, peak_step, step_source, peak_bytes, &peak_devices, &peak_sites,
                                      peak_other_sites, peak_other_bytes, peak_other_allocations, &peak_gone)
          .o;
    }));
  }
  out.push_back(chunk(format::kCoverage, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<format::Coverage>> rows;
    for (const CoverageRow& row : coverage_) {
      rows.push_back(format::CreateCoverageDirect(fbb, row.subject.c_str(), row.seen, row.detail.c_str(), row.missed));
    }
    return format::CreateCoveragesDirect(fbb, &rows).o;
  }));
  out.push_back(chunk(format::kNames, [&](FlatBufferBuilder& fbb) {
    std::vector<flatbuffers::Offset<flatbuffers::String>> texts = {fbb.CreateString("")};
    std::vector<format::ModuleName> rows;
    for (const NamedModule& module : module_names_) {
      rows.emplace_back(module.object, uint32_t(texts.size()), uint32_t(texts.size() + 1));
      texts.push_back(fbb.CreateString(module.path));
      texts.push_back(fbb.CreateString(module.class_name));
    }
    return format::CreateNamesDirect(fbb, names_complete, names_complete ? "" : "the GIL did not come", &texts, &rows)
        .o;
  }));
  if (!process_groups.empty()) {
    out.push_back(chunk(format::kProcessGroups, [&](FlatBufferBuilder& fbb) {
      std::vector<flatbuffers::Offset<format::ProcessGroup>> rows;
      for (const ProcessGroupSpec& group : process_groups) {
        rows.push_back(
            format::CreateProcessGroupDirect(fbb, group.name.c_str(), group.mesh_dimension.c_str(), &group.ranks));
      }
      return format::CreateProcessGroupsDirect(fbb, true, "", &rows).o;
    }));
  }
  graph_chunks(out);
  if (has_references) out.push_back(reference_chunk());
  memory_chunks(out);
  if (has_sources || !sources_.empty()) out.push_back(source_chunk());
  return out;
}

std::string DumpBuilder::file_header(uint32_t major, uint32_t minor) {
  format::FileHeader header{};
  std::copy(std::begin(format::kMagic), std::end(format::kMagic), header.magic);
  header.major = major;
  header.minor = minor;
  header.checksum = format::header_checksum(header);
  return raw(&header, sizeof header);
}

std::string DumpBuilder::frame(const std::vector<Chunk>& chunks, bool end) {
  std::string file = file_header(format::kFormatMajor, format::kFormatMinor);
  for (const Chunk& chunk : chunks) file += frame_chunk(chunk);
  if (end) {
    file += frame_chunk(chunk(format::kEnd, [&](FlatBufferBuilder& fbb) {
      return format::CreateEndMark(fbb, uint32_t(chunks.size()), file.size()).o;
    }));
  }
  return file;
}

void DumpBuilder::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file << bytes();
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace tensorscope::testing
