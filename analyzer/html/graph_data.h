// SPDX-License-Identifier: Apache-2.0
// The autograd graph of a dump as columns: nodes, edges, saved tensors.
#pragma once

#include "html/payload.h"
#include "memory/opened_dump.h"

namespace tensorscope::html {

// Null where the dump has none.
Json graph_data(analyzer::OpenedDump& opened, Texts& texts, Payload& payload);

}  // namespace tensorscope::html
