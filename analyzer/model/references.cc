#include "model/references.h"

#include "dump_generated.h"

namespace tensorscope::model {

namespace {

std::string in_words(uint8_t root, const std::string& text, const std::string& scope) {
  auto behind = [&](const std::string& what) { return scope.empty() ? text : text + " (" + what + scope + ")"; };
  auto before = [&](const std::string& what) { return scope.empty() ? text : what + scope + ": " + text; };
  switch (dump::ReferenceRoot(root)) {
    case dump::ReferenceRoot::global:
    case dump::ReferenceRoot::class_:
      return before("");
    case dump::ReferenceRoot::local:
      return behind("local of ");
    case dump::ReferenceRoot::suspended:
      return behind("in the waiting ");
    case dump::ReferenceRoot::traceback:
      return before("traceback of ");
    case dump::ReferenceRoot::thread:
      if (!scope.starts_with("context")) return text.empty() ? "state of a thread" : text + " (state of a thread)";
      return text.empty() ? scope : text + " (" + scope + ")";
    case dump::ReferenceRoot::node:
      return before("");
    case dump::ReferenceRoot::extension:
      return text.empty() ? "C code, through " + scope : behind("held by C code, through ");
    case dump::ReferenceRoot::cycle:
      return text.empty() ? "unreachable cycle of " + scope : before("unreachable cycle of ");
    case dump::ReferenceRoot::user:
    case dump::ReferenceRoot::output:
      break;
  }
  return text;
}

}  // namespace

// The path of a module or a parameter is a name by itself: the variable that it begins with is the program's word for
// the model.
std::string Reference::line() const {
  const bool path = dump::ReferenceRole(role) != dump::ReferenceRole::plain &&
                    dump::ReferenceRole(role) != dump::ReferenceRole::saved && !text.empty();
  return path ? text : in_words(root, text, scope);
}

std::string NodeReference::line() const { return in_words(root, text, scope); }

}  // namespace tensorscope::model
