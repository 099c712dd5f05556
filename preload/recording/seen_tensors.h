// SPDX-License-Identifier: Apache-2.0
// What tensors are that live from one flush to the next: read while they live, and again later, since resize_(), set_()
// and `.data =` make no event.
//
// Context: collector. It allocates.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "live/event_log.h"
#include "live/snapshot_view.h"
#include "tensorscope/event_stream.h"
#include "torch/metadata/metadata.h"

namespace tensorscope::recording {

class SeenTensors {
 public:
  enum class Extent : uint8_t {
    share,  // all that are new, and the next kShare of the others
    all,
  };
  static constexpr size_t kShare = 16384;

  // What is alive begins anew.
  void begin(const live::SnapshotView& view);
  // A tensor_made, which was at `ns`.
  void made(const live::Event& event, uint64_t ns);
  void gone(Serial serial) { alive_.erase(serial); }

  std::vector<live::TensorEntry> newest(size_t most) const;

  // Of each plain tensor that is new or not what it was the last time an event: all but order, time and thread. Those
  // that are new and no plain tensors come out as `others`, by serial.
  void look(torch::MetadataReader& reader, Extent extent, std::vector<format::RecordedEvent>& events,
            std::vector<live::TensorEntry>& others);

 private:
  struct Alive {
    live::TensorEntry entry;
    uint64_t digest = 0;  // of what it was; 0: not looked at
  };
  using Map = std::map<Serial, Alive>;
  void look_at(torch::MetadataReader& reader, Map::iterator first, size_t count,
               std::vector<format::RecordedEvent>& events, std::vector<live::TensorEntry>& others);

  Map alive_;
  Serial newest_ = 0;  // that was looked at
  Serial again_ = 0;   // looked at again up to here
};

}  // namespace tensorscope::recording
