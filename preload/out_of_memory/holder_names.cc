#include "out_of_memory/holder_names.h"

#include <algorithm>
#include <map>

#include "tensorscope/rules/number_text.h"

namespace tensorscope::out_of_memory {

namespace {

using dump::ReferenceRole;
using dump::ReferenceRoot;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

class Texts {
 public:
  explicit Texts(const python::References& references) : strings_(references.strings) {}
  std::string operator[](uint32_t id) const { return std::string(strings_[id]); }

 private:
  const python::TextPool& strings_;
};

// As the analyzer writes references (model/references.cc).
std::string line_of(const dump::Reference& row, const Texts& texts) {
  const std::string text = texts[row.text()], scope = texts[row.scope()];
  const bool path = row.role() != ReferenceRole::plain && row.role() != ReferenceRole::saved && !text.empty();
  if (path) return text;
  std::string line = text;
  switch (row.root()) {
    case ReferenceRoot::global:
    case ReferenceRoot::class_:
    case ReferenceRoot::node:
      if (!scope.empty()) line = scope + ": " + text;
      break;
    case ReferenceRoot::local:
      if (!scope.empty()) line += " (local of " + scope + ")";
      break;
    case ReferenceRoot::suspended:
      if (!scope.empty()) line += " (in the waiting " + scope + ")";
      break;
    case ReferenceRoot::traceback:
      line = "traceback of " + scope + ": " + text;
      break;
    case ReferenceRoot::thread:
      line += text.empty() ? "state of a thread" : " (state of a thread)";
      break;
    case ReferenceRoot::extension:
      line = "C code, through " + scope;
      break;
    case ReferenceRoot::cycle:
      line = text.empty() ? "unreachable cycle of " + scope : "unreachable cycle of " + scope + ": " + text;
      break;
    case ReferenceRoot::user:
    case ReferenceRoot::output:
      break;
  }
  const std::string holder = texts[row.holder()];
  if (row.root() == ReferenceRoot::node) line = "saved by " + line;
  return holder.empty() ? line : line + " (" + holder + ")";
}

// What it is to its module or optimizer says more than a shorter way to it, and C code says least.
int rank_of(const dump::Reference& row) {
  switch (row.role()) {
    case ReferenceRole::parameter:
    case ReferenceRole::buffer:
      return 1;
    case ReferenceRole::optimizer_state:
      return 2;
    default:
      return row.root() == ReferenceRoot::user ? 0 : row.root() == ReferenceRoot::extension ? 4 : 3;
  }
}

std::string name_in_python(const DumpTables& tables, const TensorLinks& links, uint32_t tensor) {
  const dump::Reference* best = nullptr;
  for (const dump::Reference& row : links.references(tensor)) {
    if (row.root() != ReferenceRoot::output && (best == nullptr || rank_of(row) < rank_of(*best))) best = &row;
  }
  return best == nullptr ? std::string() : line_of(*best, Texts(tables.references));
}

std::string slot_name(const DumpTables& tables, const TensorLinks::Slot& held) {
  const snapshot::Graph& graph = tables.graph;
  const uint32_t number = graph.nodes[held.node].class_number;
  const std::string node(number < graph.class_names.size() ? unqualified(graph.class_names[number]) : "");
  const Texts texts(tables.references);
  for (const dump::SlotName& slot : tables.references.slots) {
    if (slot.ordinal() == graph.saved[held.slot].ordinal() && texts[slot.class_name()] == node) {
      return "saved by " + node + "." + texts[slot.name()];
    }
  }
  return node.empty() ? "the autograd graph" : "saved by " + node;
}

// A name cut at its free-standing numbers: "layers.3.attn" is {"layers.", 3, ".attn"}; "fc1" has none.
struct Pattern {
  std::vector<std::string> texts;  // one more than numbers
  std::vector<uint64_t> numbers;

  explicit Pattern(const std::string& name) {
    constexpr size_t kMostDigits = 18;
    texts.emplace_back();
    for (size_t at = 0; at < name.size();) {
      size_t end = at;
      uint64_t number = 0;
      while (end < name.size() && is_digit(name[end]) && end - at < kMostDigits)
        number = number * 10 + name[end++] - '0';
      const bool free = end > at && (at == 0 || !is_word(name[at - 1])) && (end == name.size() || !is_word(name[end]));
      if (free) {
        numbers.push_back(number);
        texts.emplace_back();
      } else {
        end = std::max(end, at + 1);
        texts.back().append(name, at, end - at);
      }
      at = end;
    }
  }
};

struct Form {
  std::vector<uint64_t> least, most;  // by number
  size_t names = 0, order = 0;
  uint64_t bytes = 0;
};

std::string text_of(const std::vector<std::string>& texts, const Form& form) {
  size_t varying = 0;
  for (size_t i = 0; i < form.least.size(); ++i) varying += form.least[i] != form.most[i];
  std::string text = texts[0];
  for (size_t i = 0; i < form.least.size(); ++i) {
    if (form.least[i] == form.most[i]) {
      text += std::to_string(form.least[i]);
    } else if (varying == 1 && texts[i].ends_with('[') && form.most[i] - form.least[i] + 1 == form.names) {
      text += std::to_string(form.least[i]) + ".." + std::to_string(form.most[i]);
    } else {
      text += "*";
    }
    text += texts[i + 1];
  }
  return text;
}

}  // namespace

std::string_view unqualified(const char* mangled) {
  std::string_view last, rest = mangled;
  if (rest.starts_with("N")) rest.remove_prefix(1);
  while (!rest.empty() && is_digit(rest[0])) {
    size_t length = 0;
    while (!rest.empty() && is_digit(rest[0]) && length < rest.size()) {
      length = length * 10 + size_t(rest[0] - '0');
      rest.remove_prefix(1);
    }
    if (length == 0 || length > rest.size()) break;
    last = rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return last;
}

std::string holder_name(const DumpTables& tables, const TensorLinks& links, uint32_t tensor) {
  std::string name = name_in_python(tables, links, tensor);
  if (!name.empty()) return name;
  if (const uint32_t owner = links.gradient_of(tensor); owner != kNone) {
    name = name_in_python(tables, links, owner);
    return name.empty() ? "a gradient" : "gradient of " + name;
  }
  const TensorLinks::Slot slot = links.saved_by(tensor);
  return slot.node == kNone ? std::string() : slot_name(tables, slot);
}

std::string merged_names(const std::vector<HeldBytes>& names) {
  std::map<std::vector<std::string>, Form> forms;
  uint64_t all = 0;
  size_t others = 0;
  for (const auto& [name, bytes, tensors] : names) {
    all += bytes;
    others += tensors;
    if (name.empty()) continue;
    Pattern pattern(name);
    const auto [found, fresh] = forms.try_emplace(std::move(pattern.texts));
    Form& form = found->second;
    ++form.names;
    form.bytes += bytes;
    if (fresh) {
      form.least = form.most = pattern.numbers;
      form.order = forms.size();
      continue;
    }
    for (size_t i = 0; i < pattern.numbers.size(); ++i) {
      form.least[i] = std::min(form.least[i], pattern.numbers[i]);
      form.most[i] = std::max(form.most[i], pattern.numbers[i]);
    }
  }
  if (forms.empty()) return "";
  const auto best = std::max_element(forms.begin(), forms.end(), [](const auto& a, const auto& b) {
    return a.second.bytes != b.second.bytes ? a.second.bytes < b.second.bytes : a.second.order > b.second.order;
  });
  std::string text = text_of(best->first, best->second);
  others -= best->second.names;
  if (others == 0) return text;
  return text + " (" + ByteText(best->second.bytes).c_str() + ") and " + std::to_string(others) + " more (" +
         ByteText(all - best->second.bytes).c_str() + ")";
}

}  // namespace tensorscope::out_of_memory
