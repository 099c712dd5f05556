// SPDX-License-Identifier: Apache-2.0
#include "values/name_series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace tensorscope::values {

void Line::add(Point point) {
  if (spans_.empty() || in_last_ == per_span_) {
    if (spans_.size() == kMax / 2) merge();
    spans_.push_back({point, point, std::isnan(point.y)});
    in_last_ = 1;
    return;
  }
  Span& last = spans_.back();
  ++in_last_;
  last.broken |= std::isnan(point.y);
  if (std::isnan(last.low.y) || point.y < last.low.y) last.low = point;
  if (std::isnan(last.high.y) || point.y > last.high.y) last.high = point;
}

void Line::merge() {
  for (size_t i = 0; i < spans_.size() / 2; ++i) {
    const Span &a = spans_[2 * i], &b = spans_[2 * i + 1];
    Span both = a;
    both.broken |= b.broken;
    if (std::isnan(both.low.y) || b.low.y < both.low.y) both.low = b.low;
    if (std::isnan(both.high.y) || b.high.y > both.high.y) both.high = b.high;
    spans_[i] = both;
  }
  spans_.resize(spans_.size() / 2);
  per_span_ *= 2;
  in_last_ = per_span_;
}

std::vector<Point> Line::points() const {
  std::vector<Point> out;
  for (const Span& span : spans_) {
    const auto [first, second] =
        span.low.x <= span.high.x ? std::pair(span.low, span.high) : std::pair(span.high, span.low);
    out.push_back(first);
    if (span.broken && !std::isnan(first.y)) out.push_back({first.x, std::numeric_limits<double>::quiet_NaN()});
    if (second.x != first.x || second.y != first.y) {
      if (!std::isnan(second.y)) out.push_back(second);
    }
  }
  return out;
}

std::vector<NameSeries> name_series(const std::vector<std::unique_ptr<ValuesFile>>& files, const ValueFilter& filter,
                                    const std::vector<Stat>& stats) {
  std::vector<NameSeries> out;
  std::map<std::tuple<std::string_view, std::string_view, format::StepMode>, size_t> at;
  for (size_t file = 0; file < files.size(); ++file) {
    NameCache names(filter);
    files[file]->for_each_value([&](const Value& value) {
      if (!names.takes(value)) return true;
      const std::optional<Statistics> statistics = statistics_of(*files[file], value);
      if (!statistics) return true;
      const auto [found, fresh] = at.try_emplace({value.name, value.operation, value.mode}, out.size());
      if (fresh) out.push_back({value.name, value.operation, value.mode, {}});
      NameSeries& series = out[found->second];
      auto line = std::find_if(series.lines.begin(), series.lines.end(),
                               [&](const NameLine& each) { return each.file == file; });
      if (line == series.lines.end()) {
        for (const Stat stat : stats) series.lines.push_back({file, stat, {}});
        line = series.lines.end() - ptrdiff_t(stats.size());
      }
      for (size_t i = 0; i < stats.size(); ++i, ++line) {
        const std::optional<double> y = number_of(*statistics, line->stat);
        line->line.add({double(value.step), y.value_or(std::numeric_limits<double>::quiet_NaN())});
      }
      return true;
    });
  }
  return out;
}

}  // namespace tensorscope::values
