// SPDX-License-Identifier: Apache-2.0
#include "text/dump/holders.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ownership/holders.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using Kind = analyzer::Holder::Kind;

constexpr std::string_view kArrow = " <- ";
constexpr std::string_view kHeldBy = "held by ";
constexpr std::string_view kSavedBy = "saved by ";

// Holders of one root, told apart by how the text begins ("saved by BmmBackward0.self") and where it ends.
struct OneRoot {
  uint64_t bytes = 0;
  size_t tensors = 0, first = 0;
  bool not_looked_up = false;
  std::vector<analyzer::WeighedName> begins, ends;
};

// The one that holds the most, then how many others there are: "AddmmBackward0.mat1 and 3 other slots".
std::string largest_slot(const OneRoot& root) {
  std::map<std::string, std::pair<uint64_t, size_t>> slots;
  for (const auto& [begin, bytes] : root.begins) {
    slots[begin].first += bytes;
    slots[begin].second++;
  }
  const auto most =
      std::max_element(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = most->first;
  const size_t rest = slots.size() - 1;
  if (rest != 0) text += " and " + std::to_string(rest) + " other slot" + (rest == 1 ? "" : "s");
  return text;
}

void add(OneRoot& root, const analyzer::Holder& holder, uint64_t bytes) {
  root.tensors++;
  root.bytes += bytes;
  const bool variable = holder.kind == Kind::python || holder.kind == Kind::cycle || holder.kind == Kind::traceback;
  const std::string text = variable ? std::string(kHeldBy) + holder.brief : holder.brief;
  const size_t arrow = text.find(kArrow);
  if (holder.kind != Kind::saved || !text.starts_with(kSavedBy) || arrow == std::string::npos) {
    root.begins.emplace_back(text, bytes);
    return;
  }
  root.begins.emplace_back(text.substr(0, arrow), bytes);
  root.ends.emplace_back(text.substr(arrow + kArrow.size()), bytes);
}

std::string text_of(const OneRoot& root) {
  if (!root.ends.empty()) return largest_slot(root) + std::string(kArrow) + analyzer::merged_names(root.ends);
  // Said once for all of them, where it is so.
  const bool held = std::all_of(root.begins.begin(), root.begins.end(),
                                [](const auto& begin) { return begin.first.starts_with(kHeldBy); });
  if (!held) return analyzer::merged_names(root.begins);
  std::vector<analyzer::WeighedName> texts;
  for (const auto& [begin, bytes] : root.begins) texts.emplace_back(begin.substr(kHeldBy.size()), bytes);
  return std::string(kHeldBy) + analyzer::merged_names(texts);
}

// Those that hold the most bytes first.
std::vector<OneRoot> roots_of(const analyzer::OpenedDump& opened, const analyzer::Group& group) {
  std::map<std::pair<std::string, bool>, OneRoot> roots;  // by what to group by, and whether the graph is in between
  for (uint32_t tensor : group.representatives) {
    const std::vector<analyzer::Holder>& holders = opened.holders.holders(tensor);
    if (holders.empty()) continue;
    const analyzer::Holder& holder = holders.front();
    OneRoot& root = roots[{holder.root, holder.kind == Kind::saved}];
    if (root.tensors == 0) {
      root.first = roots.size();
      root.not_looked_up = analyzer::is_not_looked_up(holder);
    }
    add(root, holder, opened.accounts.items()[opened.accounts.item_of_tensor(tensor)].bytes);
  }
  std::vector<OneRoot> order;
  for (auto& [name, root] : roots) order.push_back(std::move(root));
  std::sort(order.begin(), order.end(), [](const OneRoot& a, const OneRoot& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.tensors != b.tensors ? a.tensors > b.tensors : a.first < b.first;
  });
  return order;
}

}  // namespace

std::vector<std::string> holder_lines(const std::vector<HolderShare>& shares) {
  constexpr size_t kMax = 3;
  constexpr uint64_t kMinPart = 10;  // of the bytes: what has less is only counted
  uint64_t all = 0, rest = 0;
  for (const HolderShare& share : shares) all += share.bytes;
  std::vector<std::string> lines;
  for (const HolderShare& share : shares) {
    const bool shown = lines.empty() || (lines.size() < kMax && all > 0 && share.bytes >= all / kMinPart);
    if (!shown) {
      rest += share.bytes;
      continue;
    }
    lines.push_back(share.text);
    if (shares.size() > 1 && all > 0) lines.back() += ", " + text::bytes(share.bytes);
  }
  if (const size_t others = shares.size() - lines.size(); others > 0) {
    lines.back() += "; " + text::counted(others, "other holder");
    if (rest > 0) lines.back() += ", " + text::bytes(rest);
  }
  return lines;
}

std::vector<std::string> held_lines(const analyzer::OpenedDump& opened, const analyzer::Group& group) {
  std::vector<HolderShare> shares;
  bool known = !opened.dump.moment;
  for (const OneRoot& root : roots_of(opened, group)) {
    known |= !root.not_looked_up;
    shares.push_back({text_of(root), root.bytes});
  }
  return known ? holder_lines(shares) : std::vector<std::string>();
}

std::string held_by(const analyzer::OpenedDump& opened, const analyzer::Group& group) {
  std::string text;
  for (const std::string& line : held_lines(opened, group)) text += (text.empty() ? "" : "; ") + line;
  return text;
}

std::string brief_holder(const analyzer::OpenedDump& opened, uint32_t tensor) {
  const std::vector<analyzer::Holder>& holders = opened.holders.holders(tensor);
  if (holders.empty()) return "";
  const std::string name = opened.holders.name(tensor);
  if (holders.front().text == name) return "";
  const bool unknown = analyzer::is_not_looked_up(holders.front());
  if (unknown && opened.dump.moment) return "";
  return unknown || holders.front().kind == Kind::saved ? holders.front().brief : holders.front().text;
}

}  // namespace tensorscope::text
