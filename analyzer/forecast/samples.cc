// SPDX-License-Identifier: Apache-2.0
#include "forecast/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "dump/reader.h"
#include "memory/filter_values.h"
#include "ownership/memory_category.h"
#include "recording/live_state.h"
#include "recording/moment.h"
#include "symbols/convolutions.h"
#include "symbols/user_code.h"
#include "tensorscope/rules/dtypes.h"
#include "tensorscope/rules/element_size.h"
#include "tensorscope/rules/user_code.h"
#include "timeline/overview.h"

namespace tensorscope::analyzer::forecast {

namespace {

// Whether the tensor fills the memory: on devices it may be rounded up, by less than an unsplit rest of the allocator.
bool fills(uint64_t tensor_bytes, uint64_t block_bytes, bool cpu) {
  constexpr uint64_t kUnsplitRest = 1 << 20;
  return cpu ? tensor_bytes == block_bytes : tensor_bytes <= block_bytes && block_bytes - tensor_bytes <= kUnsplitRest;
}

uint64_t product(std::span<const int64_t> sizes) {
  uint64_t numel = 1;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(numel, uint64_t(size), &numel)) return 0;
  }
  return numel;
}

// All changes of a recording's device, in order.
class RecordedChanges : public RecordingVisitor {
 public:
  RecordedChanges(Sample& out, std::vector<uint64_t>& serials, std::vector<uint64_t>& nodes)
      : out_(out), serials_(serials), nodes_(nodes) {}

  void segment(const format::RecordingSegment& segment) override {
    // What was alive before a gap comes anew.
    for (const auto& [serial, index] : live_) out_.changes.push_back({index, false});
    live_.clear();
    at_pointer_.clear();
    state_.begin(segment);
  }
  void live_allocation(const format::Allocation& row) override {
    state_.add(row);
    if (const auto found = state_.allocations.find(row.serial()); found != state_.allocations.end())
      made(row.serial(), found->second);
  }
  void tensor(const format::Tensor& row, std::span<const int64_t> dims, bool) override {
    const size_t rank = std::min<size_t>(row.ndim(), dims.size());
    note_shape(row.serial(), row.storage_base(), row.dtype(), dims.first(rank));
  }
  bool event(const format::RecordedEvent& event) override {
    switch (event.type) {
      case format::EventType::allocated:
        if (!state_.apply(event)) break;
        if (const auto found = state_.allocations.find(event.serial); found != state_.allocations.end())
          made(event.serial, found->second);
        break;
      case format::EventType::freed:
        if (state_.apply(event)) freed(event.serial);
        break;
      case format::EventType::tensor_seen:
      case format::EventType::tensor_released:
        if (event.known) note_shape(event.serial, event.pointer, event.dtype, {event.sizes, event.ndim});
        break;
      case format::EventType::device_reported:
        if (device_of(event.device_type, event.device_index) == out_.device)
          out_.reserved_peak = std::max(out_.reserved_peak, event.pass);
        break;
      case format::EventType::step:
        if (begins_step(event)) out_.steps.push_back(out_.changes.size());
        break;
      default:
        break;
    }
    return true;
  }

 private:
  void made(uint64_t serial, const RecordedAllocation& row) {
    if (row.device != out_.device) return;
    const uint32_t index = uint32_t(out_.blocks.size());
    Block block;
    block.nbytes = row.nbytes;
    block.site = row.site;
    block.backward = row.node != 0;
    out_.blocks.push_back(block);
    serials_.push_back(serial);
    nodes_.push_back(row.node);
    shaped_by_.push_back(UINT64_MAX);
    live_[serial] = index;
    at_pointer_[row.pointer] = index;
    out_.changes.push_back({index, true});
    bytes_ += row.nbytes;
    if (bytes_ <= out_.peak) return;
    out_.peak = bytes_;
    out_.at_peak = out_.changes.size() - 1;
  }
  void freed(uint64_t serial) {
    const auto found = live_.find(serial);
    if (found == live_.end()) return;
    out_.changes.push_back({found->second, false});
    bytes_ -= out_.blocks[found->second].nbytes;
    const auto at = at_pointer_.find(state_.freed->pointer);
    if (at != at_pointer_.end() && at->second == found->second) at_pointer_.erase(at);
    live_.erase(found);
  }
  // The oldest tensor that fills a block says its shape: when others were looked at differs from run to run.
  void note_shape(uint64_t serial, uint64_t pointer, int8_t dtype, std::span<const int64_t> sizes) {
    const auto found = at_pointer_.find(pointer);
    if (found == at_pointer_.end() || serial >= shaped_by_[found->second]) return;
    Block& block = out_.blocks[found->second];
    const int itemsize = rules::element_size(dtype);
    if (itemsize <= 0 || !fills(product(sizes) * uint64_t(itemsize), block.nbytes, out_.device.is_cpu())) return;
    shaped_by_[found->second] = serial;
    block.first_dim = uint32_t(out_.dims.size());
    block.ndim = uint8_t(sizes.size());
    block.itemsize = uint8_t(itemsize);
    block.dtype = dtype;
    block.shape_known = true;
    out_.dims.insert(out_.dims.end(), sizes.begin(), sizes.end());
  }

  Sample& out_;
  std::vector<uint64_t>& serials_;
  std::vector<uint64_t>& nodes_;
  LiveState state_;
  std::vector<uint64_t> shaped_by_;  // of each block: the tensor
  std::unordered_map<uint64_t, uint32_t> live_, at_pointer_;
  uint64_t bytes_ = 0;
};

// What cuDNN works in while a convolution runs: in no tensor, and freed before anything else is made.
void mark_scratch(Sample& sample) {
  if (sample.device.is_cpu()) return;
  std::unordered_map<uint32_t, Convolution> sites;
  bool not_told_in_float32 = false;
  for (const Block& block : sample.blocks) {
    const auto [found, fresh] = sites.try_emplace(block.site);
    if (fresh) found->second = convolution_in(sample.opened->places.stack(block.site));
    const bool convolves = found->second == Convolution::operation || found->second == Convolution::plan;
    const bool float32 = block.shape_known && block.dtype == rules::kFloat32;
    sample.convolves = sample.convolves || convolves;
    sample.convolves_in_float32 = sample.convolves_in_float32 || (convolves && float32);
    not_told_in_float32 = not_told_in_float32 || (float32 && found->second == Convolution::not_told);
  }
  for (size_t i = 0; i + 1 < sample.changes.size(); ++i) {
    Block& block = sample.blocks[sample.changes[i].block];
    const Change& next = sample.changes[i + 1];
    if (!sample.changes[i].made || next.made || next.block != sample.changes[i].block || block.shape_known) continue;
    block.scratch = sites.at(block.site) != Convolution::none;
    sample.convolves = sample.convolves || block.scratch;
  }
  sample.convolves_in_float32 = sample.convolves_in_float32 || (sample.convolves && not_told_in_float32);
}

// Places::stack_key, of frames in these shared objects the object alone.
std::string read_stack_key(Places& places, uint32_t site, const std::set<std::string>& unread) {
  std::string key;
  for (const Frame& frame : places.stack(site)) {
    if (!unread.contains(frame.object)) {
      key += places.describe(frame).where + "\n";
    } else if (!is_interpreter(frame.object)) {  // those are left out where they have names
      key += frame.object + "\n";
    }
  }
  return key;
}

void add_keys(Sample& sample, KeyPool& keys) {
  Places& places = sample.opened->places;
  std::vector<uint32_t> sites;
  for (const Block& block : sample.blocks) {
    sites.push_back(block.site);
    if (block.forward != 0) sites.push_back(block.forward);
  }
  std::sort(sites.begin(), sites.end());
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  places.prefetch(sites, true);
  std::unordered_map<uint64_t, std::pair<uint32_t, uint32_t>> known;
  for (Block& block : sample.blocks) {
    const auto [found, fresh] = known.try_emplace(uint64_t(block.site) << 32 | block.forward);
    if (fresh) {
      const std::string modules = places.module_path(block.site) + "\n" + places.module_path(block.forward);
      found->second.first =
          keys.number(places.stack_key(block.site) + "\n" + places.stack_key(block.forward) + "\n" + modules);
      for (const uint32_t site : {block.site, block.forward}) {
        for (const Frame& frame : places.stack(site)) places.unread().function(frame);
      }
      found->second.second = keys.number("line " + places.at(block.site).where + "\n" +
                                         (block.forward ? places.at(block.forward).where : "") + "\n" + modules);
    }
    block.key = block.read_key = found->second.first;
    block.coarse = found->second.second;
    block.kind = keys.number(fmt::format("kind {} {} {}", block.coarse, block.dtype, block.ndim));
  }
}

Sample recorded_sample(const std::string& path, const std::string& device, const SymbolOptions& options) {
  const RecordingFile file(path);
  Sample sample;
  sample.file = path;
  sample.recording = true;
  MemoryTimeline timeline;
  TimelineOverview overview(timeline);
  const RecordingEnds ends = file.replay(overview);
  overview.finish();
  sample.problems = ends.problems;
  std::vector<Device> devices;
  for (const DeviceCurve& curve : timeline.curves) devices.push_back(curve.device);
  sample.device = device.empty() ? timeline.device : device_named(device, devices, path);
  sample.opened = std::make_unique<OpenedDump>(dump_at(file, path, timeline.peak()), options);

  std::vector<uint64_t> serials, nodes;
  RecordedChanges changes(sample, serials, nodes);
  file.replay(changes);
  const MemoryCategories categories(sample.opened->dump, sample.opened->names_of_run.get());
  const FrameFacts facts(sample.opened->dump);
  const size_t sites = sample.opened->dump.sites.size();
  for (size_t i = 0; i < sample.blocks.size(); ++i) {
    Block& block = sample.blocks[i];
    if (block.site >= sites) block.site = 0;
    const AllocationLife life = overview.lives().life(serials[i]);
    block.category = categories.of(serials[i], block.site, block.backward, life).category;
    block.past_backward = life.past_backward;
    block.optimizer = (facts.parts(block.site) & code::kOptimizer) != 0;
    // A node is made right after the memory of what its operation returns.
    const auto after = std::lower_bound(serials.begin(), serials.end(), nodes[i]);
    if (block.backward && after != serials.begin()) {
      block.forward_block = uint32_t(after - serials.begin()) - 1;
      block.forward = sample.blocks[block.forward_block].site;
    }
  }
  return sample;
}

uint32_t shaping_tensor(const Dump& dump, const Item& item) {
  if (item.storage == kNone) return kNone;
  for (uint32_t tensor : dump.storages[item.storage].tensors) {
    const Tensor& row = dump.tensors[tensor];
    if (row.itemsize != 0 && !row.sizes.empty() &&
        fills(product(row.sizes) * row.itemsize, item.bytes, item.device.is_cpu()))
      return tensor;
  }
  return kNone;
}

Sample dumped_sample(const std::string& path, const std::string& device, const SymbolOptions& options) {
  Sample sample;
  sample.file = path;
  sample.opened = std::make_unique<OpenedDump>(read_dump_or_moment(path), options);
  const Dump& dump = sample.opened->dump;
  sample.problems = dump.problems;
  std::vector<Device> devices;
  const DeviceSums* most = nullptr;
  for (const DeviceSums& sums : sample.opened->accounts.devices()) {
    devices.push_back(sums.device);
    const bool better = most == nullptr || (most->device.is_cpu() && !sums.device.is_cpu()) ||
                        (!sums.device.is_cpu() && sums.allocator_bytes() > most->allocator_bytes());
    if (better && sums.allocator_bytes() != 0) most = &sums;
  }
  if (most == nullptr) throw BadInput(path + " has no allocations.");
  sample.device = device.empty() ? most->device : device_named(device, devices, path);
  const FrameFacts facts(dump);
  std::vector<const Item*> items;
  for (const Item& item : sample.opened->accounts.items()) {
    if (item.device == sample.device && item.bytes > item.outside) items.push_back(&item);
  }
  std::sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return a->created_ns != b->created_ns ? a->created_ns < b->created_ns : a->storage < b->storage;
  });
  for (const Item* item : items) {
    Block block;
    block.nbytes = item->bytes - item->outside;
    block.site = item->site;
    block.optimizer = (facts.parts(item->site) & code::kOptimizer) != 0;
    block.category = item->storage == kNone
                         ? Category::workspace
                         : sample.opened->holders.category(sample.opened->holders.representative(item->storage));
    block.past_backward = block.category == Category::saved_activation;
    if (item->allocation != kNone && dump.allocations[item->allocation].node != 0) {
      block.backward = true;
      const uint64_t serial = dump.allocations[item->allocation].node;
      const auto node = std::lower_bound(dump.nodes.begin(), dump.nodes.end(), serial,
                                         [](const Node& row, uint64_t value) { return row.serial < value; });
      if (node != dump.nodes.end() && node->serial == serial) block.forward = node->site;
    }
    if (const uint32_t tensor = shaping_tensor(dump, *item); tensor != kNone) {
      const Tensor& row = dump.tensors[tensor];
      block.first_dim = uint32_t(sample.dims.size());
      block.ndim = uint8_t(row.sizes.size());
      block.itemsize = uint8_t(row.itemsize);
      block.dtype = row.dtype;
      block.shape_known = true;
      sample.dims.insert(sample.dims.end(), row.sizes.begin(), row.sizes.end());
    }
    sample.peak += block.nbytes;
    sample.changes.push_back({uint32_t(sample.blocks.size()), true});
    sample.blocks.push_back(block);
  }
  sample.at_peak = sample.changes.empty() ? 0 : sample.changes.size() - 1;
  return sample;
}

}  // namespace

Sample read_sample(const std::string& path, const std::string& device, const SymbolOptions& options, KeyPool& keys) {
  Sample sample = is_recording(path) ? recorded_sample(path, device, options) : dumped_sample(path, device, options);
  if (sample.blocks.empty()) throw BadInput(path + " has no allocations.");
  add_keys(sample, keys);
  mark_scratch(sample);
  return sample;
}

void add_read_keys(std::vector<Sample>& samples, KeyPool& keys) {
  std::set<std::string> unread;  // names of shared objects
  for (const Sample& sample : samples) {
    for (const std::string& path : sample.opened->places.unread().files().libraries) {
      unread.insert(path.substr(path.rfind('/') + 1));
    }
  }
  if (unread.empty()) return;
  for (Sample& sample : samples) {
    Places& places = sample.opened->places;
    std::unordered_map<uint64_t, uint32_t> known;
    for (Block& block : sample.blocks) {
      const auto [found, fresh] = known.try_emplace(uint64_t(block.site) << 32 | block.forward);
      if (fresh) {
        found->second = keys.number("read " + read_stack_key(places, block.site, unread) + "\n" +
                                    read_stack_key(places, block.forward, unread) + "\n" +
                                    places.module_path(block.site) + "\n" + places.module_path(block.forward));
      }
      block.read_key = found->second;
    }
  }
}

}  // namespace tensorscope::analyzer::forecast
