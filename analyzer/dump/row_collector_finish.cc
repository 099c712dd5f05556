// The second half of RowCollector: what can only be said once all chunks were read.
#include <algorithm>
#include <unordered_map>

#include "dump/row_collector.h"
#include "dump/sort_by_serial.h"
#include "dump/type_names.h"
#include "dump_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

// Puts the parts of a table together by their first id, up to the first gap.
template <typename Row>
void RowCollector::join(Pieces<Row>& pieces, std::vector<Row>& out, const char* what) {
  for (auto& [first, rows] : pieces.by_first) {
    if (first != out.size()) {
      count(std::string("parts of the table of ") + what + " without the part before");
      break;
    }
    out.insert(out.end(), rows.begin(), rows.end());
    rows = {};
  }
  pieces.by_first.clear();
  if (out.empty()) out.emplace_back();
  out[0] = Row{};
}

void RowCollector::finish_codes_and_threads() {
  for (size_t i = 0; i < dump_.codes.size(); i++) {
    dump_.codes[i].file = text(code_strings_[i][0]);
    dump_.codes[i].function = text(code_strings_[i][1]);
  }
  for (size_t i = 0; i < dump_.threads.size(); i++) dump_.threads[i].name = text(thread_names_[i]);
  if (dump_.threads.empty()) dump_.threads.emplace_back();
}

void RowCollector::finish_stacks() {
  join(native_, dump_.native_frames, "native frames");
  join(python_, dump_.python_frames, "Python frames");
  join(sites_, dump_.sites, "sites");
  auto check_parent = [&](auto& frames) {
    for (size_t i = 1; i < frames.size(); i++) {
      if (frames[i].parent < i) continue;
      count("cyclic stacks");
      frames[i].parent = 0;
    }
  };
  check_parent(dump_.native_frames);
  check_parent(dump_.python_frames);
  const uint32_t unknown_code = uint32_t(dump_.codes.size());
  dump_.codes.emplace_back();
  for (size_t i = 1; i < dump_.python_frames.size(); i++) {
    if (dump_.python_frames[i].code < unknown_code) continue;
    count("references to missing Python code");
    dump_.python_frames[i].code = unknown_code;
  }
  dump_.python_frames[0].code = unknown_code;
  const std::vector<uint32_t> kept = leave_interpreters_frames_out();
  SumGuard live, total, peak;
  for (Site& site : dump_.sites) {
    if (site.native >= dump_.native_frames.size() || site.python >= dump_.python_frames.size()) {
      count("references to missing stacks");
      if (site.native >= dump_.native_frames.size()) site.native = 0;
      if (site.python >= dump_.python_frames.size()) site.python = 0;
    }
    site.python = kept[site.python];
    if (!live.admits(site.bytes_live)) site.bytes_live = 0, count("sites with impossible counters");
    if (!total.admits(site.bytes_total)) site.bytes_total = 0, count("sites with impossible counters");
    if (!peak.admits(site.bytes_peak)) site.bytes_peak = 0, count("sites with impossible counters");
  }
}

// CPython 3.12 to 3.14 runs a frame of its own below each __init__ that it calls without leaving its loop
// (_Py_InitCleanup, Python/specialize.c): file and function are "__init__". Python hides this frame. The result is
// for each frame the one that stands for it: itself, or the next one outside.
std::vector<uint32_t> RowCollector::leave_interpreters_frames_out() {
  std::vector<uint32_t> kept(dump_.python_frames.size());
  for (uint32_t i = 1; i < kept.size(); i++) {
    PythonFrame& frame = dump_.python_frames[i];
    const Code& code = dump_.codes[frame.code];
    frame.parent = kept[frame.parent];
    kept[i] = code.file == "__init__" && code.function == "__init__" ? frame.parent : i;
  }
  return kept;
}

void RowCollector::check_row(uint32_t& site, uint32_t& thread, uint64_t& created_ns) {
  if (site >= dump_.sites.size()) site = 0, count("references to missing sites");
  if (thread >= dump_.threads.size()) thread = 0, count("references to missing threads");
  if (dump_.process.dump_ns != 0) created_ns = std::min(created_ns, dump_.process.dump_ns);
}

void RowCollector::finish_tensors() {
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(dump_.tensors, order)) count("tensors listed twice", twice);
  // A name is demangled once, and most tensors have that of the tensor before.
  struct Known {
    std::unordered_map<uint32_t, std::string> names;
    uint32_t last = UINT32_MAX;
    const std::string* name = nullptr;
  };
  Known class_names, grad_fn_names;
  auto named = [&](Known& known, uint32_t index, auto make) {
    if (known.name == nullptr || known.last != index) {
      auto [found, fresh] = known.names.try_emplace(index);
      if (fresh) found->second = make(text(index));
      known.last = index;
      known.name = &found->second;
    }
    return charged(*known.name);
  };
  std::vector<StorageClaim> claims;
  claims.reserve(order.size());
  SumGuard storages, views;
  for (size_t i = 0; i < order.size(); i++) {
    Tensor& tensor = dump_.tensors[i];
    const TensorStrings& strings = tensor_strings_[order[i]];
    tensor.class_name = named(class_names, strings.class_name, class_name_of);
    tensor.grad_fn_name = named(grad_fn_names, strings.grad_fn_name,
                                [](const std::string& name) { return last_component(class_name_of(name)); });
    tensor.note = text(strings.note);
    check_row(tensor.site, tensor.thread, tensor.created_ns);
    // An expanded or meta tensor may span more bytes than there are numbers: then the span says nothing.
    if (__builtin_mul_overflow(uint64_t(tensor.numel), uint64_t(tensor.itemsize), &tensor.nbytes) ||
        !views.admits(tensor.nbytes)) {
      tensor.nbytes = 0;
    }
    StorageClaim claim = claims_[order[i]];
    if (!storages.admits(claim.nbytes)) claim.nbytes = 0, count("storages of an impossible size");
    claims.push_back(claim);
  }
  claims_ = std::move(claims);
}

void RowCollector::finish_allocations_and_nodes() {
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(dump_.allocations, order)) count("allocations listed twice", twice);
  SumGuard bytes;
  for (Allocation& allocation : dump_.allocations) {
    check_row(allocation.site, allocation.thread, allocation.created_ns);
    if (!bytes.admits(allocation.nbytes)) allocation.nbytes = 0, count("allocations of an impossible size");
  }
  if (size_t twice = sort_by_serial(dump_.nodes, order)) count("autograd nodes listed twice", twice);
  for (size_t i = 0; i < order.size(); i++) {
    Node& node = dump_.nodes[i];
    node.class_name = class_name_of(text(node_strings_[order[i]]));
    check_row(node.site, node.thread, node.created_ns);
    if (node.ran_site >= dump_.sites.size()) node.ran_site = 0, count("references to missing sites");
  }
}

std::string RowCollector::missing() const {
  // What every dump has; without it a reader cannot tell "none" from "not read".
  constexpr uint32_t kExpected[] = {format::kStrings,      format::kSharedObjects, format::kCodes,
                                    format::kNativeFrames, format::kPythonFrames,  format::kSites,
                                    format::kThreads,      format::kTensors,       format::kAllocations,
                                    format::kTotals,       format::kCoverage};
  std::string out;
  for (uint32_t type : kExpected) {
    if (!seen_.count(type)) out += (out.empty() ? "" : ", ") + chunk_name(type);
  }
  return out;
}

std::string RowCollector::cleared() const {
  std::string out;
  for (const auto& [what, times] : counts_) out += (out.empty() ? "" : ", ") + with_commas(times) + " " + what;
  return out;
}

void RowCollector::finish() {
  finish_codes_and_threads();
  finish_stacks();
  finish_tensors();
  finish_allocations_and_nodes();
  finish_memory();
  finish_cupti();
  index_tensors();
  build_storages(dump_, claims_);
  finish_graph();
  finish_references();
}

}  // namespace tensorscope::analyzer
