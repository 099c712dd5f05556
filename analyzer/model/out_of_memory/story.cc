#include "model/out_of_memory/story.h"

#include <algorithm>

#include "dump_generated.h"
#include "model/out_of_memory/remedies.h"

namespace tensorscope::model::oom {

namespace {

bool nothing_failed(const Failure& failure) { return failure.kind == uint8_t(dump::FailureKind::low_memory); }

bool of_a_device(const Failure& failure) {
  return failure.kind == uint8_t(dump::FailureKind::device) ||
         (nothing_failed(failure) && failure.limit == uint8_t(dump::MemoryLimit::device));
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

Story story_of(const std::vector<View>& whole, const std::vector<View>& on_device, Device device) {
  const View& view = whole.back();
  Story story;
  story.device = device;
  const std::optional<Failure>& failure = view.dump.failure;
  if (failure && concerns(*failure, device) && !nothing_failed(*failure)) story.request = failure->requested;
  for (const DeviceMemory& memory : view.dump.device_memory) {
    if (memory.device == device) story.cached = free_memory(&memory);
  }
  story.balance = device.is_cpu() ? host_balance(view) : device_balance(view, device, story.cached);
  story.places = group(on_device.back(), By::line);
  std::erase_if(story.places, [](const Group& group) { return group.bytes == 0; });
  std::stable_sort(story.places.begin(), story.places.end(), [](const Group& a, const Group& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label;
  });
  story.remedies = find_remedies({whole, device, story.cached, story.balance, story.request});
  if (!view.dump.references.present) {
    story.remedies_missing = "what Python holds is not in this dump: garbage, holders and checkpointing are left out";
  } else if (!view.dump.references.complete) {
    story.remedies_missing = "Python was not looked at whole: " + view.dump.references.detail;
  }
  if (on_device.size() > 1) story.growth = difference(on_device, By::line);
  return story;
}

}  // namespace tensorscope::model::oom
