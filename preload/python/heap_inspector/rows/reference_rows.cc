// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/reference_rows.h"

#include <algorithm>
#include <utility>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/named_tensors.h"
#include "python/objects.h"
#include "support/enough_memory.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::WrapperState;

constexpr double kFoundMemory = 0.45;  // what is written exists twice for a moment, in rows and in the chunk

// What the hooks of a saved tensor keep in its place.
bool is_packed(const Chain& chain) { return chain.root == ReferenceRoot::node && chain.text.starts_with("packed"); }

}  // namespace

ReferenceRows::TypeFacts ReferenceRows::facts_of(Object* type) {
  const auto [found, fresh] = types_.try_emplace(type);
  if (fresh) {
    found->second = {out_.strings.intern(short_name_of_class(gil_, type)),
                     classes_.parameter && gil_->PyType_IsSubtype(type, classes_.parameter) != 0};
  }
  return found->second;
}

bool ReferenceRows::write(const TensorObjects::Tensor& tensor, std::span<const Holder> holders) {
  return write_all(tensor, holders) && !too_much();
}

bool ReferenceRows::write_all(const TensorObjects::Tensor& tensor, std::span<const Holder> holders) {
  Object* const object = found_.graph.object(tensor.object);
  const bool capsule = found_.graph.kind(tensor.object) == Kind::capsule;
  const TypeFacts type = capsule ? TypeFacts{out_.strings.intern("DLPack capsule"), false} : facts_of(type_of(object));
  const auto local = found_.locals.find(tensor.object);
  std::span<const LocalReference* const> locals;
  if (local != found_.locals.end()) locals = local->second;
  const size_t others = locals.size() + found_.script.of(tensor.serial).size();
  const size_t before = out_.references.size();
  write_references(tensor, holders, locals);
  if (!found_.complete && out_.references.size() == before && chains_.ready()) return true;
  const bool written =
      chains_.ready() && !out_.strings.full() &&
      out_.tensors.emplace_back(tensor.serial, type.name, uint32_t(tensor.holders + others), state(tensor, others),
                                uint8_t(found_.optimizers.trains(tensor.object)), uint8_t(type.parameter)) &&
      out_.ids.push(capsule ? 0 : uint64_t(reinterpret_cast<uintptr_t>(object)));
  if (written) return true;
  out_.references.resize(before);
  out_.call_of.resize(before);
  out_.begins_at.resize(before);
  holders_.resize(before);
  out_.tensors.resize(out_.ids.size());
  limits_.memory_ran_out();  // or another limit was reached before
  return false;
}

WrapperState ReferenceRows::state(const TensorObjects::Tensor& tensor, size_t others) const {
  const int64_t unexplained = found_.graph.outside_references(tensor.object) - tensor.kept_by_cpp;
  const bool all_known = tensor.holders == found_.graph.inside_references(tensor.object);
  if (others != 0 || unexplained > 0 || !all_known) return WrapperState::referenced;
  bool any = false;
  for (const uint32_t holder : found_.tensors.holders(tensor)) {
    if (found_.reachable[holder]) return WrapperState::referenced;
    any = true;
  }
  return any ? WrapperState::garbage : WrapperState::kept_by_cpp;
}

void ReferenceRows::write_references(const TensorObjects::Tensor& tensor, std::span<const Holder> holders,
                                     std::span<const LocalReference* const> locals) {
  const size_t first = out_.references.size();
  const std::vector<GivenName> given = found_.given.take(tensor.serial);
  write_given(tensor.serial, given);
  size_t left = std::max(kMaxReferenceRows, holders.size());
  left -= std::min(left, given.size());
  if (const std::string_view name = own_name(tensor.object); !name.empty() && left > 0) {
    --left;
    add({.tensor = tensor.serial, .text = name, .root = ReferenceRoot::user});
  }
  const size_t first_holder = out_.references.size();
  for (const LocalReference* local : locals) {
    if (left == 0) break;
    --left;
    add({.tensor = tensor.serial,
         .text = local->name,
         .scope = local->scope,
         .root = ReferenceRoot::local,
         .call = local->call});
  }
  for (const Holder& holder : holders) {
    if (left == 0) break;
    --left;
    write_reference(tensor, holder);
  }
  const std::span<ScriptValues::Held> held = found_.script.of(tensor.serial);
  write_script(held.first(std::min(left, held.size())));
  for (ScriptValues::Held& each : held) each.written = true;
  const bool alone = first_holder == out_.references.size() && found_.paths.is_root(tensor.object);
  if (alone && found_.graph.outside_references(tensor.object) > int64_t(tensor.kept_by_cpp)) {
    const Root root = *found_.paths.root(tensor.object);
    add({.tensor = tensor.serial,
         .text = root.name,
         .scope = root.scope,
         .node = root.node,
         .root = root.kind,
         .call = root.call});
  }
  sort_by_steps(first);
}

// The rows from this one on, each with where it begins.
void ReferenceRows::sort_by_steps(size_t first) {
  if (holders_.size() != out_.references.size()) return;  // no memory: these rows are taken back
  struct Row {
    format::Reference reference;
    uint32_t call, begins_at, holder;
  };
  std::vector<Row> rows;
  for (size_t i = first; i < out_.references.size(); ++i) {
    rows.push_back({out_.references[i], out_.call_of[i], out_.begins_at[i], holders_[i]});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.reference.steps() < b.reference.steps(); });
  for (size_t i = 0; i < rows.size(); ++i) {
    out_.references[first + i] = rows[i].reference;
    out_.call_of[first + i] = rows[i].call;
    out_.begins_at[first + i] = rows[i].begins_at;
    holders_[first + i] = rows[i].holder;
  }
}

// `tensor.__name__ = "..."` of the program.
std::string_view ReferenceRows::own_name(uint32_t tensor) const {
  Object* dict = own_dict(gil_, found_.graph.object(tensor));
  Object* name = dict ? entry(gil_, dict, "__name__") : nullptr;
  return name ? text_beginning(text_of(gil_, name), kLongestName) : std::string_view();
}

void ReferenceRows::write_reference(const TensorObjects::Tensor& tensor, const Holder& row) {
  Chain chain = chains_.of(row.holder);
  const Chain::Position position = chain.position;
  chains_.extend_to_held(chain, row.holder, row.object, row.answer);
  const Kind kind = found_.graph.kind(row.holder);
  const bool variable =
      position == Chain::Position::globals || kind == Kind::cell || kind == Kind::frame || kind == Kind::generator;
  add({.tensor = tensor.serial,
       .text = chain.text,
       .scope = chain.scope,
       .holder = variable ? "" : short_class_name(gil_, found_.graph.object(row.holder)),
       .node = chain.node,
       .steps = chain.steps > 0 ? chain.steps - 1 : 0,
       .root = chain.root,
       .role = is_packed(chain) ? ReferenceRole::saved : chain.role,
       .call = chain.call,
       .begins_at = chain.begins_at,
       .object = row.holder});
  if (chain.within == format::ReferenceWithin::nothing) return;
  if (!out_.within.emplace_back(tensor.serial, out_.strings.intern(chain.text), chain.within)) limits_.memory_ran_out();
}

void ReferenceRows::write_script(std::span<ScriptValues::Held> held) {
  using Holder = torch::IValues::Holder;
  using Role = torch::IValues::Role;
  constexpr std::string_view kOwnValue =
      "._c";  // the attribute by which a class of Python's has a value of TorchScript
  for (ScriptValues::Held& each : held) {
    Chain chain = chains_.of(each.object);
    if (chain.text.ends_with(kOwnValue)) chain.text.resize(chain.text.size() - kOwnValue.size());
    chain.text += found_.script.text(each);
    add({.tensor = each.serial,
         .text = chain.text,
         .scope = chain.scope,
         .holder = each.holder == Holder::list    ? "list"
                   : each.holder == Holder::dict  ? "dict"
                   : each.holder == Holder::tuple ? "tuple"
                                                  : short_class_name(gil_, found_.graph.object(each.object)),
         .node = chain.node,
         .steps = chain.steps,
         .root = chain.root,
         .role = is_packed(chain)               ? ReferenceRole::saved
                 : each.role == Role::parameter ? ReferenceRole::parameter
                 : each.role == Role::buffer    ? ReferenceRole::buffer
                                                : ReferenceRole::plain,
         .call = chain.call,
         .begins_at = chain.begins_at,
         .object = each.object});
    if (chain.within == format::ReferenceWithin::nothing) continue;
    if (!out_.within.emplace_back(each.serial, out_.strings.intern(chain.text), chain.within)) limits_.memory_ran_out();
  }
}

void ReferenceRows::write_given(uint64_t serial, const std::vector<GivenName>& names) {
  for (size_t i = 0; i < names.size() && i < kMaxReferenceRows; ++i) {
    add({.tensor = serial, .text = names[i].text, .root = names[i].root});
  }
}

void ReferenceRows::write_given_names() {
  for (const auto& [serial, names] : found_.given.left()) {
    if (limits_.reached() || too_much()) return;
    write_given(serial, names);
  }
}

void ReferenceRows::write_without_object() {
  const std::span<ScriptValues::Held> all = found_.script.all();
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].serial == all[begin].serial) ++end;
    if (limits_.reached() || too_much()) return;
    if (all[begin].written) continue;
    write_given(all[begin].serial, found_.given.take(all[begin].serial));
    write_script(all.subspan(begin, std::min(end - begin, kMaxReferenceRows)));
  }
  write_given_names();
}

void ReferenceRows::add(const NewRow& row) {
  const bool room = out_.references.emplace_back(
                        row.tensor, out_.strings.intern(row.text), out_.strings.intern(row.scope),
                        out_.strings.intern(row.holder), row.root == ReferenceRoot::node ? row.node : UINT32_MAX,
                        uint16_t(std::min<uint32_t>(row.steps, UINT16_MAX)), row.root, row.role) &&
                    out_.call_of.push(found_.beginnings.row_of_call(row.root, row.call)) &&
                    out_.begins_at.push(found_.beginnings.row_of_object(row.begins_at)) && holders_.push(row.object);
  if (!room) limits_.memory_ran_out();
}

bool ReferenceRows::too_much() {
  const MemoryLimit* limit = MemoryLimit::current();
  const uint64_t bytes = out_.strings.bytes() +
                         out_.references.size() * (sizeof(format::Reference) + 3 * sizeof(uint32_t)) +
                         out_.tensors.size() * (sizeof(format::TensorObject) + sizeof(uint64_t));
  if (!limit || double(bytes) < double(limit->bytes()) * kFoundMemory) return false;
  limits_.memory_ran_out();
  return true;
}

}  // namespace tensorscope::python::heap_inspector
