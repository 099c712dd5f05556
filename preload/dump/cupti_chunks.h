// The CUPM and KERN chunks: what CUPTI told.
//
// Context: collector. Appends to `file` and returns false where that fails; writes nothing where CUPTI was not asked.
#pragma once

#include "cupti/session.h"
#include "snapshot/dump_file.h"

namespace tensorscope::snapshot {

bool write_cupti(const cupti::Findings& findings, DumpFile& file);

}  // namespace tensorscope::snapshot
