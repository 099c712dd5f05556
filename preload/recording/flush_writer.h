// SPDX-License-Identifier: Apache-2.0
// One flush: what waits in the event log, encoded, in chunks.
//
// Context: collector. It allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "live/event_log.h"
#include "recording/seen_tensors.h"
#include "recording/window.h"
#include "support/ticks.h"
#include "tensorscope/event_stream.h"

namespace tensorscope::recording {

// Its number in the file, what it is complete up to, and its time.
struct Flush {
  uint32_t number = 0;
  Serial serial = 0;
  uint64_t begin_ns = 0, end_ns = 0;
};

class FlushWriter {
 public:
  // `bytes`: a buffer that is used again from flush to flush. `tensors` learns which were made and which have ended.
  FlushWriter(const Flush& flush, const TickClock& clock, Window& file, SeenTensors& tensors,
              std::vector<uint8_t>& bytes)
      : flush_(flush), clock_(clock), file_(file), tensors_(tensors), bytes_(bytes) {}

  // What the lane holds up to that end. False: it could not be written; it is forgotten all the same.
  bool add(unsigned lane, const live::EventsEnd& end);
  // What tensors are that live at the end of this flush; order and time are set.
  bool add(std::vector<format::RecordedEvent>& seen);

 private:
  void encode(format::EventEncoder& encoder, const format::RecordedEvent& event);
  bool write_if_much(format::EventEncoder& encoder);
  bool write_rest() { return count_ == 0 || write(); }
  bool write();
  void note_tensor(const live::Event& event);

  const Flush flush_;
  const TickClock& clock_;
  Window& file_;
  SeenTensors& tensors_;
  std::vector<uint8_t>& bytes_;
  format::RecordedEvent event_;
  size_t at_ = 0, count_ = 0;
};

}  // namespace tensorscope::recording
