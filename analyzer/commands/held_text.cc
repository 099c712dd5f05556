#include "commands/held_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/holders.h"

namespace tensorscope::commands {

namespace {

using Kind = model::Holder::Kind;

constexpr std::string_view kArrow = " <- ";
constexpr std::string_view kHeldBy = "held by ";
constexpr std::string_view kSavedBy = "saved by ";

// Holders of one root, told apart by how the text begins ("saved by BmmBackward0.self") and where it ends.
struct OneRoot {
  size_t tensors = 0, first = 0;
  std::map<std::string, size_t> begins;
  std::vector<std::string> ends;
};

// The commonest, then how many others there are: "AddmmBackward0.mat1 and 3 other slots".
std::string commonest_slot(const OneRoot& root) {
  const auto most = std::max_element(root.begins.begin(), root.begins.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = most->first;
  const size_t rest = root.begins.size() - 1;
  if (rest != 0) text += " and " + std::to_string(rest) + " other slot" + (rest == 1 ? "" : "s");
  return text;
}

void add(OneRoot& root, const model::Holder& holder) {
  root.tensors++;
  const bool variable = holder.kind == Kind::python || holder.kind == Kind::cycle || holder.kind == Kind::traceback;
  const std::string text = variable ? std::string(kHeldBy) + holder.brief : holder.brief;
  const size_t arrow = text.find(kArrow);
  if (holder.kind != Kind::saved || !text.starts_with(kSavedBy) || arrow == std::string::npos) {
    root.begins[text]++;
    return;
  }
  root.begins[text.substr(0, arrow)]++;
  root.ends.push_back(text.substr(arrow + kArrow.size()));
}

}  // namespace

std::string held_by(const OpenedDump& opened, const model::Group& group) {
  std::map<std::pair<std::string, bool>, OneRoot> roots;  // by what to group by, and whether the graph is in between
  for (uint32_t tensor : group.speakers) {
    const std::vector<model::Holder>& holders = opened.holders.holders(tensor);
    if (holders.empty()) continue;
    const model::Holder& holder = holders.front();
    OneRoot& root = roots[{holder.root, holder.kind == Kind::saved}];
    if (root.tensors == 0) root.first = roots.size();
    add(root, holder);
  }
  if (roots.empty()) return "";
  const OneRoot* most = nullptr;
  for (const auto& [name, root] : roots) {
    if (most == nullptr || root.tensors > most->tensors ||
        (root.tensors == most->tensors && root.first < most->first)) {
      most = &root;
    }
  }
  std::string text;
  if (most->ends.empty()) {
    std::vector<std::string> texts;
    // Said once for all of them, where it is so.
    const bool held = std::all_of(most->begins.begin(), most->begins.end(),
                                  [](const auto& begin) { return begin.first.starts_with(kHeldBy); });
    for (const auto& [begin, times] : most->begins) {
      texts.insert(texts.end(), times, held ? begin.substr(kHeldBy.size()) : begin);
    }
    text = (held ? std::string(kHeldBy) : "") + model::merged_names(texts);
  } else {
    text = commonest_slot(*most) + std::string(kArrow) + model::merged_names(most->ends);
  }
  if (roots.size() > 1)
    text += "; " + std::to_string(roots.size() - 1) + " other holder" + (roots.size() > 2 ? "s" : "");
  return text;
}

std::string brief_holder(const OpenedDump& opened, uint32_t tensor) {
  const std::vector<model::Holder>& holders = opened.holders.holders(tensor);
  if (holders.empty()) return "";
  const std::string name = opened.holders.name(tensor);
  if (holders.front().text == name) return "";
  return holders.front().kind == Kind::saved ? holders.front().brief : holders.front().text;
}

}  // namespace tensorscope::commands
