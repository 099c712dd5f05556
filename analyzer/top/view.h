// SPDX-License-Identifier: Apache-2.0
// What of a program's memory is on the screen: how it is grouped, sorted and filtered, and the mark that growth is
// measured from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/opened_dump.h"
#include "top/report.h"

namespace tensorscope::top {

enum class TopSort : uint8_t { bytes, growth, count, name };
inline constexpr std::array<const char*, 4> kTopSorts = {"bytes", "growth", "count", "name"};

class TopView {
 public:
  TopView(analyzer::GroupBy by, TopSort sort, std::string filter) : by_(by), sort_(sort), filter_(std::move(filter)) {}

  // The first sample is the mark.
  void take(std::shared_ptr<analyzer::OpenedDump> sample);
  bool empty() const { return sample_ == nullptr; }
  const analyzer::Dump& dump() const { return sample_->dump; }
  // Returns what of the last sample's stacks could not be read; nothing for an empty view.
  analyzer::UnreadFiles unread() const { return sample_ ? sample_->places.unread().files() : analyzer::UnreadFiles(); }

  // Whether rows are by something that only a look at the program's objects finds.
  bool needs_names() const { return by_ == analyzer::GroupBy::category || by_ == analyzer::GroupBy::holder; }

  void next_view();
  void next_sort();
  void set_filter(std::string filter);
  const std::string& filter() const { return filter_; }
  void mark();
  void scroll(int64_t rows);

  // The screen for this many lines of table, without what only the loop knows.
  struct Screen {
    TopHead head;
    std::vector<TopRow> rows;
    uint64_t total = 0;
    std::string by;
  };
  Screen screen(size_t most_rows);

 private:
  using Bytes = std::map<std::string, uint64_t>;  // by key of a group
  std::vector<analyzer::Group> groups(analyzer::GroupBy by);
  void update();

  analyzer::GroupBy by_;
  TopSort sort_;
  std::string filter_;
  std::shared_ptr<analyzer::OpenedDump> sample_;
  std::map<analyzer::GroupBy, Bytes> marked_;
  uint64_t marked_total_ = 0, mark_ns_ = 0;
  std::vector<TopRow> rows_;
  size_t first_ = 0;
};

}  // namespace tensorscope::top
