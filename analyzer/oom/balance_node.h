// SPDX-License-Identifier: Apache-2.0
// A part of a balance: who has how much of a memory, as codes, names of the program, and numbers. The words are in
// text/oom/balance_phrases.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oom/free_memory.h"
#include "ownership/category.h"

namespace tensorscope::analyzer::oom {

enum class BalanceKind : uint8_t {
  device,
  free,
  this_process,
  reserved,  // by torch's allocator
  allocated,
  tensors,
  category,  // of tensors
  module,    // of a category
  in_no_tensor,
  caller,  // of what is in no tensor
  other_callers,
  rounding,
  waiting,  // freed, but a stream may still use it
  cached,
  pool,  // of what is cached
  libraries,
  library,
  context,
  context_and_pool,  // the same, with cudaMallocAsync's pool
  outside_torch,     // where the driver does not tell processes apart
  other_processes,
  process,
  unexplained,  // what is missing between a part and the sum of its parts
  // Of the host.
  cgroup,
  machine,
  address_space,
  private_memory,
  shared_memory,  // /dev/shm
  left,
  resident_process,  // this process, by what is resident
  torch,
  pinned,
  profiler,
  malloc_in_use,
  malloc_free,
  python_heap,
  rest,
  not_resident,
  child_processes,
  unheld_files,  // in shared memory, of no process
  others
};

// A remark on a part besides its bytes.
enum class NoteKind : uint8_t {
  none,
  text,         // PartNote::text: the device's name, why the driver did not answer
  storages,     // count
  blocks,       // count; other: tensors that were freed while the dump was written
  more_places,  // count
  pieces,       // count; bytes: of the largest
  pids,         // numbers
  pids_without_bytes,
  children,  // count
  files,     // count; bytes: of these, in removed ones; text: of a process, its name; of others, the largest file's
  by_driver,
  by_cuda_runtime,
  by_remainder,  // the device's total less what is free and what other processes have
  stream_may_use,
  ends_of_blocks,
  cache_not_told,
  pieces_not_known,
  driver_not_in_dump,
  total_not_told,
  processes_not_told,
  resident_not_known,
  page_locked,
  outside_torch,
  kept_for_later,
  arenas,
  code_files_stacks,
  code_files_stacks_arenas,
  code_files_stacks_malloc,
  copied_tables,  // as of the moment at which the tables were copied
  counts_against_limit,
  group_and_files,
  processes_and_kernel,
  // Why a part is `unexplained`.
  storages_overlap,
  made_while_copying,
  other_moment,
  not_seen,
  less_than_torch,
  less_than_recorded,
  drivers_own,
  never_written,
  shared_counted
};

struct PartNote {
  NoteKind kind = NoteKind::none;
  uint64_t count = 0, other = 0, bytes = 0;
  std::string text{};
  std::vector<uint64_t> numbers{};
};

struct BalanceNode {
  BalanceKind kind = BalanceKind::device;
  std::optional<int64_t> bytes{};  // none: not known
  PartNote note{};
  Category category = Category::unknown;  // of that kind
  std::string subject{};                  // of a module, a caller, a library, a device: its name
  uint64_t pid = 0;                       // of a process
  FreePart pool{};                        // of a pool
  bool with_stream = false;               // the pool's stream is worth telling
  std::vector<BalanceNode> parts{};
  bool optional = false;  // not worth a line where it is 0

  const BalanceNode* find(BalanceKind wanted) const;  // a part below, at any depth; null: none
};

std::string name(const BalanceNode& part);  // for programs: "allocated", "saved activation"

BalanceNode balance_node(BalanceKind kind, int64_t bytes, PartNote note = {});
BalanceNode optional_node(BalanceKind kind, int64_t bytes, PartNote note = {});  // optional

// Adds what is missing between a part and the sum of its parts.
void add_remainder(BalanceNode& part, NoteKind why);

}  // namespace tensorscope::analyzer::oom
