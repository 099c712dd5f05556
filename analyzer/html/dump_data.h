// SPDX-License-Identifier: Apache-2.0
// One dump as data of a page: what report says of it, and its tensors, storages and stacks as columns.
#pragma once

#include "html/payload.h"
#include "memory/opened_dump.h"

namespace tensorscope::html {

// The first `most` allocation sites in full; the others as one sum.
Json dump_data(analyzer::OpenedDump& opened, Payload& payload, size_t most_sites = 200);

}  // namespace tensorscope::html
