// SPDX-License-Identifier: Apache-2.0
// graph: the autograd graph behind the tensors: which graphs are alive and what they keep, what a tensor was made from,
// how two tensors are linked, who is near one without a name; as text, JSON or a picture.
#include "export/json/graph.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "autograd/graph_answers.h"
#include "autograd/graph_drawing.h"
#include "cli/dump_options.h"
#include "cli/graph_subject.h"
#include "cli/graphviz.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "export/pictures/graph_dot.h"
#include "text/graph/phrases.h"
#include "text/graph/report.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::GraphSubject;
using analyzer::GraphView;
using analyzer::kNone;
using analyzer::kNoNode;

enum class GraphFormat { text, json, dot, svg, png };
const std::map<std::string, std::optional<GraphFormat>> kFormats{{"text", GraphFormat::text},
                                                                 {"json", GraphFormat::json},
                                                                 {"dot", GraphFormat::dot},
                                                                 {"svg", GraphFormat::svg},
                                                                 {"png", GraphFormat::png}};

struct GraphOptions {
  std::string dump;
  std::string keeps, near;
  std::vector<std::string> of, path;
  std::optional<GraphFormat> format;
  std::string output = "-";
  bool force = false;
  analyzer::DrawingOptions drawing;
  size_t top = 10;
  analyzer::SymbolOptions symbols;
};

constexpr int kMaxAsked = 100;      // tensors after one --of
constexpr size_t kMaxDrawn = 5000;  // boxes that Graphviz lays out in a reasonable time

// One question with its answer in the wanted format.
class Answer {
 public:
  Answer(analyzer::OpenedDump& opened, const GraphOptions& options, GraphFormat format, Invocation& invocation)
      : view_(
            opened.dump,
            opened.places, [&opened](uint32_t tensor) -> const auto& { return opened.holders.names(tensor); }),
        options_(options),
        format_(format),
        invocation_(invocation) {
    text_options_.terminal = options.output == "-" ? invocation.terminal : text::Terminal{};
    text_options_.top = options.top;
    text_options_.dump = options.dump;
  }

  // Fills text().
  int answer() {
    if (!options_.path.empty()) return path();
    if (!options_.near.empty()) return near();
    if (!options_.of.empty()) return below(options_.of);
    if (!options_.keeps.empty()) return keeps();
    return overview();
  }
  const std::string& text() const { return text_; }

 private:
  std::optional<uint32_t> find(const std::string& text) { return find_tensor(view_, options_.dump, text, invocation_); }

  bool draws() const {
    return format_ == GraphFormat::dot || format_ == GraphFormat::svg || format_ == GraphFormat::png;
  }

  int nothing(const std::string& sentence) {
    text_ = text::clean(sentence) + "\n";
    return kFound;
  }

  analyzer::GraphDrawing drawing(std::span<const uint32_t> nodes, std::span<const uint32_t> outputs) const {
    return graph_drawing(view_, nodes, outputs, options_.drawing);
  }

  int draw(const analyzer::GraphDrawing& drawing, const std::string& title) {
    const std::string dot = exports::graph_dot(view_, drawing, title);
    if (format_ == GraphFormat::dot) {
      text_ = dot;
      return kOk;
    }
    if (drawing.boxes.size() > kMaxDrawn) {
      invocation_.say(fmt::format("the graph has {} boxes, too many to draw; use --collapse repeat.",
                                  text::count(drawing.boxes.size())));
      return kBadInput;
    }
    text_ = draw_with_graphviz(dot, format_ == GraphFormat::svg ? "svg" : "png");
    return kOk;
  }

  int overview() {
    analyzer::GraphKeeps keeps(view_.dump, view_.walk, view_.tensors);
    const analyzer::GraphOverview all = graph_overview(view_, keeps);
    if (format_ == GraphFormat::text) {
      text_ = text::graph_overview_text(view_, all, text_options_);
      return kOk;
    }
    std::vector<uint32_t> nodes(view_.graph.nodes.size()), outputs;
    std::iota(nodes.begin(), nodes.end(), 0);
    for (const analyzer::GraphGroup& group : all.groups) {
      const auto tensors = view_.tensors.tensors_of(group.roots.front());
      if (!tensors.empty()) outputs.push_back(tensors.front());
    }
    const analyzer::GraphDrawing picture = drawing(nodes, outputs);
    if (draws()) return draw(picture, options_.dump);
    text_ = exports::graph_overview_json(view_, all, picture);
    return kOk;
  }

  int below(const std::vector<std::string>& asked) {
    std::vector<GraphSubject> subjects;
    std::string without;  // a sentence for each that is in no graph
    for (const std::string& text : asked) {
      const std::optional<GraphSubject> subject = find_subject(view_, options_.dump, text, invocation_);
      if (!subject) return kBadInput;
      if (subject->node != kNoNode) {
        subjects.push_back(*subject);
      } else {
        without += (without.empty() ? "" : "\n") + why_no_graph(view_, subject->tensor);
      }
    }
    if (subjects.empty()) return nothing(without);
    if (!without.empty()) invocation_.say(without);
    const analyzer::GraphBelow below = graph_below(view_, subjects);
    std::vector<uint32_t> outputs;
    std::string titles;
    for (const GraphSubject& subject : subjects) {
      if (subject.tensor != kNone) outputs.push_back(subject.tensor);
      titles += (titles.empty() ? "" : "; ") + text::subject_title(view_, subject);
    }
    const analyzer::GraphDrawing picture = drawing(below.reach.nodes, outputs);
    if (draws()) return draw(picture, titles);
    text_ = format_ == GraphFormat::json ? exports::graph_below_json(view_, below, picture)
                                         : text::graph_below_text(view_, below, picture, text_options_);
    return kOk;
  }

  int path() {
    const std::optional<uint32_t> a = find(options_.path[0]);
    const std::optional<uint32_t> b = a ? find(options_.path[1]) : std::nullopt;
    if (!a || !b) return kBadInput;
    const analyzer::GraphPath path = graph_path(view_, *a, *b);
    if (format_ == GraphFormat::json) {
      text_ = exports::graph_path_json(view_, *a, *b, path);
      return path.nodes.empty() ? kFound : kOk;
    }
    if (path.nodes.empty()) {
      return nothing(why_no_path(view_, *a, *b));
    }
    view_.prefetch(path.nodes);
    if (draws()) {
      return draw(drawing(path.nodes, std::array{path.output}),
                  view_.title(path.input) + " to " + view_.title(path.output));
    }
    text_ = text::graph_path_text(view_, path, text_options_);
    return kOk;
  }

  int keeps() {
    const std::optional<GraphSubject> subject = find_subject(view_, options_.dump, options_.keeps, invocation_);
    if (!subject) return kBadInput;
    if (subject->node == kNoNode) return nothing(why_no_graph(view_, subject->tensor));
    if (draws()) return below({options_.keeps});
    analyzer::GraphKeeps keeps(view_.dump, view_.walk, view_.tensors);
    const analyzer::Kept kept = keeps.below(std::array{subject->node});
    std::vector<uint32_t> nodes;
    for (const analyzer::KeptStorage& entry : kept.storages) nodes.push_back(entry.node);
    view_.prefetch(nodes);
    const std::string title =
        subject->tensor != kNone ? view_.title(subject->tensor) : text::root_title(view_, subject->node);
    text_ = format_ == GraphFormat::json ? exports::graph_keeps_json(view_, subject->node, kept, keeps.certain())
                                         : text::graph_keeps_text(view_, title, kept, keeps.certain(), text_options_);
    return kOk;
  }

  int near() {
    const std::optional<uint32_t> tensor = find(options_.near);
    if (!tensor) return kBadInput;
    const analyzer::GraphNeighbours near = graph_neighbours(view_, *tensor);
    if (draws()) {
      invocation_.say("--near cannot be drawn; use --of to draw the graph of a tensor.");
      return kBadInput;
    }
    text_ = format_ == GraphFormat::json ? exports::graph_neighbours_json(view_, *tensor, near)
                                         : text::graph_neighbours_text(view_, *tensor, near, text_options_);
    return kOk;
  }

  const GraphView view_;
  const GraphOptions& options_;
  const GraphFormat format_;
  Invocation& invocation_;
  text::GraphTextOptions text_options_;
  std::string text_;
};

GraphFormat format_of(const GraphOptions& options) {
  if (options.format) return *options.format;
  const size_t dot = options.output.rfind('.');
  const auto found = dot == std::string::npos ? kFormats.end() : kFormats.find(options.output.substr(dot + 1));
  return found == kFormats.end() ? GraphFormat::text : *found->second;
}

int graph(const GraphOptions& options, Invocation& invocation) {
  const GraphFormat format = format_of(options);
  if (format == GraphFormat::png && options.output == "-") {
    invocation.say("png needs an output file: -o graph.png");
    return kBadInput;
  }
  analyzer::OpenedDump opened(options.dump, options.symbols);
  if (!opened.dump.graph.present) {
    std::string detail = opened.dump.graph.detail;
    for (const analyzer::Coverage& entry : opened.dump.coverage) {
      if (detail.empty() && entry.subject == "autograd graph") detail = entry.detail;
    }
    invocation.say(fmt::format("The autograd graph of {} was not recorded{}.", options.dump,
                               detail.empty() ? "" : " (" + detail + ")"));
    return kBadInput;
  }
  Answer answer(opened, options, format, invocation);
  const int status = answer.answer();
  if (status != kBadInput) {
    if (options.output == "-") {
      invocation.out += answer.text();
    } else if (!write_file(options.output, answer.text(), options.force, invocation)) {
      return kBadInput;
    }
  }
  return finish(invocation, opened, status);
}

void add_questions(CLI::App& verb, GraphOptions& options) {
  CLI::Option* of = verb.add_option("--of", options.of, "what tensors were computed from: leaves, paths, operations");
  CLI::Option* path = verb.add_option("--path", options.path, "shortest path between two tensors, in either direction");
  CLI::Option* keeps =
      verb.add_option("--keeps", options.keeps, "tensors and bytes that the graph of a tensor keeps alive");
  CLI::Option* near = verb.add_option("--near", options.near, "named tensors closest to an unnamed tensor");
  path->option_text("A B");
  const std::array all{of, path, keeps, near};
  for (CLI::Option* option : all) {
    option->type_name(option == path ? "A B" : option == of ? "TENSOR ..." : "TENSOR")->group("Questions");
    option->expected(option == path ? 2 : 1, option == path ? 2 : option == of ? kMaxAsked : 1);
    for (CLI::Option* other : all) {
      if (other != option) option->excludes(other);
    }
  }
}

}  // namespace

void add_graph(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "graph", "the autograd graph: what it keeps alive, how tensors are connected", graph);
  verb->add_option("DUMP", options->dump, "the dump file")->required()->type_name("");
  add_questions(*verb, *options);
  add_choice(*verb, "--format", options->format, {kFormats.begin(), kFormats.end()},
             "text, json, dot, svg or png (svg, png: with Graphviz). Default: by FILE's extension, else text")
      ->type_name("FORMAT");
  verb->add_option("-o,--output", options->output, "output file. Default: standard output")->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  add_choice(*verb, "--collapse", options->drawing.how,
             {{"auto", std::nullopt},
              {"none", analyzer::Collapse::none},
              {"module", analyzer::Collapse::module},
              {"repeat", analyzer::Collapse::repeat}},
             "none: every operation; module: one box per module call; repeat: one box for equal calls. Default: auto")
      ->type_name("HOW");
  verb->add_flag("--saved", options->drawing.saved, "also draw saved tensors (where every operation is drawn)");
  add_top(*verb, options->top);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "TENSOR is an id as printed by list (1043, #1043) or a name ('model.fc1.weight', 'train.py: loss', loss).\n"
      "\n"
      "Examples:\n"
      "  tensorscope graph train.4242.1.tscope\n"
      "  tensorscope graph train.4242.1.tscope --of loss\n"
      "  tensorscope graph train.4242.1.tscope --of policy_loss value_loss\n"
      "  tensorscope graph train.4242.1.tscope --path model.fc1.weight loss\n"
      "  tensorscope graph train.4242.1.tscope --keeps 'train.py: losses[0]'\n"
      "  tensorscope graph train.4242.1.tscope --of loss -o loss.svg");
}

}  // namespace tensorscope::cli
