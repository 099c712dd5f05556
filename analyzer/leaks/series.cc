// SPDX-License-Identifier: Apache-2.0
#include "leaks/series.h"

#include "dump_generated.h"
#include "leaks/forms.h"

namespace tensorscope::analyzer {

void add_members(const Series& from, Series& to) {
  for (size_t i = 0; i < to.members.size(); ++i) {
    std::vector<uint32_t>& members = to.members[i];
    members.insert(members.end(), from.members[i].begin(), from.members[i].end());
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
  }
}

std::string scope_form(const Reference& row) {
  using format::ReferenceRoot;
  const std::string scope = without_thread(row.scope);
  const auto root = ReferenceRoot(row.root);
  if (root == ReferenceRoot::suspended) return without_indexes(scope);
  const bool of_module = root == ReferenceRoot::global && row.begin.known();  // the main script has no beginning
  return of_module ? without_digits(scope) : scope;
}

bool same_form(const Reference& a, const Reference& b) {
  return a.root == b.root && scope_form(a) == scope_form(b) && without_indexes(a.text) == without_indexes(b.text) &&
         a.begin == b.begin;
}

bool same_form(const Reference& row, const Series& series) {
  const Reference& example = series.example;
  return row.root == example.root && scope_form(row) == scope_form(example) &&
         without_indexes(row.text) == without_indexes(example.text) && series.of_beginning(row);
}

bool Series::of_many_modules() const {
  return format::ReferenceRoot(example.root) == format::ReferenceRoot::global && example.begin.known() &&
         !beginning_counts.empty() && example.scope.find('*') != std::string::npos;
}

bool kept_by_atexit(const Reference& row) {
  return format::ReferenceRoot(row.root) == format::ReferenceRoot::global && row.scope == "atexit";
}

bool in_plain_variable(const Reference& row) {
  using format::ReferenceRole;
  using format::ReferenceRoot;
  const auto root = ReferenceRoot(row.root);
  const auto role = ReferenceRole(row.role);
  const bool variable = root == ReferenceRoot::global || root == ReferenceRoot::local ||
                        root == ReferenceRoot::suspended || root == ReferenceRoot::class_;
  return variable && (role == ReferenceRole::plain || role == ReferenceRole::module_attribute);
}

}  // namespace tensorscope::analyzer
