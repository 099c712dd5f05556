// SPDX-License-Identifier: Apache-2.0
#include "export/json/tensors.h"

#include <unordered_map>

#include "dump_generated.h"
#include "export/json/dump_fields.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

bool knows(const analyzer::Tensor& tensor, format::TensorKnown what) { return tensor.known & uint32_t(what); }
bool flagged(const analyzer::Tensor& tensor, format::TensorFlag what) { return tensor.flags & uint32_t(what); }

class TensorRows {
 public:
  TensorRows(const Dump& dump, analyzer::Symbols& symbols, StackTexts& stacks, const ExportOptions& options)
      : dump_(dump), symbols_(symbols), stacks_(stacks), options_(options) {
    for (const analyzer::Tensor& tensor : dump.tensors) by_address_.emplace(tensor.address, tensor.serial);
  }

  std::string tensor(size_t index) {
    const analyzer::Tensor& t = dump_.tensors[index];
    auto if_known = [&](format::TensorKnown what, const Json& value) { return knows(t, what) ? value : Json(nullptr); };
    auto grad = knows(t, format::TensorKnown::grad) ? by_address_.find(t.grad) : by_address_.end();
    Json row = {
        {"id", t.serial},
        {"address", t.address},
        {"class", t.class_name.str()},
        {"shape", if_known(format::TensorKnown::sizes, std::vector(t.sizes.begin(), t.sizes.end()))},
        {"strides", if_known(format::TensorKnown::strides, std::vector(t.strides.begin(), t.strides.end()))},
        {"dtype", if_known(format::TensorKnown::dtype, t.dtype_text())},
        {"device", if_known(format::TensorKnown::device, t.device.text())},
        {"layout", if_known(format::TensorKnown::layout, t.layout_text())},
        {"requires_grad", if_known(format::TensorKnown::requires_grad, flagged(t, format::TensorFlag::requires_grad))},
        {"is_leaf", if_known(format::TensorKnown::leaf, flagged(t, format::TensorFlag::leaf))},
        {"is_view", t.knows_view() ? Json(t.is_view()) : Json(nullptr)},
        {"numel", if_known(format::TensorKnown::sizes, t.numel)},
        {"itemsize", if_known(format::TensorKnown::dtype, t.itemsize)},
        {"nbytes", t.knows_size() ? Json(t.nbytes) : Json(nullptr)},
        {"storage", t.storage == analyzer::kNone ? Json(nullptr) : Json(dump_.storages[t.storage].id)},
        {"memory_is_known", t.knows_memory()},
        {"storage_offset", t.knows_offset() ? Json(t.storage_offset) : Json(nullptr)},
        {"grad_fn", text_or_null(t.grad_fn_name)},
        {"grad", grad == by_address_.end() || t.grad == 0 ? Json(nullptr) : Json(grad->second)},
        {"version", t.version == analyzer::kNone ? Json(nullptr) : Json(t.version)},
        {"names", names(index)},
        {"category", index < options_.categories.size() ? options_.categories[index] : "unknown"},
        {"evidence", options_.holders ? text_or_null(options_.holders->evidence(uint32_t(index))) : Json(nullptr)},
        {"category_source", options_.holders
                                ? text_or_null(analyzer::text(options_.holders->category_source(uint32_t(index))))
                                : Json(nullptr)},
        {"holders", holders(index)},
        {"holder_count", options_.holders ? options_.holders->holder_count(uint32_t(index)) : 0},
        {"module", options_.holders ? text_or_null(options_.holders->module(uint32_t(index))) : Json(nullptr)},
        {"type", python_type(index)},
        {"python_id", python_id(index)},
        {"thread", tid_json(dump_, t.thread)},
        {"thread_name", thread_name_json(dump_, t.thread)},
        {"created_ns", t.created_ns},
        {"age_ns", age_json(dump_, t.created_ns)},
        {"released", flagged(t, format::TensorFlag::released)},
        {"inherited", flagged(t, format::TensorFlag::inherited)},
        {"note", text_or_null(t.note)},
        {"module_path", text_or_null(symbols_.module_path(dump_.sites[t.site]))},
        {"site", number_or_null(t.site)}};
    std::string text = text_of(row);
    text.back() = ',';
    return text +
           "\"stack\":" + (options_.stacks_in_tensors ? stacks_.stack(t.site) : text_of(number_or_null(t.site))) + "}";
  }

 private:
  Json names(size_t tensor) const {
    return options_.holders ? Json(options_.holders->names(uint32_t(tensor))) : Json::array();
  }

  Json holders(size_t tensor) const {
    Json rows = Json::array();
    if (!options_.holders) return rows;
    for (const analyzer::Holder& holder : options_.holders->holders(uint32_t(tensor))) {
      rows.push_back({{"kind", analyzer::text(holder.kind)},
                      {"text", holder.text},
                      {"root", text_or_null(holder.root)},
                      {"node", node_number_json(holder.node)},
                      {"tensor", tensor_id_json(dump_, holder.tensor)}});
    }
    return rows;
  }

  Json python_type(size_t tensor) const {
    if (!dump_.references.present || !dump_.references.tensors[tensor].known) return nullptr;
    return text_or_null(dump_.references.tensors[tensor].type_name);
  }

  Json python_id(size_t tensor) const {
    const uint64_t id = dump_.references.present ? dump_.references.tensors[tensor].id : 0;
    return id == 0 ? Json(nullptr) : Json(id);
  }

  const Dump& dump_;
  analyzer::Symbols& symbols_;
  StackTexts& stacks_;
  const ExportOptions& options_;
  std::unordered_map<uint64_t, uint64_t> by_address_;  // serials
};

}  // namespace

void write_tensors_json(const Dump& dump, analyzer::Symbols& symbols, StackTexts& stacks, const ExportOptions& options,
                        std::ostream& out) {
  TensorRows rows(dump, symbols, stacks, options);
  write_rows(out, "tensors", dump.tensors.size(), [&](size_t i) { return rows.tensor(i); });
}

}  // namespace tensorscope::exports
