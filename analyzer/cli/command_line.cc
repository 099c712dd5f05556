// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: verbs, what they share, and how mistakes are answered.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <regex>

#include "cli/invocation.h"
#include "dump/reader.h"
#include "memory/selection.h"
#include "text/choice_words.h"
#include "text/filter_words.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

constexpr const char* kAbout =
    "tensorscope profiles the memory of PyTorch programs: every live tensor, where it was made and what holds it.\n"
    "It also records values: what modules and functions computed, step by step.";

constexpr const char* kFooter =
    "Getting started:\n"
    "  tensorscope run -- python train.py           start a program under the profiler\n"
    "  tensorscope snapshot PID                     write a dump now; prints its path\n"
    "  tensorscope report train.4242.1.tscope       live memory by allocation site\n"
    "  tensorscope diff train.4242.1.tscope train.4242.2.tscope\n"
    "  tensorscope leaks train.4242.1.tscope train.4242.2.tscope train.4242.3.tscope\n"
    "\n"
    "tensorscope VERB --help lists the options of a verb, with examples.";

// Help that fits a terminal of 120 columns.
class WrappedHelp : public CLI::Formatter {
 public:
  WrappedHelp() {
    column_width(kOptionColumns);
    label("SUBCOMMAND", "VERB");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = Formatter::make_usage(app, std::move(name));
    if (app->get_name() == "run") usage.insert(usage.find_last_not_of('\n') + 1, " -- PROGRAM [ARGUMENT...]");
    return usage;
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string help = Formatter::make_help(app, std::move(name), mode);
    for (size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
    return help;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return text::wrap(Formatter::make_option_desc(option), 120 - kOptionColumns, 0);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = Formatter::make_option_opts(option);
    text.resize(std::min(text.find(" Excludes:"), text.size()));  // the error names them where they meet
    // The choices of WHEN:{auto,always,never} are in the text of the option.
    if (const size_t begin = text.find(":{"); begin != std::string::npos) text.erase(begin, text.find('}') + 1 - begin);
    return text;
  }

 private:
  static constexpr int kOptionColumns = 34;
};

std::string first_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Index of the first word from `begin` on that is neither an option of `app` or its parent nor an option's value;
// the number of words where there is none. "--" is such a word: it ends the options.
size_t end_of_options(const std::vector<std::string>& words, size_t begin, const CLI::App& app) {
  size_t at = begin;
  while (at < words.size() && words[at].starts_with("-") && words[at] != "--") {
    const CLI::Option* option = app.get_option_no_throw(words[at]);
    if (option == nullptr && app.get_parent() != nullptr) option = app.get_parent()->get_option_no_throw(words[at]);
    at += option != nullptr && option->get_items_expected_min() > 0 ? 2 : 1;  // "--dir=x" is one word, "--dir x" two
  }
  return std::min(at, words.size());
}

// Takes what follows `run [options] [--]` out of the arguments: the program's own options are not ours to read.
// `verb`: index of the word `run`.
std::vector<std::string> take_program(std::vector<std::string>& arguments, size_t verb, const CLI::App& run) {
  size_t end = end_of_options(arguments, verb + 1, run);
  for (size_t at = verb + 1; at < end; at++) {
    if (arguments[at] == "-m") end = at;  // Python's, as in `run -m MODULE`
  }
  const size_t begin = end < arguments.size() && arguments[end] == "--" ? end + 1 : end;
  std::vector<std::string> program(arguments.begin() + std::ptrdiff_t(begin), arguments.end());
  arguments.resize(end);
  return program;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) names.push_back(verb->get_name());
  return names;
}

// `mistake`: what the parser says of words that it did not expect, the words at its end.
std::string unknown_words(const std::string& mistake, const CLI::App& app, const CLI::App* verb) {
  const size_t begin = mistake.find(" -");
  if (begin == std::string::npos) return mistake;
  std::string word = mistake.substr(begin + 1);
  word.resize(std::min(word.find_first_of("= "), word.size()));
  if (word == "--limit") return "unknown option '--limit'; use --top";
  std::vector<std::string> options;
  for (const CLI::App* from : {&app, verb}) {
    if (from == nullptr) continue;
    for (const CLI::Option* option : from->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
  }
  return "unknown option '" + word + "'" + (verb == nullptr ? "" : " for " + verb->get_name()) +
         text::did_you_mean(word, options);
}

void add_verbs(CLI::App& app, Invocation& invocation) {
  for (auto* add : {add_run,     add_attach, add_snapshot, add_record,     add_report,   add_list,  add_show,
                    add_diff,    add_leaks,  add_ranks,    add_oom,        add_check,    add_info,  add_graph,
                    add_compare, add_calls,  add_timeline, add_forecast,   add_top_verb, add_query, add_export,
                    add_html,    add_watch,  add_values,   add_shell_files}) {
    add(app, invocation);
  }
  for (CLI::App* verb : app.get_subcommands(nullptr)) verb->group("Verbs");
  for (const char* name : {"watch", "values", "compare", "calls"}) app.get_subcommand(name)->group("Verbs for values");
  for (const char* name : {"completion", "manual"}) app.get_subcommand(name)->group("For the shell");
}

// "--top: Value x not in range 0 to 9" in the words of the other mistakes.
std::string invalid_number(const std::string& mistake) {
  static const std::regex kRange("(.+): Value (.*) not in range (\\S+) to (\\S+)");
  std::smatch words;
  if (!std::regex_match(mistake, words, kRange)) return mistake;
  const auto number = [](const std::string& digits) {
    return digits.find('.') == std::string::npos ? digits : fmt::format("{:g}", std::stod(digits));
  };
  return fmt::format("invalid value '{}' for {}; numbers from {} to {}", words.str(2), words.str(1),
                     number(words.str(3)), number(words.str(4)));
}

// What is wrong with the arguments, and where to read more.
std::string parse_mistake(const CLI::App& app, const std::string& verb_word, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string verb = chosen.empty() ? "" : chosen.front()->get_name() + " ";
  std::string mistake = invalid_number(first_line(error.what()));
  if (chosen.empty() && !verb_word.empty()) {
    mistake = "unknown verb '" + verb_word + "'" + text::did_you_mean(verb_word, verbs_of(app));
  } else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    mistake = unknown_words(mistake, app, chosen.empty() ? nullptr : chosen.front());
  }
  return mistake + " (see tensorscope " + verb + "--help)";
}

}  // namespace

void Invocation::say(const std::string& text) { err += "tensorscope: " + text::clean(text) + "\n"; }

void Invocation::report_once(const std::string& text) {
  const std::string line = "\ntensorscope: " + text::clean(text) + "\n";
  if (("\n" + err).find(line) == std::string::npos) say(text);
}

int run_command_line(std::vector<std::string> arguments, const text::Terminal* terminal, Invocation& invocation) {
  CLI::App app(kAbout, "tensorscope");
  app.formatter(std::make_shared<WrappedHelp>());
  app.footer(kFooter);
  app.set_version_flag("--version", "tensorscope " TENSORSCOPE_VERSION);
  app.require_subcommand(1);
  std::string colour = "auto";
  app.add_option("--color,--colour", colour, "colour the output: auto, always or never. Default: auto")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");

  bool exact = false;
  app.add_flag("--bytes", exact, "print exact byte counts: 1,048,576 B instead of 1.0 MiB");

  add_verbs(app, invocation);

  if (arguments.empty()) {
    invocation.err += app.help();
    return kBadInput;
  }
  const size_t verb_at = end_of_options(arguments, 0, app);
  const std::string verb_word = verb_at < arguments.size() ? arguments[verb_at] : "";
  if (verb_word == "run") invocation.program = take_program(arguments, verb_at, *app.get_subcommand("run"));
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a vector
  try {
    app.parse(arguments);
    auto mode = colour == "always"  ? text::Colour::always
                : colour == "never" ? text::Colour::never
                                    : text::Colour::automatic;
    text::show_exact_bytes(exact);
    invocation.terminal = terminal != nullptr ? *terminal : text::detect_terminal(mode);
    return invocation.action();
  } catch (const CLI::CallForHelp&) {
    invocation.out += app.help();  // of the chosen verb, if there is one
    return kOk;
  } catch (const CLI::CallForVersion&) {
    invocation.out += app.version() + "\n";
    return kOk;
  } catch (const CLI::ParseError& error) {
    invocation.say(parse_mistake(app, verb_word, error));
  } catch (const analyzer::BadFilter& error) {
    invocation.say(first_line(text::filter_mistake_phrase(error.mistake)));
  } catch (const analyzer::Error& error) {
    invocation.say(first_line(error.what()));
  } catch (const std::bad_alloc&) {
    invocation.say("not enough memory to read this dump.");
  } catch (const std::exception& error) {
    invocation.say(std::string("unexpected: ") + first_line(error.what()));
  }
  return kBadInput;
}

}  // namespace tensorscope::cli
