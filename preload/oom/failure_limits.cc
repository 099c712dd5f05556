// SPDX-License-Identifier: Apache-2.0
#include "oom/failure_limits.h"

#include <algorithm>

#include "support/fresh_in_child.h"

namespace tensorscope::oom {

constinit FailureLimits g_failure_limits;
namespace {
FreshInChild g_fresh_limits{g_failure_limits};
}  // namespace

bool FailureLimits::too_soon(SiteId site, uint64_t now_ns, uint64_t interval_ns) const {
  const Dumped* end = rows_ + std::min<size_t>(dumps_, kRows);
  return std::any_of(rows_, end, [&](const Dumped& row) { return row.site == site && now_ns - row.ns < interval_ns; });
}

bool FailureLimits::count(SiteId site, uint64_t now_ns, const Settings& settings, Counts& counts) {
  SpinGuard guard(lock_);
  if (!guard) return false;
  const bool dump = dumps_ < settings.most_dumps && !too_soon(site, now_ns, settings.interval_ns);
  if (dump) rows_[dumps_++ % kRows] = {site, now_ns};
  ++counts_.failures;
  counts_.without_dump += !dump;
  counts = counts_;
  return dump;
}

bool FailureLimits::more(const Settings& settings) {
  SpinGuard guard(lock_);
  return guard && dumps_ < settings.most_dumps;
}

}  // namespace tensorscope::oom
