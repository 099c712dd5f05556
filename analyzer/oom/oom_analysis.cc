// SPDX-License-Identifier: Apache-2.0
#include "oom/oom_analysis.h"

#include <algorithm>

#include "dump_generated.h"
#include "leaks/leaks.h"
#include "oom/remedies.h"

namespace tensorscope::analyzer::oom {

namespace {

bool nothing_failed(const Failure& failure) { return failure.kind == uint8_t(format::FailureKind::low_memory); }

bool of_a_device(const Failure& failure) {
  return failure.kind == uint8_t(format::FailureKind::device) ||
         (nothing_failed(failure) && failure.limit == uint8_t(format::MemoryLimit::device));
}

std::vector<Operand> operands_of(const View& view, uint32_t site) {
  constexpr size_t kMax = 8;
  const std::string& function = view.places.at(site).frame.function;
  std::vector<Operand> found;
  for (const Reference& row : view.dump.references.rows) {
    if (format::ReferenceRoot(row.root) != format::ReferenceRoot::local || row.scope != function || row.steps > 1)
      continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Operand& other) {
      return other.name == row.text && other.tensor == row.tensor;
    });
    if (!known) found.push_back({row.text, row.tensor});
  }
  std::stable_sort(found.begin(), found.end(), [&](const Operand& a, const Operand& b) {
    return view.dump.tensors[a.tensor].nbytes > view.dump.tensors[b.tensor].nbytes;
  });
  found.resize(std::min(found.size(), kMax));
  return found;
}

}  // namespace

Device subject_of(const Dump& dump) {
  if (dump.failure) {
    const bool of_device = of_a_device(*dump.failure) && !dump.failure->device.is_cpu();
    return of_device ? dump.failure->device : kHost;
  }
  // The share of what there is; without the driver's word any device that is in use goes before one that is not.
  Device fullest = kHost;
  double most = 0;
  for (const DeviceTotal& total : dump.totals.devices) {
    if (total.device.is_cpu() || total.device.type < 0 || total.live_bytes == 0) continue;
    double share = 1e-9;
    for (const DeviceMemory& memory : dump.device_memory) {
      if (memory.device == total.device && memory.driver_total != 0) {
        share = double(memory.driver_total - memory.driver_free) / double(memory.driver_total);
      }
    }
    if (share > most) most = share, fullest = total.device;
  }
  return fullest;
}

bool concerns(const Failure& failure, Device device) {
  return of_a_device(failure) ? failure.device == device : device.is_cpu();
}

OomAnalysis oom_analysis_of(const std::vector<View>& unfiltered, const std::vector<View>& on_device, Device device) {
  const View& view = unfiltered.back();
  OomAnalysis analysis;
  analysis.device = device;
  const std::optional<Failure>& failure = view.dump.failure;
  if (failure && concerns(*failure, device) && !nothing_failed(*failure)) analysis.request = failure->requested;
  for (const DeviceMemory& memory : view.dump.device_memory) {
    if (memory.device == device) analysis.cached = free_memory(&memory);
  }
  analysis.balance = device.is_cpu() ? host_balance(view) : device_balance(view, device, analysis.cached);
  analysis.places = group(on_device.back(), GroupBy::line);
  std::erase_if(analysis.places, [](const Group& group) { return group.bytes == 0; });
  std::stable_sort(analysis.places.begin(), analysis.places.end(), [](const Group& a, const Group& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label;
  });
  const RunningCode running(view, failure ? failure->site : 0);
  const RemedyCase about = {unfiltered, device, analysis.cached, analysis.balance, analysis.request, running};
  analysis.remedies = find_remedies(about);
  if (failure && failure->node_serial != 0) analysis.backward_site = running.backward_site();
  analysis.in_optimizer = analysis.request != 0 && running.in_optimizer();
  analysis.too_large = Headroom(about).too_large();
  if (analysis.too_large) analysis.operands = operands_of(view, failure->site);
  if (!view.dump.references.present) {
    analysis.remedies_missing = OomAnalysis::Missing::references;
  } else if (!view.dump.references.complete) {
    analysis.remedies_missing = OomAnalysis::Missing::some_references;
  }
  if (on_device.size() > 1) analysis.growth = difference(on_device, GroupBy::line);
  analysis.suspects = find_leaks({on_device.back()}, false).suspects;
  return analysis;
}

}  // namespace tensorscope::analyzer::oom
