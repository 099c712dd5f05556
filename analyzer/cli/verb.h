// SPDX-License-Identifier: Apache-2.0
// How a verb is declared: its name, its options, and what runs when it is the one that was given.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/invocation.h"

namespace tensorscope::cli {

template <typename Options>
struct Verb {
  CLI::App* app;                     // add options, help and examples here
  std::shared_ptr<Options> options;  // into which they are parsed
};

// `run` gets the parsed options; its result is the exit status.
template <typename Options>
Verb<Options> add_verb(CLI::App& program, Invocation& invocation, const char* name, const char* about,
                       int (*run)(const Options&, Invocation&)) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(name, about);
  app->fallthrough();
  app->callback([options, run, &invocation] {
    invocation.action = [options, run, &invocation] { return run(*options, invocation); };
  });
  return {app, options};
}

// An option whose text is one of some words, each with its value.
template <typename Value>
CLI::Option* add_choice(CLI::App& verb, const std::string& name, Value& value,
                        const std::vector<std::pair<std::string, Value>>& choices, const std::string& help) {
  return verb.add_option_function<std::string>(
      name,
      [name, &value, choices](const std::string& text) {
        std::string words;
        for (const auto& [word, meaning] : choices) {
          if (word == text) {
            value = meaning;
            return;
          }
          words += (words.empty() ? "" : ", ") + word;
        }
        throw CLI::ValidationError("invalid value '" + text + "' for " + name + "; choose from " + words);
      },
      help);
}

}  // namespace tensorscope::cli
