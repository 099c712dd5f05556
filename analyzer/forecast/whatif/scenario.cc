#include "forecast/whatif/scenario.h"

#include "forecast/whatif/autocast.h"
#include "forecast/whatif/checkpoint.h"
#include "forecast/whatif/dtype.h"
#include "forecast/whatif/sharding.h"
#include "forecast/whatif/unfolding.h"

namespace tensorscope::analyzer::forecast {

Play with_changes(const Play& play, const Sample& base, const Changes& changes) {
  Play changed = play;
  if (changes.optimizer) with_optimizer(changed, base, *changes.optimizer);
  if (changes.ranks > 1) over_ranks(changed, base, changes.ranks);
  if (changes.autocast) {
    may_unfold(changed, base, operations_of(changed, base), weights_of(base));
    under_autocast(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.dtype.empty()) {
    in_half(changed, base, operations_of(changed, base));
    may_unfold(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.checkpointed.empty()) under_checkpoint(changed, base, changes.checkpointed);
  return changed;
}

}  // namespace tensorscope::analyzer::forecast
