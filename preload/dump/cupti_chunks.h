// SPDX-License-Identifier: Apache-2.0
// The CUPM and KERN chunks: what CUPTI reported.
//
// Context: collector. Appends to `file` and returns false where that fails; writes nothing where CUPTI was not asked.
#pragma once

#include "devices/cupti/session.h"
#include "dump/dump_file.h"

namespace tensorscope::dump {

bool write_cupti(const cupti::Activity& activity, DumpFile& file);

}  // namespace tensorscope::dump
