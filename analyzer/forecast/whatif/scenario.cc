// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/scenario.h"

#include "forecast/whatif/autocast.h"
#include "forecast/whatif/checkpoint.h"
#include "forecast/whatif/dtype.h"
#include "forecast/whatif/sharding.h"
#include "forecast/whatif/unfolding.h"

namespace tensorscope::analyzer::forecast {

Replay with_changes(const Replay& replay, const Sample& base, const Changes& changes) {
  Replay changed = replay;
  if (changes.optimizer) with_optimizer(changed, base, *changes.optimizer);
  if (changes.ranks > 1) apply_sharding(changed, base, changes.ranks);
  if (changes.autocast) {
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
    under_autocast(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.dtype.empty()) {
    apply_dtype(changed, base, operations_of(changed, base));
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.checkpointed.empty()) under_checkpoint(changed, base, changes.checkpointed);
  return changed;
}

}  // namespace tensorscope::analyzer::forecast
