// SPDX-License-Identifier: Apache-2.0
#include "top/view.h"

#include <algorithm>

#include "text/dump/headline.h"

namespace tensorscope::top {

namespace {

using analyzer::Group;
using analyzer::GroupBy;

constexpr GroupBy kViews[] = {GroupBy::line,     GroupBy::module, GroupBy::category,
                              GroupBy::function, GroupBy::holder, GroupBy::dtype};

bool has_word(const std::string& text, const std::string& word) {
  const auto same = [](char a, char b) { return tolower(uint8_t(a)) == tolower(uint8_t(b)); };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

std::string label_of(const Group& group, GroupBy by, analyzer::OpenedDump& opened) {
  std::string label = group.label.empty() ? "(none)" : group.label;
  if (!analyzer::by_place(by)) return label;
  if (!group.modules.empty()) label += "  [" + group.modules + "]";
  const std::string source = group.site == 0 ? "" : opened.places.source_line(group.site);
  return source.empty() ? label : label + "  " + source;
}

}  // namespace

std::vector<Group> TopView::groups(GroupBy by) {
  const analyzer::Selection everything = sample_->choose({});
  return analyzer::group(sample_->view(everything), by);
}

void TopView::take(std::shared_ptr<analyzer::OpenedDump> sample) {
  const bool first = sample_ == nullptr;
  sample_ = std::move(sample);
  if (first) {
    mark();
  } else {
    update();
  }
}

void TopView::mark() {
  marked_.clear();
  std::vector<GroupBy> views(std::begin(kViews), std::end(kViews));
  if (std::find(views.begin(), views.end(), by_) == views.end()) views.push_back(by_);
  for (GroupBy by : views) {
    for (const Group& group : groups(by)) marked_[by][group.key] += group.bytes;
  }
  marked_total_ = sample_->accounts.total_bytes();
  mark_ns_ = dump().process.dump_ns;
  update();
}

void TopView::update() {
  rows_.clear();
  Bytes gone = marked_[by_];
  for (const Group& group : groups(by_)) {
    const auto before = gone.find(group.key);
    const uint64_t marked = before == gone.end() ? 0 : before->second;
    if (before != gone.end()) gone.erase(before);
    TopRow row{label_of(group, by_, *sample_), group.bytes, group.tensors, int64_t(group.bytes - marked)};
    if (filter_.empty() || has_word(row.label, filter_)) rows_.push_back(std::move(row));
  }
  const auto before = [&](const TopRow& a, const TopRow& b) {
    switch (sort_) {
      case TopSort::growth:
        if (a.growth != b.growth) return a.growth > b.growth;
        break;
      case TopSort::count:
        if (a.tensors != b.tensors) return a.tensors > b.tensors;
        break;
      case TopSort::name:
        return a.label < b.label;
      case TopSort::bytes:
        break;
    }
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label;
  };
  std::sort(rows_.begin(), rows_.end(), before);
}

void TopView::next_view() {
  const auto at = std::find(std::begin(kViews), std::end(kViews), by_);
  by_ = at == std::end(kViews) || at + 1 == std::end(kViews) ? kViews[0] : at[1];
  first_ = 0;
  if (!empty()) update();
}

void TopView::next_sort() {
  sort_ = TopSort((size_t(sort_) + 1) % kTopSorts.size());
  if (!empty()) update();
}

void TopView::set_filter(std::string filter) {
  filter_ = std::move(filter);
  first_ = 0;
  if (!empty()) update();
}

void TopView::scroll(int64_t rows) {
  const int64_t last = std::max<int64_t>(0, int64_t(rows_.size()) - 1);
  first_ = size_t(std::clamp<int64_t>(int64_t(first_) + rows, 0, last));
}

TopView::Screen TopView::screen(size_t most_rows) {
  Screen screen;
  screen.by = analyzer::text(by_);
  screen.total = sample_->accounts.total_bytes();
  scroll(0);  // rows may have gone from below those that are shown
  const size_t count = std::min(most_rows, rows_.size() - first_);
  screen.rows.assign(rows_.begin() + ptrdiff_t(first_), rows_.begin() + ptrdiff_t(first_ + count));
  TopHead& head = screen.head;
  head.process = text::process_line(dump().process);
  head.process.resize(std::min(head.process.size(), head.process.rfind(", ")));  // what triggered the dump was `top`
  head.live = screen.total;
  head.tensors = dump().tensors.size();
  head.growth = int64_t(screen.total - marked_total_);
  if (dump().process.dump_ns > mark_ns_) head.mark_age_ns = dump().process.dump_ns - mark_ns_;
  for (const analyzer::DeviceTotal& device : dump().totals.devices) {
    if (device.peak_bytes == 0) continue;
    head.devices.push_back({device.device.text(), device.live_bytes, device.peak_bytes, device.allocator_reserved});
  }
  head.by = screen.by;
  head.sort = kTopSorts[size_t(sort_)];
  head.filter = filter_;
  head.rows = rows_.size();
  head.first = first_;
  head.shown = count;
  return screen;
}

}  // namespace tensorscope::top
