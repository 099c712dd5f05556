#include "commands/held_text.h"

namespace tensorscope::commands {

using Kind = model::Holder::Kind;

std::string held_by(const OpenedDump& opened, const model::Group& group) {
  std::vector<std::string> texts;
  for (uint32_t tensor : group.speakers) {
    const std::vector<model::Holder>& holders = opened.holders.holders(tensor);
    if (holders.empty()) continue;
    const model::Holder& first = holders.front();
    const bool variable = first.kind == Kind::python || first.kind == Kind::cycle || first.kind == Kind::traceback;
    texts.push_back(variable ? "held by " + first.brief : first.brief);
  }
  return model::merged_names(texts);
}

std::string brief_holder(const OpenedDump& opened, uint32_t tensor) {
  const std::vector<model::Holder>& holders = opened.holders.holders(tensor);
  if (holders.empty()) return "";
  const std::string name = opened.holders.name(tensor);
  if (holders.front().text == name) return "";
  return holders.front().kind == Kind::saved ? holders.front().brief : holders.front().text;
}

}  // namespace tensorscope::commands
