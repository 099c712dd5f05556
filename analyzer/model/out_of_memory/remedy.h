// Something that would make room for a request, what it takes, and how much it would give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::model::oom {

enum class RemedyKind : uint8_t {
  empty_cache,          // cached segments that are wholly free
  other_stream,         // a free piece that is large enough, of another stream
  private_pool,         // the same, of a CUDA graph or MemPool
  expandable_segments,  // the free pieces together would do
  collect_garbage,      // unreachable cycles
  drop_holder,          // a container, an accumulated graph, an exception
  checkpoint,           // compute a module's activations again in backward
  smaller_batch,
  other_process,
  child_processes,
  process_limit  // the device or machine has room; something else holds this process back
};
const char* name(RemedyKind kind);  // "empty-cache"

// Whether the request would fit then. `may`: there is enough, but not surely in one piece or at once.
enum class Fits : uint8_t { unknown, no, may, yes };
const char* name(Fits fits);

struct Remedy {
  RemedyKind kind = RemedyKind::empty_cache;
  std::string subject{};   // "train.py: losses[0..95] (list)", "model.layers.*", "pid 991"
  std::string takes{};     // one sentence: what to do
  std::string reckoned{};  // one sentence: how its bytes are worked out, "" where they are plain
  uint64_t bytes = 0;
  bool at_most = false;  // an upper bound
  Fits fits = Fits::unknown;
  uint64_t missing = 0;  // where it does not fit: what is missing still
};

}  // namespace tensorscope::model::oom
