// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/scenario.h"

#include "forecast/whatif/autocast.h"
#include "forecast/whatif/checkpoint.h"
#include "forecast/whatif/dtype.h"
#include "forecast/whatif/sharding.h"
#include "forecast/whatif/unfolding.h"

namespace tensorscope::analyzer::forecast {

Replay apply_scenario(const Replay& replay, const Sample& base, const Scenario& scenario) {
  Replay changed = replay;
  if (scenario.optimizer) with_optimizer(changed, base, *scenario.optimizer);
  if (scenario.ranks > 1) apply_sharding(changed, base, scenario.ranks);
  if (scenario.autocast) {
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
    under_autocast(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!scenario.dtype.empty()) {
    apply_dtype(changed, base, operations_of(changed, base));
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!scenario.checkpointed.empty()) under_checkpoint(changed, base, scenario.checkpointed);
  return changed;
}

}  // namespace tensorscope::analyzer::forecast
