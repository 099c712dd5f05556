// SPDX-License-Identifier: Apache-2.0
#include "dump/references.h"

#include "dump_generated.h"
#include "tensorscope/rules/reference_text.h"

namespace tensorscope::analyzer {

rules::Reference Reference::view() const {
  return {format::ReferenceRoot(root), format::ReferenceRole(role), text, scope, holder, which};
}

std::string Reference::line() const { return rules::reference_text(view()); }

std::string Reference::holder_line() const { return rules::holder_text(view()); }

rules::Reference NodeReference::view() const {
  return {format::ReferenceRoot(root), format::ReferenceRole::plain, text, scope, "", which};
}

std::string NodeReference::line() const { return rules::reference_text(view()); }

rules::Reference ObjectContainer::view() const {
  return {format::ReferenceRoot(root), format::ReferenceRole::plain, text, scope, "", which};
}

std::string ObjectContainer::line() const { return rules::reference_text(view()); }

}  // namespace tensorscope::analyzer
