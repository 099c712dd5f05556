// SPDX-License-Identifier: Apache-2.0
#include "text/dump/tensor_phrases.h"

#include "dump_generated.h"
#include "text/dump/moment_phrases.h"
#include "text/units.h"

namespace tensorscope::text {

using format::TensorFlag;

std::string age_text(const analyzer::Dump& dump, uint64_t created_ns) {
  if (created_ns == 0 || created_ns > dump.process.dump_ns) return "?";
  return text::age(dump.process.dump_ns - created_ns);
}

std::string category_text(const analyzer::OpenedDump& opened, uint32_t tensor) {
  const analyzer::Category category = opened.holders.category(tensor);
  if (category == analyzer::Category::unknown) return "";
  const bool inferred = opened.holders.category_source(tensor) == analyzer::CategorySource::inferred;
  return std::string(analyzer::text(category)) + (inferred ? kInferredMark : "");
}

std::string traits(const analyzer::OpenedDump& opened, uint32_t index) {
  const analyzer::Tensor& tensor = opened.dump.tensors[index];
  auto has = [&](TensorFlag flag) { return (tensor.flags & uint32_t(flag)) != 0; };
  std::string text;
  auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  bool owner = opened.accounts.items()[opened.accounts.item_of_tensor(index)].tensor == index;
  if (has(TensorFlag::view)) {
    add("view");
  } else if (!owner) {
    add("alias");
  }
  if (!tensor.grad_fn_name.empty()) add(tensor.grad_fn_name);
  if (tensor.layout > 0) add(tensor.layout_text());
  if (tensor.storage != analyzer::kNone) {
    analyzer::StorageKind kind = opened.dump.storages[tensor.storage].kind;
    if (kind == analyzer::StorageKind::external || kind == analyzer::StorageKind::shared ||
        kind == analyzer::StorageKind::pinned || kind == analyzer::StorageKind::runtime) {
      add(analyzer::text(kind));
    }
  }
  if (has(TensorFlag::released)) add("released");
  if (has(TensorFlag::freed_during_dump)) add("gone");
  if (has(TensorFlag::inherited)) add("inherited");
  return text;
}

std::string unknown_memory_phrase(const analyzer::UnknownMemory& unknown) {
  std::string words;
  if (unknown.unread != 0) words = counted(unknown.unread, "tensor") + " that could not be read";
  if (unknown.freed_during_dump == 0) return words;
  if (!words.empty()) words += " and ";
  return words + counted(unknown.freed_during_dump, "tensor") + " freed while the dump was written";
}

uint64_t tensor_bytes(const analyzer::OpenedDump& opened, const analyzer::Selection& selection) {
  uint64_t sum = 0;
  const auto& items = opened.accounts.items();
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (selection.item(i) && items[i].storage != analyzer::kNone) sum += selection.item_bytes(i);
  }
  return sum;
}

}  // namespace tensorscope::text
