// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "oom/balance.h"
#include "text/oom/balance_phrases.h"
#include "text/oom/report.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::BalanceKind;
using analyzer::oom::BalanceNode;

constexpr size_t kModules = 3, kPools = 6, kLibraries = 6, kProcesses = 6;
constexpr size_t kShort = 32;  // a text that has room behind the numbers

std::string amount(const BalanceNode& part) {
  if (!part.bytes) return "not known";
  return *part.bytes < 0 ? text::signed_bytes(*part.bytes) : text::bytes(uint64_t(*part.bytes));
}

std::string exact(const BalanceNode& part) {
  if (!part.bytes) return "";
  return *part.bytes < 0 ? "-" + text::count(uint64_t(-*part.bytes)) : text::count(uint64_t(*part.bytes));
}

// "model.layers.*.attn 31.0 GiB, model.layers.*.mlp 17.1 GiB"
std::string modules_text(const BalanceNode& category) {
  std::string text;
  size_t shown = 0, left_out = 0;
  for (const BalanceNode& module : category.parts) {
    if (module.kind != BalanceKind::module || module.subject.empty()) continue;
    if (shown == kModules) {
      ++left_out;
      continue;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", module.subject, amount(module));
    ++shown;
  }
  return left_out == 0 ? text : fmt::format("{}, {} more", text, left_out);
}

// "at::native::(anonymous namespace)::softmax_kernel<float> (libtorch_cuda.so), train.py:7 step" is too long for the
// column of names: the function without its scope stands there, the rest behind the numbers.
std::pair<std::string, std::string> name_and_rest(const std::string& caller) {
  const size_t end = caller.rfind(" (");
  if (end == std::string::npos) return {caller, ""};
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i + 1 < end; ++i) {
    depth += caller[i] == '<' || caller[i] == '(' ? 1 : caller[i] == '>' || caller[i] == ')' ? -1 : 0;
    if (depth == 0 && caller[i] == ':' && caller[i + 1] == ':') begin = i + 2;
  }
  return {caller.substr(begin, end - begin), caller.substr(end + 1)};
}

class BalanceTable {
 public:
  BalanceTable(const BalanceNode& balance, Glossary& glossary)
      : in_use_(analyzer::oom::in_use(balance)),
        glossary_(glossary),
        table_({{.title = "", .least = 24},
                {.title = "", .align = text::Align::right},
                {.title = "bytes", .align = text::Align::right, .style = text::Style::dim},
                {.title = "", .least = 40}}) {}

  void add(const BalanceNode& part, int depth) {
    if (part.optional && part.bytes.value_or(1) == 0) return;
    glossary_.use(part);
    std::string note = text::note_phrase(part.note), modules;
    const bool category = part.kind == BalanceKind::category;
    if (category && part.bytes && in_use_ > 0 && *part.bytes >= 0) {
      note = text::percent(uint64_t(*part.bytes), in_use_);
      modules = modules_text(part);
      if (!modules.empty() && modules.size() <= kShort) note += "  " + std::exchange(modules, "");
    }
    std::string label = label_of(part);
    if (part.kind == BalanceKind::caller) std::tie(label, note) = name_and_rest(label);
    const bool gap = part.kind == BalanceKind::unexplained;
    const text::Style style = gap ? text::Style::warning : depth == 0 ? text::Style::bold : text::Style::plain;
    table_.row({std::string(size_t(depth) * 2, ' ') + label, amount(part), exact(part), note}, style);
    if (!modules.empty()) table_.note(0, std::string(size_t(depth) * 2 + 2, ' ') + modules);
    if (category) return;
    size_t shown = 0, left_out = 0;
    int64_t rest = 0;
    for (const BalanceNode& below : part.parts) {
      if (most_of(below) != 0 && shown++ >= most_of(below)) {
        left_out += 1;
        rest += below.bytes.value_or(0);
        continue;
      }
      add(below, depth + 1);
    }
    if (left_out == 0) return;
    const BalanceNode others = analyzer::oom::balance_node(BalanceKind::others, rest);
    table_.row(
        {std::string(size_t(depth + 1) * 2, ' ') + fmt::format("{} more", left_out), amount(others), exact(others)});
  }

  std::string text(const text::Terminal& terminal) const { return table_.text(terminal, false); }

 private:
  static std::string label_of(const BalanceNode& part) {
    const std::string label = text::label_phrase(part);
    return label.empty() ? analyzer::oom::name(part) : label;
  }
  static size_t most_of(const BalanceNode& part) {
    if (part.kind == BalanceKind::pool) return kPools;
    if (part.kind == BalanceKind::library) return kLibraries;
    return part.kind == BalanceKind::process ? kProcesses : 0;
  }

  const uint64_t in_use_;  // what 100 % of the categories is
  Glossary& glossary_;
  text::Table table_;
};

}  // namespace

std::string balance_text(const BalanceNode& balance, const text::Terminal& terminal, Glossary& glossary) {
  BalanceTable table(balance, glossary);
  table.add(balance, 0);
  return table.text(terminal);
}

}  // namespace tensorscope::text
