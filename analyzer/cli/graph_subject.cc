// SPDX-License-Identifier: Apache-2.0
#include "cli/graph_subject.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <string_view>
#include <vector>

#include "dump_generated.h"
#include "memory/nearest_words.h"
#include "text/choice_words.h"
#include "text/graph/phrases.h"
#include "text/units.h"

namespace tensorscope::cli {

using analyzer::GraphSubject;
using analyzer::GraphView;
using analyzer::kNone;

namespace {

constexpr size_t kShown = 5;  // names in one sentence
constexpr std::string_view kNodePrefix = "node:";

}  // namespace

std::vector<uint32_t> find_tensors(const analyzer::Dump& dump, const analyzer::TensorNames& names,
                                   const std::string& path, const std::string& text, Invocation& invocation) {
  std::vector<uint32_t> found = tensors_called(dump, names, text);
  if (!found.empty()) return found;
  if (const std::string missing = text::missing_names_phrase(dump); !missing.empty()) {
    invocation.say(fmt::format("no name '{1}' in {0}: {2}; tensorscope list prints all tensors with their ids.", path,
                               text, missing));
    return {};
  }
  std::vector<std::string> near = names_like(dump, names, text, kShown);
  if (near.empty()) {
    std::set<std::string> all;
    for (uint32_t i = 0; i < dump.tensors.size(); ++i) all.insert(names(i).begin(), names(i).end());
    near = analyzer::nearest_words(text, {all.begin(), all.end()}, kShown);
  }
  const std::string list = text::listed(near, kShown);
  invocation.say(fmt::format("no live tensor '{1}' in {0}; {2}", path, text,
                             list.empty() ? "tensorscope list prints all tensors." : "similar: " + list + "."));
  return {};
}

std::optional<uint32_t> find_tensor(const GraphView& view, const std::string& dump, const std::string& text,
                                    Invocation& invocation) {
  const std::vector<uint32_t> found = find_tensors(view.dump, view.all_names(), dump, text, invocation);
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  std::string list;
  for (size_t i = 0; i < found.size() && i < kShown; ++i) list += (i == 0 ? "" : ", ") + view.title(found[i]);
  if (found.size() > kShown) list += fmt::format(" and {} more", text::count(found.size() - kShown));
  invocation.say(fmt::format("{1} tensors are named '{0}': {2}; give an id.", text, text::count(found.size()), list));
  return std::nullopt;
}

std::optional<GraphSubject> find_subject(const GraphView& view, const std::string& dump, const std::string& text,
                                         Invocation& invocation) {
  if (text.starts_with(kNodePrefix)) {
    uint32_t node = 0;
    const char *begin = text.data() + kNodePrefix.size(), *end = text.data() + text.size();
    const auto [last, error] = std::from_chars(begin, end, node);
    if (error == std::errc() && last == end && node < view.graph.nodes.size()) return GraphSubject{kNone, node};
    invocation.say(fmt::format("no autograd node '{1}' in {0}.", dump, text));
    return std::nullopt;
  }
  for (const analyzer::NodeReference& reference : view.dump.references.nodes) {
    if (reference.line() == text || reference.text == text) return GraphSubject{kNone, reference.node};
  }
  const std::optional<uint32_t> tensor = find_tensor(view, dump, text, invocation);
  if (!tensor) return std::nullopt;
  return GraphSubject{*tensor, view.tensors.node_of(*tensor)};
}

namespace {

bool needs_no_gradient(const GraphView& view, uint32_t tensor) {
  const analyzer::Tensor& entry = view.dump.tensors[tensor];
  return (entry.known & uint32_t(format::TensorKnown::requires_grad)) != 0 &&
         (entry.flags & uint32_t(format::TensorFlag::requires_grad)) == 0;
}

// What is not in the picture: nodes that were not read.
std::string as_far_as_read(const GraphView& view) {
  if (view.graph.complete) return ".";
  return view.graph.detail.empty() ? ", as far as the graph was read."
                                   : ", as far as the graph was read (" + view.graph.detail + ").";
}

}  // namespace

std::string why_no_graph(const GraphView& view, uint32_t tensor) {
  const std::string title = view.title(tensor);
  if (view.dump.tensors[tensor].grad_fn != 0) return title + " was computed by a node that is not in the dump.";
  const auto savers = view.tensors.savers_of(tensor);
  if (!savers.empty()) {
    return title +
           fmt::format(" was computed outside of any graph, but {} saved it; --near shows the tensors around it.",
                       view.graph.class_name(savers.front()));
  }
  if (needs_no_gradient(view, tensor)) {
    return title + " does not require grad and no operation saved it: it is in no graph" + as_far_as_read(view);
  }
  return title + " requires grad, but no live tensor was computed from it" + as_far_as_read(view);
}

std::string why_no_path(const GraphView& view, uint32_t a, uint32_t b) {
  const std::string begin = fmt::format("there is no path between {} and {}: ", view.title(a), view.title(b));
  for (uint32_t tensor : {a, b}) {
    if (view.tensors.node_of(tensor) != analyzer::kNoNode) continue;
    const uint32_t other = tensor == a ? b : a;
    if (view.dump.tensors[tensor].grad_fn != 0 || !needs_no_gradient(view, tensor)) {
      return begin + why_no_graph(view, tensor);
    }
    const std::string title = view.title(tensor);
    return begin + fmt::format(
                       "{} does not require grad, so the graph does not record what was computed from it, and no "
                       "operation behind {} saved it{}",
                       title, view.title(other), as_far_as_read(view));
  }
  const uint32_t node = view.tensors.node_of(a);
  if (node == view.tensors.node_of(b)) {
    return begin + fmt::format("both are outputs of one {}.", view.graph.class_name(node));
  }
  return begin + "neither was computed from the other" + as_far_as_read(view);
}

}  // namespace tensorscope::cli
