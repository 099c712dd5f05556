// SPDX-License-Identifier: Apache-2.0
// The chunk of torch.distributed's process groups.
//
// Context: collector.
#pragma once

#include "dump/dump_file.h"
#include "python/bridge.h"

namespace tensorscope::dump {

// Nothing where torch.distributed is not there.
bool write_process_groups(const python::ProcessGroups& groups, DumpFile& file);

}  // namespace tensorscope::dump
