// SPDX-License-Identifier: Apache-2.0
#include "text/dump/list_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "dump_generated.h"
#include "text/choice_words.h"
#include "text/dump/holders.h"
#include "text/dump/tensor_phrases.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::kNone;
using analyzer::Tensor;
using text::Align;
using text::Cut;

constexpr int kRoomForHolder = 150;  // columns of the terminal

struct Described {
  ListColumn column;
  const char* word;  // "": only where nobody chose
  text::Column table;
};

const std::vector<Described>& all_columns() {
  static const std::vector<Described> columns = {
      {ListColumn::id, "id", {.title = "id"}},
      {ListColumn::bytes, "bytes", {.title = "bytes", .align = Align::right}},
      {ListColumn::view_bytes, "view-bytes", {.title = "view bytes", .align = Align::right}},
      {ListColumn::dtype, "dtype", {.title = "dtype", .leaves = 5}},
      {ListColumn::shape, "shape", {.title = "shape", .least = 12, .wish = 18}},
      {ListColumn::device, "device", {.title = "device", .leaves = 3}},
      {ListColumn::age, "age", {.title = "age", .align = Align::right, .leaves = 4}},
      {ListColumn::category, "category", {.title = "category", .least = 9, .wish = 16, .leaves = 6}},
      {ListColumn::name, "name", {.title = "name", .least = 16, .cut = Cut::middle, .wish = 30}},
      {ListColumn::names, "names", {.title = "names", .least = 16, .cut = Cut::middle, .wish = 30}},
      {ListColumn::held_by, "held-by", {.title = "held by", .least = 16, .cut = Cut::middle, .wish = 26, .leaves = 1}},
      {ListColumn::traits, "traits", {.title = "", .least = 4, .wish = 16, .leaves = 2}},
      {ListColumn::line, "", {.title = "where", .least = 12, .cut = Cut::start, .wish = 20}},
      {ListColumn::function, "", {.title = "", .least = 4, .wish = 12}},
      {ListColumn::where, "where", {.title = "where", .least = 16, .cut = Cut::start}},
      {ListColumn::memory_from, "memory-from", {.title = "memory from", .least = 16, .cut = Cut::start}},
      {ListColumn::type, "type", {.title = "type", .least = 9}},
      {ListColumn::class_name, "class", {.title = "class", .least = 12, .cut = Cut::start}},
      {ListColumn::requires_grad, "requires-grad", {.title = "requires grad"}},
      {ListColumn::grad, "grad", {.title = "grad", .least = 9}},
      {ListColumn::version, "version", {.title = "version", .align = Align::right}},
      {ListColumn::storage, "storage", {.title = "storage"}},
      {ListColumn::strides, "strides", {.title = "strides", .least = 12}},
      {ListColumn::thread, "thread", {.title = "thread", .least = 12}},
      {ListColumn::module, "module", {.title = "module", .least = 12, .cut = Cut::middle}},
      {ListColumn::address, "address", {.title = "address"}},
      {ListColumn::python_id, "python-id", {.title = "id()"}},
  };
  return columns;
}

bool is_known(const Tensor& tensor, format::TensorKnown what) { return (tensor.known & uint32_t(what)) != 0; }
bool has_flag(const Tensor& tensor, format::TensorFlag what) { return (tensor.flags & uint32_t(what)) != 0; }

std::string gradient_of(const analyzer::OpenedDump& opened, const Tensor& tensor) {
  if (tensor.grad == 0) return "";
  const uint32_t gradient = opened.tensor_at(tensor.grad);
  return gradient == kNone ? "yes" : fmt::format("#{}", opened.dump.tensors[gradient].serial);
}

std::string storage_bytes(const analyzer::OpenedDump& opened, const analyzer::Selection& selection,
                          const ListRow& row) {
  const uint32_t item = opened.accounts.item_of_tensor(row.tensor);
  if (opened.accounts.items()[item].storage == kNone) {
    return opened.dump.tensors[row.tensor].knows_memory() ? "-" : "?";
  }
  if (!row.first) return "";
  return selection.item(item) ? text::bytes(selection.item_bytes(item)) : "(shared)";
}

std::string requires_grad(const Tensor& tensor) {
  if (!is_known(tensor, format::TensorKnown::requires_grad)) return "?";
  if (!has_flag(tensor, format::TensorFlag::requires_grad)) return "no";
  return has_flag(tensor, format::TensorFlag::leaf) ? "yes, a leaf" : "yes";
}

}  // namespace

std::vector<std::string> list_column_names() {
  std::vector<std::string> words;
  for (const Described& described : all_columns()) {
    if (*described.word != 0) words.emplace_back(described.word);
  }
  return words;
}

std::vector<ListColumn> list_columns(const std::string& text) {
  std::vector<ListColumn> columns;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, comma - at);
    std::replace(word.begin(), word.end(), '_', '-');
    at = comma + 1;
    const auto found = std::find_if(all_columns().begin(), all_columns().end(), [&](const Described& described) {
      return !word.empty() && described.word == word;
    });
    if (found == all_columns().end()) {
      throw text::BadChoice(text::invalid_choice("--columns", word, list_column_names()) + ".");
    }
    columns.push_back(found->column);
  }
  return columns;
}

std::vector<ListColumn> usual_columns(const text::Terminal& terminal) {
  using enum ListColumn;
  std::vector<ListColumn> columns = {id, bytes, dtype, shape, device, age, category, name};
  if (terminal.width <= 0 || terminal.width >= kRoomForHolder) columns.push_back(held_by);
  for (ListColumn column : {traits, line, function}) columns.push_back(column);
  return columns;
}

text::Column table_column(ListColumn column, bool may_leave) {
  const auto found = std::find_if(all_columns().begin(), all_columns().end(),
                                  [&](const Described& described) { return described.column == column; });
  text::Column table = found->table;
  if (!may_leave) table.leaves = 0;
  return table;
}

namespace {

std::string type_text(const analyzer::OpenedDump& opened, uint32_t tensor) {
  const analyzer::References& references = opened.dump.references;
  return references.present && references.tensors[tensor].known ? references.tensors[tensor].type_name.str() : "";
}

std::string python_id_text(const analyzer::OpenedDump& opened, uint32_t tensor) {
  const analyzer::References& references = opened.dump.references;
  const uint64_t id = references.present ? references.tensors[tensor].id : 0;
  return id == 0 ? "" : std::to_string(id);
}

std::string thread_text(const analyzer::OpenedDump& opened, const Tensor& tensor) {
  if (tensor.thread == 0 || tensor.thread >= opened.dump.threads.size()) return "";
  const analyzer::Thread& thread = opened.dump.threads[tensor.thread];
  return fmt::format("{} \"{}\"", thread.tid, thread.name);
}

std::string allocated_at(analyzer::OpenedDump& opened, uint32_t tensor) {
  const uint32_t site = opened.accounts.items()[opened.accounts.item_of_tensor(tensor)].site;
  return site == 0 ? "" : opened.places.at(site).where;
}

std::string function_text(analyzer::OpenedDump& opened, const Tensor& tensor) {
  const analyzer::Place& place = opened.places.at(tensor.site);
  return place.line == place.where ? "" : place.function;
}

std::string name_text(const analyzer::OpenedDump& opened, const ListRow& row) {
  const std::string name = opened.holders.name(row.tensor);
  return name.empty() && row.alone ? brief_holder(opened, row.tensor) : name;
}

std::string strides_text(const Tensor& tensor) {
  const bool known = is_known(tensor, format::TensorKnown::strides);
  return known ? fmt::format("[{}]", fmt::join(tensor.strides, ", ")) : "?";
}

}  // namespace

std::string list_cell(analyzer::OpenedDump& opened, const analyzer::Selection& selection, const ListRow& row,
                      ListColumn column) {
  const Tensor& tensor = opened.dump.tensors[row.tensor];
  switch (column) {
    case ListColumn::id:
      return fmt::format("{}#{}", row.first ? "" : "  ", tensor.serial);
    case ListColumn::bytes:
      return storage_bytes(opened, selection, row);
    case ListColumn::view_bytes:
      return text::bytes(tensor.nbytes);
    case ListColumn::dtype:
      return tensor.dtype_text();
    case ListColumn::shape:
      return tensor.shape_text();
    case ListColumn::device:
      return tensor.device.text();
    case ListColumn::age:
      return age_text(opened.dump, tensor.created_ns);
    case ListColumn::category:
      return category_text(opened, row.tensor);
    case ListColumn::name:
      return name_text(opened, row);
    case ListColumn::names:
      return fmt::format("{}", fmt::join(opened.holders.names(row.tensor), "; "));
    case ListColumn::held_by:
      return brief_holder(opened, row.tensor);
    case ListColumn::traits:
      return traits(opened, row.tensor);
    case ListColumn::line:
      return opened.places.at(tensor.site).line;
    case ListColumn::function:
      return function_text(opened, tensor);
    case ListColumn::where:
      return opened.places.at(tensor.site).where;
    case ListColumn::memory_from:
      return allocated_at(opened, row.tensor);
    case ListColumn::type:
      return type_text(opened, row.tensor);
    case ListColumn::class_name:
      return tensor.class_name;
    case ListColumn::requires_grad:
      return requires_grad(tensor);
    case ListColumn::grad:
      return gradient_of(opened, tensor);
    case ListColumn::version:
      return tensor.version == kNone ? "?" : std::to_string(tensor.version);
    case ListColumn::storage:
      return tensor.storage == kNone ? "-" : fmt::format("#{}", opened.dump.storages[tensor.storage].id);
    case ListColumn::strides:
      return strides_text(tensor);
    case ListColumn::thread:
      return thread_text(opened, tensor);
    case ListColumn::module:
      return opened.holders.module(row.tensor);
    case ListColumn::address:
      return fmt::format("{:#x}", tensor.address);
    case ListColumn::python_id:
      return python_id_text(opened, row.tensor);
  }
  return "";
}

}  // namespace tensorscope::text
