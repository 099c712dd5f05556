// SPDX-License-Identifier: Apache-2.0
// A process without Python, for the tests of the collector: they stand before the library's own bridge.
#include "python/bridge.h"

namespace tensorscope::python {
bool attach() { return false; }
bool waits_for_torch_nn() { return false; }
LookCosts LookCosts::allowed() { return {}; }
ProgramFacts look_at_program(const LookCosts&, const SnapshotFacts&) { return {}; }
}  // namespace tensorscope::python
