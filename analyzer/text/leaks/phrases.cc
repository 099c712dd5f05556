// SPDX-License-Identifier: Apache-2.0
#include "text/leaks/phrases.h"

#include <fmt/format.h>

#include "text/choice_words.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::Advice;
using analyzer::CycleLink;
using analyzer::Holder;
using analyzer::LeakFinding;
using analyzer::LeakKind;

constexpr size_t kNamed = 3;
constexpr const char* kGuess = ", as far as can be told";

std::string link_words(const CycleLink& link) {
  switch (link.kind) {
    case CycleLink::Kind::begin:
      return link.tensor;
    case CycleLink::Kind::grad_fn:
      return "its grad_fn " + link.name;
    case CycleLink::Kind::gradient:
      return "its .grad " + link.tensor;
    case CycleLink::Kind::base:
      return "its base " + link.tensor;
    case CycleLink::Kind::part:
      return "its part " + link.tensor;
    case CycleLink::Kind::next:
      return link.name;
    case CycleLink::Kind::saved:
      return "saved " + link.tensor;
    case CycleLink::Kind::python:
      return link.name + " " + link.tensor;
    case CycleLink::Kind::left_out:
      return fmt::format("... ({})", counted(link.links, "link"));
  }
  return "";
}

// "#12 float32 [4] -> its .grad #40 float32 [4] -> MulBackward0 -> ... (3 links) -> saved #12 float32 [4]"
std::string cycle_words(const std::vector<CycleLink>& cycle) {
  std::string text;
  for (const CycleLink& link : cycle) text += (text.empty() ? "" : " -> ") + link_words(link);
  return text;
}

std::string without_graph(const LeakFinding& finding) {
  return finding.scalars ? "loss.item() or loss.detach()" : "x.detach()";
}

bool entries_left(const LeakFinding& finding) {
  return std::ranges::any_of(finding.evidence,
                             [](const Fact& fact) { return fact.kind == FactKind::entries_that_left; });
}

std::string with_graphs(const std::string& text, uint64_t graph_bytes) {
  return graph_bytes == 0 ? text : text + fmt::format("; x.detach() alone would free {} of graphs", bytes(graph_bytes));
}

std::string process_holders(const LeakFinding& finding) {
  std::string named = listed(finding.holders, kNamed);
  switch (finding.advice) {
    case Advice::empty_opaque_objects:
      return (finding.holders.size() > 1 ? "one of " : "") + named + kGuess;
    case Advice::bound_cpp_objects:
    case Advice::stop_profiler:
      return named + kGuess;
    default:
      return named;
  }
}

}  // namespace

const char* title(LeakKind kind) {
  switch (kind) {
    case LeakKind::accumulated_graph:
      return "autograd graphs kept by an accumulated loss";
    case LeakKind::state_not_detached:
      return "state that is not detached between steps";
    case LeakKind::stray_leaf:
      return "leaf that accumulates gradient but is in no optimizer";
    case LeakKind::autocast_cache:
      return "parameters that torch's autocast keeps";
    case LeakKind::two_dtypes:
      return "parameter kept in two dtypes";
    case LeakKind::small_view:
      return "small views that keep large storages";
    case LeakKind::reference_cycle:
      return "reference cycle";
    case LeakKind::graph_cycle:
      return "reference cycle through the autograd graph";
    case LeakKind::traceback:
      return "tensors kept by a traceback";
    case LeakKind::module_cache:
      return "growing module-level cache";
    case LeakKind::container:
      return "growing container";
    case LeakKind::unfinished_calls:
      return "local variables of calls that do not end";
    case LeakKind::cpp_only:
      return "growing memory held only by C++ code";
    case LeakKind::gone_parameters:
      return "optimizer that keeps parameters of deleted modules";
    case LeakKind::larger_tensor:
      return "tensor whose storage keeps growing";
    case LeakKind::graph_nodes:
      return "growing autograd graph";
    case LeakKind::process_memory:
      return "growing process memory outside tensors";
    case LeakKind::child_processes:
      return "growing memory of child processes";
  }
  return "";
}

std::string child_processes_phrase(const analyzer::OfChildren& children) {
  constexpr size_t kMax = 4;
  if (children.processes.size() == 1) return fmt::format("child process {}", children.processes.front());
  std::vector<std::string> pids;
  for (const uint32_t pid : children.processes) pids.push_back(std::to_string(pid));
  return fmt::format("{} child processes ({})", pids.size(), listed(pids, kMax));
}

std::string holder_phrase(const LeakFinding& finding) {
  const std::string first = finding.holders.empty() ? "" : finding.holders.front();
  switch (finding.kind) {
    case LeakKind::reference_cycle:
      return "unreachable cycle of " + (first.empty() ? "objects" : first);
    case LeakKind::traceback:
      return "traceback of " + (first.empty() ? "an exception" : first);
    case LeakKind::gone_parameters:
      return first + " (optimizer)";
    case LeakKind::cpp_only:
      return first.empty() ? "C++ code" : listed(finding.holders, kNamed) + kGuess;
    case LeakKind::autocast_cache:
      return "autocast's cache of casts, each with its parameter and gradient";
    case LeakKind::process_memory:
      if (first.empty()) return "the process, outside tensors";
      return process_holders(finding);
    case LeakKind::child_processes:
      return "child processes";
    case LeakKind::graph_cycle:
      return cycle_words(finding.cycle);
    case LeakKind::two_dtypes: {
      std::vector<std::string> pairs;
      for (const analyzer::DtypePair& pair : finding.pairs) {
        pairs.push_back(
            fmt::format("{} ({}) and {} ({})", pair.parameter, pair.parameter_dtype, pair.copy, pair.copy_dtype));
      }
      return listed(pairs, kNamed);
    }
    default:
      if (finding.holders.size() > kNamed) return analyzer::merged_names(finding.holders);
      if (!finding.holders.empty()) return listed(finding.holders, kNamed);
      return finding.advice == Advice::holder_not_seen ? "something that was not seen"
                                                       : "graph nodes that no Python tensor refers to";
  }
}

const char* counts_phrase(LeakFinding::Counts counts) {
  switch (counts) {
    case LeakFinding::Counts::tensors:
      return "tensors";
    case LeakFinding::Counts::nodes:
      return "nodes";
    case LeakFinding::Counts::parameters:
      return "parameters";
    case LeakFinding::Counts::entries:
      return "entries";
  }
  return "";
}

namespace {

std::string own_advice(const LeakFinding& finding) {
  switch (finding.advice) {
    case Advice::copy_view:
      return "keep a copy (view.clone()): a view keeps its whole storage";
    case Advice::keep_value:
      return fmt::format("keep {} instead of the tensor: each tensor keeps the {} of its step", without_graph(finding),
                         finding.kind == LeakKind::graph_nodes ? "graph" : "activations");
    case Advice::add_value:
      return fmt::format("add {} instead of the tensor: the sum keeps the graph of every step", without_graph(finding));
    case Advice::detach_state:
      return finding.holders.size() > 1
                 ? "detach each of them at the start of each step (state = state.detach()): their graphs reach back to "
                   "the first step"
                 : "detach it at the start of each step (state = state.detach()): its graph reaches back to the first "
                   "step";
    case Advice::drop_nodes:
      return "do not keep grad_fn objects: a node keeps everything that is reachable from it";
    case Advice::find_node_holder:
      return "see the node classes with tensorscope graph: C++ code or a custom autograd Function keeps the nodes";
    case Advice::holder_not_seen:
      return "see the node classes with tensorscope graph: what keeps the nodes is not known, because not all of "
             "Python was looked through (tensorscope info)";
    case Advice::bound_cache:
      return with_graphs("entries are only ever added: limit its size, or clear it after each epoch",
                         finding.graph_bytes);
    case Advice::bound_container:
      return with_graphs(entries_left(finding)
                             ? "some entries leave it, but most stay: limit its size, or remove old ones"
                             : "entries are only ever added: limit its size, or remove old entries",
                         finding.graph_bytes);
    case Advice::bound_backlog:
      return with_graphs(
          "entries leave it, but more are added than removed: give it a limit at which whoever adds waits "
          "(maxsize), or add more slowly",
          finding.graph_bytes);
    case Advice::unregister_handlers:
      return with_graphs(
          "a handler is registered each time and stays until exit: call atexit.unregister() once its work is "
          "done, or register one handler that refers only to what it needs",
          finding.graph_bytes);
    case Advice::end_threads:
      return "these calls never return: give what they wait for a time limit, or tell their threads to end";
    case Advice::close_generators:
      return "these generators or coroutines are never finished: call close() on them, or drop what refers to them";
    case Advice::empty_opaque_objects:
      return finding.holders.size() == 1
                 ? "Python does not know what memory this object has, and no container of Python objects has as much: "
                   "remove what is not needed from it, or close it"
                 : "Python does not know what memory these objects have, and no container of Python objects has as "
                   "much: remove what is not needed from them, or close them";
    case Advice::bound_cpp_objects:
      return "it gets more extension objects (of C, C++ or Rust) whenever such memory is made, and entries are only "
             "ever added: limit its size, or remove old entries";
    case Advice::forget_modules:
      return "a module is imported under a new name each time and stays in sys.modules: take it out when it was used "
             "(sys.modules.pop(name))";
    case Advice::release_from_c:
      return "C code holds one more of these objects each time: take it back from what it was given to (a callback of "
             "a "
             "future that never completes, a hook, a registry in C++)";
    case Advice::bound_cpp:
      return "look for a cache without a limit in C++ code, or an extension that does not free its tensors";
    case Advice::clear_cell_outputs:
      return "end the cell's last line with a semicolon, or assign it to a name: IPython keeps every other value in "
             "Out; "
             "%reset -f out drops those that are there";
    case Advice::clear_autocast_cache:
      return "enter torch.autocast in each step instead of around all of them: its cache lives until the context ends; "
             "torch.clear_autocast_cache() empties it, cache_enabled=False does without";
    case Advice::break_cycle:
      return "break the cycle, or call gc.collect() more often (it never frees what gc.freeze() has hidden): reference "
             "counting cannot free these objects";
    case Advice::cycle_at_exit:
      return "the dump was written at exit, when the program's functions had returned: take one while the program runs "
             "to see whether this was garbage before";
    case Advice::drop_traceback:
      return "keep the exception's text, or clear its __traceback__: it keeps all local variables of its frames";
    case Advice::save_for_backward:
      return "use ctx.save_for_backward(output) instead of ctx.output = output: a ctx that refers to its own output is "
             "never freed";
    case Advice::detach_in_hook:
      return "keep x.detach() in pack_hook, not x: the hook's object keeps an output of the node that holds the object";
    case Advice::remove_node_hook:
      return "remove the hook after use (handle.remove()), or let it refer weakly to what it works on: a node keeps "
             "its hooks, and this one refers back to a tensor that came out of the node";
    case Advice::no_create_graph:
      return "use torch.autograd.grad(), or set .grad to None after use: backward(create_graph=True) makes a gradient "
             "that refers back to its leaf";
    case Advice::break_graph_cycle:
      return "break one of these links while a variable still refers to them: Python cannot reach them afterwards";
    case Advice::remove_from_optimizer:
      return "remove their groups from param_groups and their entries from state, or create a new optimizer when "
             "modules are replaced";
    case Advice::bound_earlier_data:
      return "limit how much of the earlier data is kept";
    case Advice::bound_storage:
      return "its storage is only ever enlarged: limit its size, or start with a new tensor";
    case Advice::optimize_or_freeze:
      return "add it to the optimizer, or call requires_grad_(False): nothing uses or clears its gradient";
    case Advice::cast_on_use:
      return "if one of the two is needed only briefly, free it, or cast where it is used";
    case Advice::process_part:
      return finding.process_part ? process_advice(*finding.process_part) : "";
    case Advice::stop_profiler:
      return "stop the profiler, or give it a schedule (torch.profiler.schedule): until it is stopped it keeps every "
             "operation that it sees";
    case Advice::look_in_children:
      return "take dumps of the children, too, several steps apart (tensorscope snapshot --children PID), and give "
             "leaks all of these files: it names what the children keep, and where";
  }
  return "";
}

}  // namespace

std::string advice_phrase(const LeakFinding& finding) {
  const std::string text = own_advice(finding);
  if (finding.also_held_by.empty()) return text;
  return fmt::format("{}; alone it frees {}, because the same tensors are also held by {}", text,
                     bytes(finding.frees_alone), finding.also_held_by);
}

std::string advice_phrase(const analyzer::GrownPlace& grown) {
  if (grown.finding != analyzer::kNone) return "";
  if (grown.larger_input) return "no leak: allocated anew in each step, for larger inputs";
  if (grown.remarked) return "no finding: said above";
  if (grown.slows) return "no finding: grows by less and less; a later dump shows whether it ends";
  if (grown.in_place) return "allocated anew and larger each time: limit how much of the earlier data is kept";
  if (grown.held.empty() && !grown.names_detail.empty()) return "holder unknown: " + grown.names_detail;
  if (grown.held.empty()) return "holder unknown: references were not recorded, or C++ code holds it";
  if (grown.holder_unknown && !grown.names_detail.empty()) return "holder unknown: " + grown.names_detail;
  if (grown.holder_unknown) return "holder unknown: the search for names ended early";
  switch (grown.held_by) {
    case Holder::Kind::python:
      return "entries are only ever added: limit its size, or remove old entries";
    case Holder::Kind::saved:
    case Holder::Kind::accumulator:
      return "kept by an autograd graph: detach what refers to it, or compute it under torch.no_grad()";
    case Holder::Kind::gradient:
      return "gradients: check whether the number of parameters grows";
    case Holder::Kind::view:
    case Holder::Kind::storage:
    case Holder::Kind::part:
      return "another tensor keeps this memory: see what holds that tensor";
    case Holder::Kind::cycle:
      return "unreachable reference cycle: break the cycle";
    case Holder::Kind::traceback:
      return "kept by an exception's frames: keep the exception's text instead";
    case Holder::Kind::unknown:
      return "holder unknown: not all that may hold it was looked through";
    case Holder::Kind::cpp:
      break;
  }
  return "held by C++ code: a cache without a limit, or an extension";
}

}  // namespace tensorscope::text
