// SPDX-License-Identifier: Apache-2.0
#include "support/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "support/message.h"
#include "support/option_values.h"

namespace tensorscope {

namespace {

constinit Options g_options;
bool g_record_is_set = false;  // TENSORSCOPE_RECORD was given

constexpr std::string_view kPrefix = "TENSORSCOPE_";
// Others read these: tests/fake_cuda, and the tensorscope program (analyzer/process/preload_library.cc).
constexpr std::string_view kOfTheDouble = "TENSORSCOPE_FAKE_CUDA_", kOfTheProgram = "TENSORSCOPE_LIB";

// What of a text is worth showing in a message.
int shown(std::string_view text) { return int(std::min<size_t>(text.size(), 60)); }

template <typename T>
void parse_option(const char* variable, std::string_view text, T& field) {
  if (text.empty()) return;  // as if it were not set
  const Status parsed = parse_option_value(text, field);
  if (parsed) return;
  char buffer[kOptionTextBytes];
  say("invalid value '%.*s' for %s; expected %s. Using %s.", shown(text), text.data(), variable, parsed.why(),
      format_option_value(field, buffer));
}

void parse_variable(std::string_view variable, std::string_view text) {
  g_record_is_set |= variable == "TENSORSCOPE_RECORD" && !text.empty();
#define TENSORSCOPE_OPTION(field, name, type, default_value, help) \
  if (variable == name) return parse_option(name, text, g_options.field);
#include "support/options.def"
#undef TENSORSCOPE_OPTION
  if (variable.starts_with(kPrefix) && !variable.starts_with(kOfTheDouble) && variable != kOfTheProgram) {
    say("unknown variable %.*s; TENSORSCOPE_HELP=1 lists all variables.", shown(variable), variable.data());
  }
}

// Anything else in the environment is not ours.
void parse_entry(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || !text.starts_with(kPrefix.substr(0, kPrefix.size() - 1))) return;
  parse_variable(text.substr(0, equals), text.substr(equals + 1));
}

void print_row(const char* variable, const char* value, const char* help) {
  char setting[160];
  snprintf(setting, sizeof(setting), "%s=%s", variable, value);
  char line[400];
  const int length = snprintf(line, sizeof(line), "  %-38s  %s\n", setting, help);
  write_standard_error(line, std::min(size_t(length), sizeof(line) - 1));
}

// Once in a process: it may be printed at load and asked for again at activation.
void print_help() {
  static bool printed = false;
  if (std::exchange(printed, true)) return;
  say("version %s. Environment variables and their current values:", TENSORSCOPE_VERSION);
  visit_options(print_row);
}

}  // namespace

void parse_options(const char* more) {
  remember_standard_error();
  g_options = Options();
  g_record_is_set = false;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) parse_entry(*entry);
  for (; more != nullptr && *more != 0; more += strlen(more) + 1) parse_entry(more);
  // Who names the part to keep wants a recording, unless TENSORSCOPE_RECORD says otherwise.
  if (g_options.record_last.is_set() && !g_record_is_set) g_options.record = true;
  if (g_options.help) print_help();
}

void print_help_if_asked() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("TENSORSCOPE_HELP=")) return parse_options();
  }
}

const Options& options() { return g_options; }

void visit_options(FunctionRef<void(const char* variable, const char* value, const char* help)> visitor) {
  char buffer[kOptionTextBytes];
#define TENSORSCOPE_OPTION(field, variable, type, default_value, help) \
  visitor(variable, format_option_value(g_options.field, buffer), help);
#include "support/options.def"
#undef TENSORSCOPE_OPTION
}

}  // namespace tensorscope
