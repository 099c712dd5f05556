// SPDX-License-Identifier: Apache-2.0
#include "timeline/memory_timeline.h"

namespace tensorscope::analyzer {

const DeviceCurve* MemoryTimeline::curve() const {
  for (const DeviceCurve& curve : curves) {
    if (curve.device == device) return &curve;
  }
  return nullptr;
}

Moment MemoryTimeline::peak() const {
  const DeviceCurve* of = curve();
  return of && of->peak_bytes != 0 ? Moment{of->peak_events, of->peak_ns} : Moment{events, end_ns};
}

}  // namespace tensorscope::analyzer
