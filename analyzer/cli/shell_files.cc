// SPDX-License-Identifier: Apache-2.0
// completion, manual: what shells and man(1) know about the command line, written from the parser's own options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "cli/invocation.h"

namespace tensorscope::cli {

namespace {

constexpr const char* kOwnName = "tensorscope";
const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

std::vector<std::string> option_names(const CLI::Option* option) {
  std::vector<std::string> names;
  for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option* option) { return option->get_items_expected_max() > 0; }

// The words that CLI::IsMember accepts, as it describes itself: "WHEN:{auto,always,never}".
std::vector<std::string> choices_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();
  const size_t begin = type.find(":{"), end = type.rfind('}');
  std::vector<std::string> words;
  if (begin == std::string::npos || end == std::string::npos) return words;
  std::istringstream list(type.substr(begin + 2, end - begin - 2));
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

std::vector<const CLI::Option*> named_options(const CLI::App& app) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) options.push_back(option);
  }
  return options;
}

std::vector<const CLI::App*> shown_verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

std::string word_list(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

// Within single quotes of a shell.
std::string shell_quoted(const std::string& text, const char* quote) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return "'" + out + "'";
}

// What follows `run` is a command line of its own.
bool starts_a_program(const CLI::App& verb) { return verb.get_name() == "run"; }

// ---- bash

std::string bash_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : named_options(app))
    std::ranges::copy(option_names(option), std::back_inserter(names));
  return word_list(names);
}

// Cases of the word before the one that is completed.
std::string bash_values(const CLI::App& app, const char* indent) {
  std::string out;
  for (const CLI::Option* option : named_options(app)) {
    if (!takes_value(option)) continue;
    const auto choices = choices_of(option);
    out += fmt::format("{}{}) {} ;;\n", indent, word_list(option_names(option), "|"),
                       choices.empty() ? "return" : fmt::format("words='{}'", word_list(choices)));
  }
  return out;
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> names, valued;
  for (const CLI::App* verb : shown_verbs(app)) names.push_back(verb->get_name());
  for (const CLI::Option* option : named_options(app)) {
    if (takes_value(option)) std::ranges::copy(option_names(option), std::back_inserter(valued));
  }
  std::string out = fmt::format(
      "# bash completion of {0}; written by `{0} completion bash`.\n"
      "_{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb= words= i\n"
      "  COMPREPLY=()\n"
      "  if [[ $word == = ]]; then word=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      {1}) ((i++)); [[ ${{COMP_WORDS[i]}} != = ]] || ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) verb=${{COMP_WORDS[i]}}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  case $previous in\n{2}  esac\n"
      "  case $verb in\n"
      "    '') [[ $words ]] || words='{3} {4}' ;;\n",
      kOwnName, word_list(valued, "|"), bash_values(app, "    "), word_list(names), bash_options(app));
  for (const CLI::App* verb : shown_verbs(app)) {
    out += fmt::format(
        "    {})\n      case $previous in\n{}      esac\n      [[ $words || $word != -* ]] || words='{} {}' ;;\n",
        verb->get_name(), bash_values(*verb, "        "), bash_options(*verb), bash_options(app));
  }
  return out + fmt::format(
                   "  esac\n"
                   "  [[ ! $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                   "}}\n"
                   "complete -o default -F _{0} {0}\n",
                   kOwnName);
}

// ---- zsh

// _arguments leaves the `--` in front of the command line that it hands on.
constexpr const char* kZshCommandLine =
    "'*:: :{ if [[ $words[1] == -- ]]; then shift words; ((CURRENT--)); fi; _normal }'";

// Text within an argument of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_arguments(const CLI::App& app, const char* indent) {
  std::string out;
  for (const CLI::Option* option : named_options(app)) {
    for (const std::string& name : option_names(option)) {
      std::string text = name;
      if (takes_value(option)) text += name.starts_with("--") ? "=" : "+";
      text = "*" + text + "[" + zsh_text(option->get_description()) + "]";
      if (takes_value(option)) {
        const auto choices = choices_of(option);
        text += ":value:" + (choices.empty() ? "_files" : "(" + word_list(choices) + ")");
      }
      out += fmt::format("{}{} \\\n", indent, shell_quoted(text, "'\\''"));
    }
  }
  return out;
}

std::string zsh_completion(const CLI::App& app) {
  std::string verbs, cases;
  for (const CLI::App* verb : shown_verbs(app)) {
    verbs += "    " + shell_quoted(verb->get_name() + ":" + zsh_text(verb->get_description()), "'\\''") + "\n";
    cases += fmt::format("        {})\n          _arguments -S \\\n{}{}            {} ;;\n", verb->get_name(),
                         zsh_arguments(*verb, "            "), zsh_arguments(app, "            "),
                         starts_a_program(*verb) ? kZshCommandLine : "'*:file:_files'");
  }
  return fmt::format(
      "#compdef {0}\n"
      "# zsh completion of {0}; written by `{0} completion zsh`.\n"
      "_{0}() {{\n"
      "  local state line context\n"
      "  typeset -A opt_args\n"
      "  local -a verbs=(\n{1}  )\n"
      "  _arguments -C \\\n{2}    '1:verb:->verb' '*::argument:->rest'\n"
      "  case $state in\n"
      "    verb) _describe -t verbs verb verbs ;;\n"
      "    rest)\n"
      "      case $words[1] in\n{3}      esac ;;\n"
      "  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _{0} ]]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
      kOwnName, verbs, zsh_arguments(app, "    "), cases);
}

// ---- fish

std::string fish_options(const CLI::App& app, const std::string& condition) {
  std::string out;
  for (const CLI::Option* option : named_options(app)) {
    out += fmt::format("complete -c {}{}", kOwnName, condition);
    for (const std::string& name : option->get_snames()) out += " -s " + name;
    for (const std::string& name : option->get_lnames()) out += " -l " + name;
    if (takes_value(option)) {
      const auto choices = choices_of(option);
      out += choices.empty() ? " -r" : " -x -a " + shell_quoted(word_list(choices), "\\'");
    }
    out += " -d " + shell_quoted(option->get_description(), "\\'") + "\n";
  }
  return out;
}

std::string fish_completion(const CLI::App& app) {
  std::string out =
      fmt::format("# fish completion of {0}; written by `{0} completion fish`.\n", kOwnName) + fish_options(app, "");
  for (const CLI::App* verb : shown_verbs(app)) {
    out += fmt::format("complete -c {} -f -n __fish_use_subcommand -a {} -d {}\n", kOwnName, verb->get_name(),
                       shell_quoted(verb->get_description(), "\\'"));
    out += fish_options(*verb, fmt::format(" -n '__fish_seen_subcommand_from {}'", verb->get_name()));
  }
  return out;
}

// ---- man

// Text of a page: no line is a request, no character an escape.
std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string roff_options(const CLI::App& app) {
  std::string out;
  for (const CLI::Option* option : named_options(app)) {
    const std::string type = option->get_type_name();
    std::string names;
    for (const std::string& name : option_names(option))
      names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    if (takes_value(option)) names += " \\fI" + roff(type.substr(0, type.find(':'))) + "\\fR";
    out += ".TP\n" + names + "\n" + roff(option->get_description()) + "\n";
    if (const auto choices = choices_of(option); !choices.empty()) out += "(" + roff(word_list(choices, ", ")) + ")\n";
  }
  return out;
}

std::string roff_lines(const std::string& text) { return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

std::string manual(const CLI::App& app) {
  std::string out = fmt::format(
      ".TH TENSORSCOPE 1 \"\" \"tensorscope {}\" \"User Commands\"\n"
      ".SH NAME\ntensorscope \\- memory profiler for PyTorch programs\n"
      ".SH SYNOPSIS\n.B tensorscope\n\\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n.br\n"
      ".B tensorscope run\n[\\fIOPTION\\fR...] \\-\\- \\fIPROGRAM\\fR [\\fIARGUMENT\\fR...]\n"
      ".SH DESCRIPTION\n{}\n{}.SH OPTIONS OF ALL VERBS\n{}.SH VERBS\n",
      TENSORSCOPE_VERSION, roff(app.get_description()), roff_lines(app.get_footer()), roff_options(app));
  for (const CLI::App* verb : shown_verbs(app)) {
    std::string usage = "tensorscope " + verb->get_name() + " [OPTION...]";
    std::string positionals;
    for (const CLI::Option* option : verb->get_options()) {
      if (!option->get_positional()) continue;
      const std::string name = option->get_name(true);
      usage += option->get_required() ? " " + name : " [" + name + "]";
      positionals += ".TP\n\\fI" + roff(name) + "\\fR\n" + roff(option->get_description()) + "\n";
    }
    if (starts_a_program(*verb)) usage += " -- PROGRAM [ARGUMENT...]";
    out += ".SS " + roff(verb->get_name()) + "\n" + roff(verb->get_description()) + "\n.PP\n" + roff(usage) + "\n" +
           positionals + roff_options(*verb) + roff_lines(verb->get_footer());
  }
  return out +
         ".SH SEE ALSO\nThe documentation of each verb is in docs/cli/ of the sources; TENSORSCOPE_HELP=1 lists the\n"
         "variables that the profiler reads.\n";
}

}  // namespace

void add_shell_files(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "print the completion of this command line for a shell");
  completion->fallthrough();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(kShells).description(""));
  completion->footer(
      "Examples:\n"
      "  source <(tensorscope completion bash)\n"
      "  source <(tensorscope completion zsh)\n"
      "  tensorscope completion fish | source");
  completion->callback([shell, &app, &invocation] {
    invocation.action = [shell, &app, &invocation] {
      invocation.out += *shell == "bash"  ? bash_completion(app)
                        : *shell == "zsh" ? zsh_completion(app)
                                          : fish_completion(app);
      return kOk;
    };
  });
  CLI::App* page = app.add_subcommand("manual", "print the manual page, for man");
  page->fallthrough();
  page->footer(
      "Examples:\n"
      "  tensorscope manual | man -l -");
  page->callback([&app, &invocation] {
    invocation.action = [&app, &invocation] {
      invocation.out += manual(app);
      return kOk;
    };
  });
}

}  // namespace tensorscope::cli
