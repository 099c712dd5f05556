// SPDX-License-Identifier: Apache-2.0
// Dumps of a process and of its children, as TENSORSCOPE_CHILDREN and `snapshot --children` write them: what a child
// keeps is a finding of its parent's, with the child's holder and line.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "leaks/leaks.h"

namespace tensorscope::analyzer {

struct ProcessFamily {
  std::vector<Dump> parent;                 // all dumps where they are not of one process and its children
  std::vector<std::vector<Dump>> children;  // by process
};
ProcessFamily family_of(std::vector<Dump> dumps);

// A child writes its first dump with a later one of its parent's, so that two of its own show one interval. What became
// as much a step from its beginning to its first dump goes on, and is a finding. `child`: of `views`; `parent`: dumps
// of its parent, which tell the steps.
void confirm_since_beginning(Leaks& child, const std::vector<View>& views, const std::vector<View>& parent);
// Adds what was found in the dumps of one child. Children that keep the same at the same place are one finding.
void add_findings_of_child(Leaks& leaks, const std::vector<View>& views, Leaks child);
// After the last child: the growth of the children's private memory is no finding beside theirs, nor is it said where
// they wrote dumps, for which they copied pages of their parent's.
void leave_out_explained_children(Leaks& leaks);

}  // namespace tensorscope::analyzer
