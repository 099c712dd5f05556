// SPDX-License-Identifier: Apache-2.0
// How a reference to a tensor or to an autograd node is written, and which of several names the holder:
// "train.py: history[3] (list)", "h (local of Block.forward)", "model.fc1.weight".
//
// Context: any that may allocate. No state, no exceptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dump_generated.h"

namespace tensorscope::rules {

// A row of the references table, with views of its texts.
struct Reference {
  format::ReferenceRoot root = format::ReferenceRoot::global;
  format::ReferenceRole role = format::ReferenceRole::plain;
  std::string_view text;        // "history[1043]['loss']"
  std::string_view scope;       // "train.py", "Block.forward"
  std::string_view holder;      // type of the direct holder, "" for a variable
  std::string_view which = {};  // of several holders of this name; "" where there is one
};

namespace detail {

inline std::string joined(std::string_view a, std::string_view b, std::string_view c, std::string_view d = "") {
  std::string out;
  out.reserve(a.size() + b.size() + c.size() + d.size());
  return out.append(a).append(b).append(c).append(d);
}

inline std::string text_with_root(format::ReferenceRoot root, std::string_view text, std::string_view place,
                                  std::string_view which) {
  const std::string scope = place.empty() || which.empty() ? std::string(place) : joined(place, ", ", which);
  const auto behind = [&](std::string_view what) {
    return scope.empty() ? std::string(text) : joined(text, what, scope, ")");
  };
  const auto before = [&](std::string_view what) {
    return scope.empty() ? std::string(text) : joined(what, scope, ": ", text);
  };
  switch (root) {
    case format::ReferenceRoot::global:
    case format::ReferenceRoot::class_:
    case format::ReferenceRoot::node:
      return before("");
    case format::ReferenceRoot::local:
      return behind(" (local of ");
    case format::ReferenceRoot::suspended:
      return behind(" (in the waiting ");
    case format::ReferenceRoot::traceback:
      return before("traceback of ");
    case format::ReferenceRoot::thread: {
      const std::string state = scope.starts_with("context") ? scope
                                : which.empty()              ? "state of a thread"
                                                             : joined("state of a thread, ", which, "");
      return text.empty() ? std::string(state) : joined(text, " (", state, ")");
    }
    case format::ReferenceRoot::extension:
      return text.empty() ? joined("C code, through ", scope, "") : behind(" (held by C code, through ");
    case format::ReferenceRoot::cycle:
      return text.empty() ? joined("unreachable cycle of ", scope, "") : before("unreachable cycle of ");
    case format::ReferenceRoot::user:
    case format::ReferenceRoot::output:
      break;
  }
  return std::string(text);
}

}  // namespace detail

// The variable that a chain begins with, which stands for everything behind it: "losses" of "losses[3]['x']", "seen" of
// "seen{Item}" and of "seen (key)".
constexpr std::string_view variable_of(std::string_view text) {
  const std::string_view name = text.substr(0, text.find_first_of(".[{"));
  return name.substr(0, name.find(" (key)"));
}

// Names that hold nothing: those that the program gave, and what a call returned.
constexpr bool is_only_a_name(format::ReferenceRoot root) {
  return root == format::ReferenceRoot::user || root == format::ReferenceRoot::output;
}

// What a tensor is to its module or optimizer says more than a shorter chain to it.
constexpr bool belongs_to_model(format::ReferenceRole role) {
  return role == format::ReferenceRole::parameter || role == format::ReferenceRole::buffer ||
         role == format::ReferenceRole::optimizer_state;
}

// Whether `a` names the holder rather than `b`. Of those that are alike the first one does: rows come shortest first.
constexpr bool names_holder_before(const Reference& a, const Reference& b) {
  return belongs_to_model(a.role) && !belongs_to_model(b.role);
}

// Without the holder's type. The path of a module or a parameter is a name by itself: the variable that it begins with
// is the program's word for the model.
inline std::string reference_text(const Reference& reference) {
  const bool path = reference.role != format::ReferenceRole::plain && reference.role != format::ReferenceRole::saved &&
                    !reference.text.empty();
  if (path) return std::string(reference.text);
  return detail::text_with_root(reference.root, reference.text, reference.scope, reference.which);
}

// With the type of the object that refers to the tensor, where that is not its module or optimizer.
inline std::string holder_text(const Reference& reference) {
  const std::string text = reference_text(reference);
  if (reference.root == format::ReferenceRoot::node) return "saved by " + text;
  if (reference.role != format::ReferenceRole::plain || reference.holder.empty()) return text;
  return detail::joined(text, " (", reference.holder, ")");
}

// A slot of an autograd node: "result", "saved_tensors[1]", "saved[0]". `flags`: format::GraphNodeFlag; `known`: what
// Python calls the slot, "" if nobody knows; `element`: of a list in the slot, negative if it holds one tensor.
inline std::string slot_text(uint8_t flags, unsigned ordinal, int element, std::string_view known) {
  const auto number = [](int64_t n) { return "[" + std::to_string(n) + "]"; };
  if ((flags & uint8_t(format::GraphNodeFlag::python)) != 0) {
    return "saved_tensors" + number(element < 0 ? int64_t(ordinal) : element);
  }
  if ((flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0) return "variable";  // as Python calls it
  const std::string name = known.empty() ? "saved" + number(ordinal) : std::string(known);
  return element < 0 ? name : name + number(element);
}

}  // namespace tensorscope::rules
