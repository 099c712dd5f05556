// SPDX-License-Identifier: Apache-2.0
#include "html/dump_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dump_generated.h"
#include "html/graph_data.h"
#include "html/history_data.h"
#include "html/stacks.h"
#include "memory/no_module.h"
#include "text/dump/first_sentences.h"
#include "text/dump/headline.h"
#include "text/dump/holders.h"
#include "text/dump/live_table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::html {

namespace {

using analyzer::Dump;
using analyzer::OpenedDump;

constexpr size_t kMaxHolders = 8;  // of one tensor; the CLI's `show` has them all

uint64_t plus_one(uint32_t index) { return index == analyzer::kNone ? 0 : uint64_t{index} + 1; }

// What could not be read of it, in words that the page looks for.
std::string not_known(const analyzer::Tensor& tensor) {
  const auto lacks = [&](format::TensorKnown what) { return (tensor.known & uint32_t(what)) == 0; };
  std::vector<std::string> facts;
  if (lacks(format::TensorKnown::sizes)) facts.emplace_back("shape");
  if (lacks(format::TensorKnown::dtype)) facts.emplace_back("dtype");
  if (!tensor.knows_size()) facts.emplace_back("bytes");
  if (lacks(format::TensorKnown::device)) facts.emplace_back("device");
  if (!tensor.knows_memory()) facts.emplace_back("storage");
  if (!tensor.knows_offset()) facts.emplace_back("offset");
  if (lacks(format::TensorKnown::requires_grad)) facts.emplace_back("requires_grad");
  if (lacks(format::TensorKnown::leaf)) facts.emplace_back("leaf");
  if (!tensor.knows_view()) facts.emplace_back("view");
  return fmt::format("{}", fmt::join(facts, ", "));
}

// The bytes from the first to behind the last element, relative to the storage's begin.
std::pair<uint64_t, uint64_t> span(const analyzer::Tensor& tensor) {
  const auto begin = uint64_t(std::max<int64_t>(0, tensor.storage_offset)) * tensor.itemsize;
  if (tensor.numel <= 0) return {begin, 0};
  if (tensor.strides.size() != tensor.sizes.size()) return {begin, tensor.nbytes};
  uint64_t last = 0;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    last += uint64_t(std::max<int64_t>(0, tensor.sizes[i] - 1)) * uint64_t(std::max<int64_t>(0, tensor.strides[i]));
  }
  return {begin, (last + 1) * tensor.itemsize};
}

// Its kind, its text, and, where it is a tensor, its row plus one.
std::string holder_line(const analyzer::Holder& holder) {
  std::string line = std::string(analyzer::text(holder.kind)) + "\t" + text::clean(holder.text);
  if (holder.tensor != analyzer::kNone) line += fmt::format("\t{}", plus_one(holder.tensor));
  return line;
}

Json tensors(OpenedDump& opened, Texts& texts, Stacks& stacks, Payload& payload) {
  const Dump& dump = opened.dump;
  enum {
    id,
    bytes,
    storage,
    begin,
    length,
    shape,
    strides,
    dtype,
    device,
    category,
    evidence,
    name,
    names,
    holders,
    holder_count,
    module,
    site,
    thread,
    kind,
    grad_fn,
    node,
    grad,
    flags,
    type,
    unknown,
    columns
  };
  static constexpr std::array<const char*, columns> kNames = {
      "id",       "bytes",    "storage", "begin", "length",  "shape",        "strides", "dtype", "device",
      "category", "evidence", "name",    "names", "holders", "holder_count", "module",  "site",  "thread",
      "class",    "grad_fn",  "node",    "grad",  "flags",   "type",         "unknown"};
  std::array<Column, columns> rows;
  std::vector<double> age;
  std::unordered_map<uint64_t, uint32_t> by_address;
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) by_address.emplace(dump.tensors[i].address, i);
  std::unordered_map<uint64_t, uint32_t> node_at;
  for (uint32_t i = 0; i < dump.graph.nodes.size(); ++i) node_at.emplace(dump.graph.nodes[i].address, i);
  for (Column& column : rows) column.reserve(dump.tensors.size());
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) {
    const analyzer::Tensor& t = dump.tensors[i];
    const auto [first, extent] = span(t);
    const auto gradient = t.grad == 0 ? by_address.end() : by_address.find(t.grad);
    std::string all_names, held;
    for (const std::string& one : opened.holders.names(i))
      all_names += (all_names.empty() ? "" : "\n") + text::clean(one);
    const auto& holding = opened.holders.holders(i);
    for (size_t k = 0; k < std::min(kMaxHolders, holding.size()); ++k) {
      held += (k == 0 ? "" : "\n") + holder_line(holding[k]);
    }
    auto put = [&](size_t column, uint64_t number) { rows[column].push_back(number); };
    put(id, t.serial);
    put(bytes, t.nbytes);
    put(storage, plus_one(t.storage));
    put(begin, first);
    put(length, extent);
    put(shape, texts.number(t.shape_text()));
    put(strides, texts.number(fmt::format("{}", fmt::join(t.strides, ", "))));
    put(dtype, texts.number(t.dtype_text()));
    put(device, texts.number(t.device.text()));
    put(category, texts.number(analyzer::text(opened.holders.category(i))));
    put(evidence, texts.number(text::clean(opened.holders.evidence(i))));
    put(name, texts.number(text::clean(opened.holders.name(i))));
    put(names, texts.number(all_names));
    put(holders, texts.number(held));
    put(holder_count, opened.holders.holder_count(i));
    put(module, texts.number(text::clean(opened.holders.module(i))));
    put(site, stacks.row(analyzer::effective_site(dump, opened.accounts, opened.places, i)));
    put(thread, texts.number(t.thread == 0 ? ""
                                           : fmt::format("{} \"{}\"", dump.threads[t.thread].tid,
                                                         text::clean(dump.threads[t.thread].name))));
    put(kind, texts.number(text::clean(t.class_name)));
    put(grad_fn, texts.number(text::clean(t.grad_fn_name)));
    const auto made_by = t.grad_fn == 0 ? node_at.end() : node_at.find(t.grad_fn);
    put(node, made_by == node_at.end() ? 0 : plus_one(made_by->second));
    put(grad, gradient == by_address.end() ? 0 : plus_one(gradient->second));
    put(flags, t.flags);
    const bool typed = dump.references.present && dump.references.tensors[i].known;
    put(type, texts.number(typed ? text::clean(dump.references.tensors[i].type_name) : ""));
    put(unknown, texts.number(not_known(t)));
    age.push_back(t.created_ns == 0 || dump.process.dump_ns < t.created_ns
                      ? -1
                      : double(dump.process.dump_ns - t.created_ns) / 1e9);
  }
  Json out = Json::object();
  for (size_t i = 0; i < columns; ++i) out[kNames[i]] = payload.column(rows[i]);
  out["age"] = payload.column(age);
  return out;
}

Json storages(const Dump& dump, Texts& texts, Payload& payload) {
  Column id, bytes, kind, device;
  for (const analyzer::Storage& storage : dump.storages) {
    id.push_back(storage.id);
    bytes.push_back(storage.nbytes);
    kind.push_back(texts.number(analyzer::text(storage.kind)));
    device.push_back(texts.number(storage.device.text()));
  }
  return {{"id", payload.column(id)},
          {"bytes", payload.column(bytes)},
          {"kind", payload.column(kind)},
          {"device", payload.column(device)}};
}

// Every live byte belongs to one item (memory/accounting.h). `owner` stands for its dtype and shape, `representative`
// for its category, module and holder, as in report --by.
Json items(OpenedDump& opened, const analyzer::Selection& everything, Texts& texts, Stacks& stacks, Payload& payload) {
  Column bytes, owner, representative, site, device, in_storage;
  for (uint32_t i = 0; i < opened.accounts.items().size(); ++i) {
    const analyzer::Item& item = opened.accounts.items()[i];
    bytes.push_back(everything.item_bytes(i));
    owner.push_back(plus_one(everything.owner(i)));
    representative.push_back(plus_one(everything.representative(i)));
    site.push_back(stacks.row(item.site));
    device.push_back(texts.number(item.device.text()));
    in_storage.push_back(plus_one(item.storage));
  }
  return {{"bytes", payload.column(bytes)},
          {"owner", payload.column(owner)},
          {"representative", payload.column(representative)},
          {"site", payload.column(site)},
          {"device", payload.column(device)},
          {"storage", payload.column(in_storage)}};
}

Json site_rows(OpenedDump& opened, const std::vector<analyzer::Group>& groups, size_t most, uint64_t total) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::min(most, groups.size()); ++i) {
    const analyzer::Group& group = groups[i];
    rows.push_back({{"where", text::clean(group.label)},
                    {"bytes", group.bytes},
                    {"share", text::percent(group.bytes, total)},
                    {"tensors", group.tensors},
                    {"blocks", group.blocks},
                    {"source", opened.places.source_line(group.site)},
                    {"modules", text::clean(group.modules)},
                    {"held_by", text::clean(text::held_by(opened, group))}});
  }
  return rows;
}

Json process(const Dump& dump) {
  const analyzer::Process& p = dump.process;
  Json options = Json::array();
  for (const auto& [key, value] : p.options) options.push_back({text::clean(key), text::clean(value)});
  Json words = Json::array();
  for (const std::string& word : p.command_line) words.push_back(text::clean(word));
  return {{"pid", p.pid},
          {"program", text::clean(text::program_name(p))},
          {"run_id", text::clean(p.run_id)},
          {"host", text::clean(p.host)},
          {"command_line", words},
          {"options", options},
          {"dump_unix_ms", p.dump_unix_ns / 1'000'000},
          {"dump_number", p.dump_number},
          {"rank", p.rank},
          {"after_start", p.dump_ns > p.start_ns ? double(p.dump_ns - p.start_ns) / 1e9 : 0.0}};
}

}  // namespace

Json dump_data(OpenedDump& opened, Payload& payload, size_t most_sites) {
  const Dump& dump = opened.dump;
  const analyzer::Selection everything = opened.select({});
  Texts texts;
  Stacks stacks(opened, texts);
  std::vector<uint32_t> sites;
  for (const analyzer::Tensor& tensor : dump.tensors) sites.push_back(tensor.site);
  for (const analyzer::Item& item : opened.accounts.items()) sites.push_back(item.site);
  opened.places.prefetch(sites, true);

  std::vector<analyzer::Group> groups = analyzer::group(opened.view(everything), analyzer::GroupBy::line);
  std::sort(groups.begin(), groups.end(), [](const analyzer::Group& a, const analyzer::Group& b) {
    return std::tie(b.bytes, b.tensors, a.label, a.key) < std::tie(a.bytes, a.tensors, b.label, b.key);
  });
  const uint64_t total = everything.bytes();
  Json live = Json::array();
  for (const std::vector<std::string>& row : text::live_rows(opened)) live.push_back(row);
  Json coverage = Json::array();
  for (const analyzer::Coverage& row : dump.coverage) {
    const auto seen = row.seen >= 0 && row.seen <= int(format::Seen::MAX) ? format::Seen(row.seen) : format::Seen::no;
    coverage.push_back({text::clean(row.subject), format::EnumNameSeen(seen), text::clean(row.detail), row.missed});
  }
  Json problems = Json::array();
  for (const std::string& problem : dump.problems) problems.push_back(text::clean(problem));
  Json out = {{"path", text::clean(dump.path)},
              {"process", process(dump)},
              {"answer", text::clean(text::answer_line(opened, everything, groups, analyzer::GroupBy::line, total))},
              {"headline", text::clean(text::process_line(dump.process))},
              {"outside", text::clean(text::outside_line(opened.view(everything)))},
              {"versions", text::clean(text::versions_text(dump.process))},
              {"seen", text::clean(text::coverage_text(dump))},
              {"coverage", coverage},
              {"no_module", analyzer::no_module(dump)},
              {"problems", problems},
              {"total_bytes", total},
              {"total_tensors", everything.tensor_count()},
              {"live", live},
              {"sites", site_rows(opened, groups, most_sites, total)},
              {"site_count", groups.size()}};
  out["tensors"] = tensors(opened, texts, stacks, payload);
  out["storages"] = storages(dump, texts, payload);
  out["items"] = items(opened, everything, texts, stacks, payload);
  out["stacks"] = stacks.json(payload);
  out["graph"] = graph_data(opened, texts, payload);
  out["history"] = history_data(dump, payload);
  out["texts"] = texts.take();
  return out;
}

}  // namespace tensorscope::html
