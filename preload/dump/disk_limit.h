// SPDX-License-Identifier: Apache-2.0
// TENSORSCOPE_DISK_LIMIT: how much all dumps of a folder may take, whoever wrote them: this process, its children,
// those before it. The oldest are removed before a new one gets its name. Recordings and values files grow under their
// names, are no dumps, and are neither counted nor removed; nor is anything that is not a dump by its first bytes.
//
// Context: collector. It allocates.
#pragma once

#include <cstdint>

namespace tensorscope::dump {

// Removes dumps in `directory` until `more` bytes fit under `limit` beside those that remain. False: they never will,
// and nothing was removed.
bool make_room_on_disk(const char* directory, uint64_t limit, uint64_t more);

}  // namespace tensorscope::dump
