// SPDX-License-Identifier: Apache-2.0
// Who has a memory: a tree of parts (part.h) whose sums agree to the byte.
//
// A part that has parts below it is the sum of these wherever all of them are known; what numbers leave open is a part
// `unexplained`, which may be negative and says why. Built once a command, in time linear to the dump.
#pragma once

#include <cstdint>

#include "memory/grouping.h"
#include "oom/balance_node.h"
#include "oom/free_memory.h"

namespace tensorscope::analyzer::oom {

// The memory of a device: its driver's total, down to tensors by category and module. `view`: everything selected.
BalanceNode device_balance(const View& view, Device device, const FreeMemory& cached);

// Memory of the host as this process has it: torch's, malloc's, the rest of what is resident, and the limits around it.
BalanceNode host_balance(const View& view);

// What is allocated on a device: tensors by category and module, shared or mapped memory, blocks in no
// tensor by who asked for them, rounding. Its bytes are the allocator's own total where that is known.
BalanceNode allocated(const View& view, Device device);

// A number of a dump, which may be anything: sums over a few of these do not overflow.
constexpr int64_t counted(uint64_t bytes) {
  constexpr uint64_t kMax = uint64_t{1} << 56;
  return int64_t(bytes < kMax ? bytes : kMax);
}

// Bytes of the balance that torch allocated: 100 % of the shares in the answer. 0: not known.
uint64_t in_use(const BalanceNode& balance);

// Of a balance of the host: what other code than torch's has by malloc, or Python's heap, where that alone is more than
// half of what is resident. Null: torch's memory counts for more, or it is not known.
const BalanceNode* mostly_outside(const BalanceNode& balance);
// What this process has in memory, of a balance of the host; 0: not known.
uint64_t resident(const BalanceNode& balance);

}  // namespace tensorscope::analyzer::oom
