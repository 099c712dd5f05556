#include "text/tensor_text.h"

#include "dump_generated.h"
#include "text/units.h"

namespace tensorscope::commands {

using format::TensorFlag;

std::string age_text(const model::Dump& dump, uint64_t created_ns) {
  if (created_ns == 0 || created_ns > dump.process.dump_ns) return "?";
  return render::age(dump.process.dump_ns - created_ns);
}

std::string category_text(const model::OpenedDump& opened, uint32_t tensor) {
  const model::Category category = opened.holders.category(tensor);
  return category == model::Category::unknown ? "" : model::text(category);
}

std::string traits(const model::OpenedDump& opened, uint32_t index) {
  const model::Tensor& tensor = opened.dump.tensors[index];
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
  if (tensor.storage != model::kNone) {
    model::StorageKind kind = opened.dump.storages[tensor.storage].kind;
    if (kind == model::StorageKind::external || kind == model::StorageKind::shared ||
        kind == model::StorageKind::pinned || kind == model::StorageKind::runtime) {
      add(model::text(kind));
    }
  }
  if (has(TensorFlag::released)) add("released");
  if (has(TensorFlag::freed_during_dump)) add("gone");
  if (has(TensorFlag::inherited)) add("inherited");
  return text;
}

uint64_t tensor_bytes(const model::OpenedDump& opened, const model::Selection& selection) {
  uint64_t sum = 0;
  const auto& items = opened.accounts.items();
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (selection.item(i) && items[i].storage != model::kNone) sum += selection.item_bytes(i);
  }
  return sum;
}

}  // namespace tensorscope::commands
