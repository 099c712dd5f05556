// SPDX-License-Identifier: Apache-2.0
#include "text/values/calls.h"

#include <fmt/format.h>

#include "text/table.h"
#include "text/text.h"
#include "text/units.h"
#include "text/values/phrases.h"

namespace tensorscope::text {

namespace {

using values::Call;
using values::CallNode;
using values::CallSequence;
using values::CallTree;
using values::SquashedCalls;

constexpr size_t kRaisedNamed = 5;

std::string call_count(uint64_t calls) { return calls == 0 ? "" : count(calls); }
std::string time_or_nothing(uint64_t ns, bool known) { return known ? duration(ns) : ""; }
std::string bytes_or_nothing(uint64_t value, bool known) { return known ? bytes(value) : ""; }

std::string marks(uint64_t raised, uint64_t unfinished) {
  std::string text;
  if (raised > 0) text += fmt::format("  {} raised", count(raised));
  if (unfinished > 0) text += fmt::format("  {} unfinished", count(unfinished));
  return text;
}

const std::vector<Column> kTreeColumns = {{.title = "calls", .align = Align::right},
                                          {.title = "total", .align = Align::right},
                                          {.title = "self", .align = Align::right},
                                          {.title = "backward", .align = Align::right, .leaves = 4},
                                          {.title = "before", .align = Align::right, .leaves = 1},
                                          {.title = "after", .align = Align::right, .leaves = 2},
                                          {.title = "peak", .align = Align::right, .leaves = 5},
                                          {.title = "saved", .align = Align::right, .leaves = 3},
                                          {.title = "module", .least = 24, .cut = Cut::end}};

void add_rows(Table& table, const CallTree& tree, const std::vector<uint32_t>& nodes, size_t depth) {
  for (uint32_t index : nodes) {
    const CallNode& node = tree.nodes[index];
    std::string label = std::string(2 * depth, ' ') + call_node_label(node);
    if (!node.class_name.empty()) label += "  " + node.class_name;
    const bool called = node.calls > 0 || node.total_ns > 0;
    const bool memory = node.peak > 0;
    table.row(
        {call_count(node.calls), time_or_nothing(node.total_ns, called), time_or_nothing(node.self_ns, node.calls > 0),
         time_or_nothing(node.backward_ns, node.backward_ns > 0), bytes_or_nothing(node.live_before, memory),
         bytes_or_nothing(node.live_after, memory), bytes_or_nothing(node.peak, memory),
         bytes_or_nothing(node.saved, node.saved > 0), label + marks(node.raised, node.unfinished)},
        node.raised > 0 ? Style::bad : Style::plain);
    add_rows(table, tree, node.children, depth + 1);
  }
}

// Where an exception came from: not the calls that it passed through on its way out.
std::string raised_text(const CallSequence& sequence) {
  const std::vector<Call>& calls = sequence.calls();
  std::vector<bool> passed_on(calls.size());
  for (uint32_t i = 0; i < calls.size(); ++i) {
    if (calls[i].raised && sequence.parent(i) != CallSequence::kNoCall) passed_on[sequence.parent(i)] = true;
  }
  std::string text;
  size_t origins = 0;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (!call.raised || passed_on[i] || ++origins > kRaisedNamed) continue;
    text += fmt::format("  raised: {}{}{}, {}\n", clean(call.module),
                        call.class_name.empty() ? "" : fmt::format(" ({})", clean(call.class_name)),
                        call.site.empty() ? "" : ", called at " + clean(call.site),
                        step_words(call.mode, call.step, call.pass));
  }
  if (origins > kRaisedNamed) text += fmt::format("  and {} more\n", count(origins - kRaisedNamed));
  return text;
}

}  // namespace

std::string call_node_label(const CallNode& node) {
  std::string label = node.name;
  if (!node.indices.empty()) label = (node.named ? node.name + "." : "") + ranges(node.indices);
  return node.indices.size() > 1 ? fmt::format("{} x {}", label, count(node.indices.size())) : label;
}

std::string calls_head(const CallSequence& sequence, const std::string& file, const Terminal& terminal) {
  const CallSequence::Counts& counts = sequence.counts();
  const std::string steps = counts.first_step == counts.last_step
                                ? fmt::format("step {}", counts.first_step)
                                : fmt::format("steps {} to {}", count(counts.first_step), count(counts.last_step));
  std::string line = fmt::format("{}: {} of {} in {} {}, {}", clean(file), counted(counts.forward, "call"),
                                 counted(counts.modules, "module"), count(counts.passes),
                                 counts.passes == 1 ? "pass" : "passes", steps);
  if (counts.threads > 1) line += fmt::format(", {} threads", count(counts.threads));
  if (counts.backward > 0) line += fmt::format("; backward of {}", counted(counts.backward, "call"));
  if (counts.raised > 0) line += fmt::format("; {} raised", count(counts.raised));
  if (counts.unfinished > 0) line += fmt::format("; {} unfinished at the end of the run", count(counts.unfinished));
  return terminal.styled(Style::bold, wrap(line, terminal.width, 2)) + "\n" + raised_text(sequence);
}

std::string call_tree_text(const CallTree& tree, const Terminal& terminal) {
  Table table(kTreeColumns);
  add_rows(table, tree, tree.roots, 0);
  return table.text(terminal);
}

namespace {

void add_squashed(Table& table, const SquashedCalls& calls, uint32_t index, const SquashedCalls::Edge* edge,
                  size_t depth, std::vector<bool>& shown) {
  const SquashedCalls::Node& node = calls.nodes[index];
  std::string label = std::string(2 * depth, ' ') + node.name;
  if (edge != nullptr && edge->modules > 1) label += fmt::format(" x {}", count(edge->modules));
  if (edge != nullptr && edge->loop) {
    table.row({"", "", "", label + "  (loop: it is above)"});
    return;
  }
  if (shown[index]) {
    table.row({"", "", "", label + (node.edges.empty() ? "  (counted above)" : "  (shown above)")});
    return;
  }
  shown[index] = true;
  table.row({call_count(node.calls), time_or_nothing(node.total_ns, node.calls > 0),
             time_or_nothing(node.self_ns, node.calls > 0), label});
  for (uint32_t next : node.edges) {
    add_squashed(table, calls, calls.edges[next].to, &calls.edges[next], depth + 1, shown);
  }
}

}  // namespace

std::string squashed_calls_text(const SquashedCalls& calls, const Terminal& terminal) {
  Table table({{.title = "calls", .align = Align::right},
               {.title = "total", .align = Align::right},
               {.title = "self", .align = Align::right},
               {.title = "name", .least = 24}});
  std::vector<bool> shown(calls.nodes.size());
  for (uint32_t root : calls.roots) add_squashed(table, calls, root, nullptr, 0, shown);
  return table.text(terminal);
}

std::string call_order_text(const CallSequence& sequence, size_t top, const Terminal& terminal) {
  const std::vector<Call>& calls = sequence.calls();
  Table table({{.title = "call", .align = Align::right},
               {.title = "thread", .align = Align::right, .leaves = 1},
               {.title = "when", .leaves = 6},
               {.title = "begin", .align = Align::right, .leaves = 2},
               {.title = "total", .align = Align::right},
               {.title = "before", .align = Align::right, .leaves = 3},
               {.title = "after", .align = Align::right, .leaves = 4},
               {.title = "saved", .align = Align::right, .leaves = 5},
               {.title = "module", .least = 24}});
  const size_t rows = top == 0 ? calls.size() : std::min(top, calls.size());
  for (uint32_t i = 0; i < rows; ++i) {
    const Call& call = calls[i];
    const bool memory = call.live_before > 0 || call.live_after > 0;
    std::string label = std::string(size_t{2} * sequence.depth(i), ' ') + std::string(call.module);
    if (call.backward) label += "  backward";
    if (call.raised) label += "  raised";
    if (call.unfinished) label += "  unfinished";
    table.row({std::to_string(call.id), sequence.counts().threads > 1 ? std::to_string(call.thread) : "",
               step_words(call.mode, call.step, call.pass), duration(call.begin_ns - calls.front().begin_ns),
               duration(duration_ns(call)), bytes_or_nothing(call.live_before, memory),
               bytes_or_nothing(call.live_after, memory), bytes_or_nothing(call.saved, call.saved > 0), label},
              call.raised     ? Style::bad
              : call.backward ? Style::dim
                              : Style::plain);
  }
  std::string text = table.text(terminal);
  if (rows < calls.size()) {
    text += fmt::format("  showing {} of {} calls; --top N, 0 for all\n", count(rows), count(calls.size()));
  }
  return text;
}

std::string no_such_step(const CallSequence& all, uint32_t step, const std::string& file) {
  return fmt::format("{} has no module call in step {}; it has steps {} to {}.", file, step, all.counts().first_step,
                     all.counts().last_step);
}

}  // namespace tensorscope::text
