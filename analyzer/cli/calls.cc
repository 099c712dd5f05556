// SPDX-License-Identifier: Apache-2.0
// calls: what ran in a program, module by module: as a tree, by name alone or one after the other; as text, JSON, a
// picture, or for Perfetto.
#include "export/json/calls.h"

#include <fmt/format.h>

#include <optional>

#include "cli/dump_options.h"
#include "cli/graphviz.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "export/pictures/calls_dot.h"
#include "text/units.h"
#include "text/values/calls.h"

namespace tensorscope::cli {

namespace {

enum class CallsFormat { text, json, dot, svg, png, trace };

struct CallsOptions {
  std::string file, output = "-";
  std::optional<CallsFormat> format;
  bool json = false, force = false, no_fold = false, squash = false, order = false;
  std::optional<uint32_t> step;
  values::CallTreeOptions tree;
  exports::CallsPicture picture;
  size_t top = 200;
};

constexpr size_t kMaxCallBoxes = 5000;  // that Graphviz lays out in a reasonable time

CallsFormat calls_format(const CallsOptions& options) {
  if (options.format) return *options.format;
  if (options.json) return CallsFormat::json;
  const std::pair<const char*, CallsFormat> endings[] = {{".trace.json", CallsFormat::trace},
                                                         {".json", CallsFormat::json},
                                                         {".dot", CallsFormat::dot},
                                                         {".svg", CallsFormat::svg},
                                                         {".png", CallsFormat::png}};
  for (const auto& [ending, format] : endings) {
    if (options.output.ends_with(ending)) return format;
  }
  return CallsFormat::text;
}

std::vector<values::Call> all_calls(const values::ValuesFile& file) {
  std::vector<values::Call> calls;
  calls.reserve(file.call_count());
  file.for_each_call([&calls](const values::Call& call) {
    calls.push_back(call);
    return true;
  });
  return calls;
}

class CallsAnswer {
 public:
  CallsAnswer(const values::ValuesFile& file, const CallsOptions& options, CallsFormat format, Invocation& invocation)
      : file_(file),
        options_(options),
        format_(format),
        invocation_(invocation),
        sequence_(all_calls(file), options.step) {}

  // Returns "" if nothing can be shown, after a message that says why.
  std::string text() {
    if (sequence_.calls().empty()) {
      invocation_.say(options_.step && file_.call_count() > 0
                          ? text::no_such_step(values::CallSequence(all_calls(file_)), *options_.step, options_.file)
                          : no_calls(options_.file, file_.calls_recorded()));
      return "";
    }
    if (format_ == CallsFormat::trace) return exports::chrome_trace(sequence_, file_);
    values::CallTreeOptions how = options_.tree;
    how.fold = !options_.no_fold;
    const values::CallTree tree = values::call_tree(sequence_, how);
    const std::optional<values::SquashedCalls> squashed =
        options_.squash ? std::optional(values::squash(tree)) : std::nullopt;
    if (format_ == CallsFormat::text) return text(tree, squashed);
    if (format_ == CallsFormat::json) {
      return exports::calls_json(sequence_, {.file = options_.file,
                                             .tree = &tree,
                                             .squashed = squashed ? &*squashed : nullptr,
                                             .sequence = options_.order});
    }
    return drawn(tree, squashed);
  }

 private:
  static std::string no_calls(const std::string& file, bool recorded) {
    return fmt::format("{} has no calls of modules: {}.", file,
                       recorded ? "none ran" : "they were not recorded (tensorscope run --calls)");
  }

  std::string text(const values::CallTree& tree, const std::optional<values::SquashedCalls>& squashed) const {
    const text::Terminal terminal = options_.output == "-" ? invocation_.terminal : text::Terminal{};
    std::string text = text::calls_head(sequence_, options_.file, terminal) + "\n";
    if (options_.order) return text + text::call_order_text(sequence_, options_.top, terminal);
    return text + (squashed ? text::squashed_calls_text(*squashed, terminal) : text::call_tree_text(tree, terminal));
  }

  std::string drawn(const values::CallTree& tree, const std::optional<values::SquashedCalls>& squashed) {
    exports::CallsPicture picture = options_.picture;
    picture.title = options_.file;
    picture.order = options_.order;
    const std::string dot =
        squashed ? exports::squashed_calls_dot(*squashed, picture) : exports::calls_dot(tree, picture);
    if (format_ == CallsFormat::dot) return dot;
    const size_t boxes = squashed ? squashed->nodes.size() : tree.nodes.size();
    if (boxes > kMaxCallBoxes) {
      invocation_.say(fmt::format("the tree has {} boxes, too many to draw; use --depth N, --prune or --squash.",
                                  text::count(boxes)));
      return "";
    }
    return draw_with_graphviz(dot, format_ == CallsFormat::svg ? "svg" : "png");
  }

  const values::ValuesFile& file_;
  const CallsOptions& options_;
  const CallsFormat format_;
  Invocation& invocation_;
  values::CallSequence sequence_;
};

int calls(const CallsOptions& options, Invocation& invocation) {
  const CallsFormat format = calls_format(options);
  if (format == CallsFormat::png && options.output == "-") {
    invocation.say("png needs an output file: -o calls.png");
    return kBadInput;
  }
  const values::ValuesFile file(options.file);
  const std::string text = CallsAnswer(file, options, format, invocation).text();
  if (text.empty()) return kBadInput;
  if (options.output == "-") {
    invocation.out += text;
  } else if (!write_file(options.output, text, options.force, invocation)) {
    return kBadInput;
  }
  for (const std::string& problem : file.problems()) invocation.say(problem);
  return file.problems().empty() ? kOk : kBadInput;
}

void add_picture_options(CLI::App& verb, exports::CallsPicture& picture) {
  verb.add_option("--dpi", picture.dpi, "dots per inch of a png. Default: 150")
      ->check(CLI::Range(10, 1200).description(""))
      ->type_name("N");
  verb.add_option("--width", picture.width, "inches of a picture; with --height the picture fills both")
      ->check(CLI::Range(0.5, 1000.0).description(""))
      ->type_name("INCHES");
  verb.add_option("--height", picture.height, "inches of a picture")
      ->check(CLI::Range(0.5, 1000.0).description(""))
      ->type_name("INCHES");
}

}  // namespace

void add_calls(CLI::App& app, Invocation& invocation) {
  auto [verb, options] =
      add_verb(app, invocation, "calls", "calls of modules: tree, order, time, memory; pictures, Perfetto", calls);
  verb->add_option("FILE", options->file, "a values file, written with tensorscope run --calls")
      ->required()
      ->type_name("");
  verb->add_option("--step", options->step, "calls of this step alone")->type_name("N");
  verb->add_option("--depth", options->tree.depth, "levels of the tree; 0 for all (default)")->type_name("N");
  verb->add_flag("--no-fold", options->no_fold,
                 "one row for each of layers.0, layers.1, ..., also where they are equal");
  verb->add_flag("--prune", options->tree.prune, "without the leaves of the tree");
  verb->add_flag("--squash", options->squash, "modules of equal names as one, wherever they are; loops are marked");
  verb->add_flag("--order", options->order, "the calls one after the other; in a picture: the order on the edges");
  verb->add_option("--top", options->top, "rows of --order; 0 for all. Default: 200")
      ->check(CLI::Range(0, 1 << 30).description(""))
      ->type_name("N");
  verb->add_flag("--json", options->json, "output JSON (docs/cli/calls.md)");
  add_choice(*verb, "--format", options->format,
             {{"text", std::optional(CallsFormat::text)},
              {"json", CallsFormat::json},
              {"dot", CallsFormat::dot},
              {"svg", CallsFormat::svg},
              {"png", CallsFormat::png},
              {"trace", CallsFormat::trace}},
             "text, json, dot, svg, png (svg, png: with Graphviz) or trace (Perfetto). Default: by FILE's extension: "
             ".trace.json for trace; else text")
      ->type_name("FORMAT");
  verb->add_option("-o,--output", options->output, "output file. Default: standard output")->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  add_picture_options(*verb, options->picture);
  verb->footer(
      "Examples:\n"
      "  tensorscope run --calls -- python train.py\n"
      "  tensorscope calls train.4242.values\n"
      "  tensorscope calls train.4242.values --step 3 --order\n"
      "  tensorscope calls train.4242.values -o calls.svg --order --depth 3\n"
      "  tensorscope calls train.4242.values -o run.trace.json      open it in Perfetto (ui.perfetto.dev)");
}

}  // namespace tensorscope::cli
