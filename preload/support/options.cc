#include "support/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "support/message.h"
#include "support/option_values.h"

namespace tensorscope {

namespace {

constinit Options g_options;

constexpr std::string_view kPrefix = "TENSORSCOPE_";
constexpr std::string_view kOfTheDouble = "TENSORSCOPE_FAKE_CUDA_";  // tests/fake_cuda reads these

constexpr std::string_view kVariables[] = {
#define TENSORSCOPE_OPTION(field, variable, type, default_value, help) variable,
#include "support/options.def"
#undef TENSORSCOPE_OPTION
};

// What of a text is worth showing in a message.
int shown(std::string_view text) { return int(std::min<size_t>(text.size(), 60)); }

template <typename T>
void parse_option(std::string_view variable, std::string_view text, T& field) {
  if (text.empty()) return;  // as if it were not set
  const char* expected = parse_option_value(text, field);
  if (expected == nullptr) return;
  char buffer[kOptionTextBytes];
  say("%s=%.*s is not %s; %s is used.", variable.data(), shown(text), text.data(), expected,
      format_option_value(field, buffer));
}

// Edits (insertions, deletions, exchanges) between two names; long names count as far away.
size_t distance(std::string_view a, std::string_view b) {
  constexpr size_t kLongest = 48;
  if (a.size() > kLongest || b.size() > kLongest) return kLongest;
  uint8_t row[kLongest + 1];
  for (size_t j = 0; j <= b.size(); ++j) row[j] = uint8_t(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    uint8_t diagonal = row[0];
    row[0] = uint8_t(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const uint8_t exchanged = uint8_t(diagonal + (a[i - 1] != b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({exchanged, uint8_t(row[j] + 1), uint8_t(row[j - 1] + 1)});
    }
  }
  return row[b.size()];
}

void say_unknown(std::string_view variable) {
  const auto farther = [&](std::string_view a, std::string_view b) {
    return distance(a, variable) < distance(b, variable);
  };
  const std::string_view nearest = *std::min_element(std::begin(kVariables), std::end(kVariables), farther);
  if (distance(nearest, variable) <= 4) {
    say("%.*s is not a variable of tensorscope; did you mean %s?", shown(variable), variable.data(), nearest.data());
  } else {
    say("%.*s is not a variable of tensorscope; TENSORSCOPE_HELP=1 lists them.", shown(variable), variable.data());
  }
}

void parse_variable(std::string_view variable, std::string_view text) {
#define TENSORSCOPE_OPTION(field, name, type, default_value, help) \
  if (variable == name) return parse_option(name, text, g_options.field);
#include "support/options.def"
#undef TENSORSCOPE_OPTION
  if (variable.starts_with(kPrefix) && !variable.starts_with(kOfTheDouble)) say_unknown(variable);
}

void print_row(const char* variable, const char* value, const char* help, void*) {
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
  say("version %s; its environment variables, as they are set now:", TENSORSCOPE_VERSION);
  visit_options(print_row, nullptr);
}

}  // namespace

void parse_options() {
  remember_standard_error();
  g_options = Options();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kPrefix.substr(0, kPrefix.size() - 1))) continue;
    parse_variable(text.substr(0, equals), text.substr(equals + 1));
  }
  if (g_options.help) print_help();
}

void print_help_if_asked() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("TENSORSCOPE_HELP=")) return parse_options();
  }
}

const Options& options() { return g_options; }

void visit_options(OptionVisitor visitor, void* context) {
  char buffer[kOptionTextBytes];
#define TENSORSCOPE_OPTION(field, variable, type, default_value, help) \
  visitor(variable, format_option_value(g_options.field, buffer), help, context);
#include "support/options.def"
#undef TENSORSCOPE_OPTION
}

}  // namespace tensorscope
