// The command line as a whole: verbs, what they share, and how mistakes are answered.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>

#include "commands/invocation.h"
#include "model/reader.h"
#include "model/selection.h"
#include "render/text.h"

namespace tensorscope::commands {

namespace {

constexpr const char* kAbout =
    "tensorscope shows what memory a PyTorch program holds: every live tensor, who made it, and what changed.";

constexpr const char* kFooter =
    "Begin with:\n"
    "  tensorscope run -- python train.py           start a program under the profiler\n"
    "  tensorscope snapshot PID                     ask it for a dump; prints the dump's path\n"
    "  tensorscope report train.4242.1.tscope       what is alive, and where it was made\n"
    "  tensorscope diff train.4242.1.tscope train.4242.2.tscope\n"
    "  tensorscope leaks train.4242.1.tscope train.4242.2.tscope train.4242.3.tscope\n"
    "\n"
    "tensorscope VERB --help shows a verb's options with examples.";

std::string first_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Takes what follows `run [options] [--]` out of the arguments: a program's own options are none of ours.
std::vector<std::string> take_program(std::vector<std::string>& arguments, const CLI::App& run) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const CLI::Option* option = word.starts_with("-") && word != "--" ? run.get_option_no_throw(word) : nullptr;
    if (option != nullptr && option->get_items_expected_min() > 0) ++i;  // its value comes next
    if (word.starts_with("-") && word != "--") continue;
    size_t begin = word == "--" ? i + 1 : i;
    std::vector<std::string> program(arguments.begin() + std::ptrdiff_t(begin), arguments.end());
    arguments.resize(i);
    return program;
  }
  return {};
}

}  // namespace

void Invocation::say(const std::string& text) { err += "tensorscope: " + render::clean(text) + "\n"; }

int run_command_line(std::vector<std::string> arguments, const render::Terminal* terminal, Invocation& invocation) {
  CLI::App app(kAbout, "tensorscope");
  app.footer(kFooter);
  app.set_version_flag("--version", "tensorscope " TENSORSCOPE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::string colour = "auto";
  app.add_option("--color,--colour", colour, "auto (on a terminal, unless NO_COLOR is set), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");

  add_run(app, invocation);
  add_snapshot(app, invocation);
  add_report(app, invocation);
  add_list(app, invocation);
  add_show(app, invocation);
  add_diff(app, invocation);
  add_leaks(app, invocation);
  add_oom(app, invocation);
  add_check(app, invocation);
  add_info(app, invocation);
  add_graph(app, invocation);
  add_export(app, invocation);

  if (arguments.empty()) {
    invocation.err += app.help();
    return kBadInput;
  }
  const std::string first_word = arguments.front();
  if (first_word == "run") invocation.program = take_program(arguments, *app.get_subcommand("run"));
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
  try {
    app.parse(arguments);
    auto mode = colour == "always"  ? render::Colour::always
                : colour == "never" ? render::Colour::never
                                    : render::Colour::automatic;
    invocation.terminal = terminal != nullptr ? *terminal : render::detect_terminal(mode);
    return invocation.action();
  } catch (const CLI::CallForHelp&) {
    invocation.out += app.help();  // of the chosen verb, if there is one
    return kOk;
  } catch (const CLI::CallForVersion&) {
    invocation.out += app.version() + "\n";
    return kOk;
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    std::string verb = chosen.empty() ? "" : chosen.front()->get_name() + " ";
    std::string mistake = first_line(error.what());
    if (chosen.empty() && !first_word.starts_with("-")) mistake = "there is no verb '" + first_word + "'";
    invocation.say(mistake + " (tensorscope " + verb + "--help shows how it is used)");
  } catch (const model::BadInput& error) {
    invocation.say(first_line(error.what()));
  } catch (const model::BadFilter& error) {
    invocation.say(first_line(error.what()));
  } catch (const std::bad_alloc&) {
    invocation.say("there is not enough memory to read this.");
  } catch (const std::exception& error) {
    invocation.say(std::string("unexpected: ") + first_line(error.what()));
  }
  return kBadInput;
}

}  // namespace tensorscope::commands
