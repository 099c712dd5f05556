// SPDX-License-Identifier: Apache-2.0
// Dumps of child processes beside a dump that was asked for (TENSORSCOPE_CHILDREN): of those that run under
// libtensorscope too and whose memory grew since the last such dump. Nobody waits for them.
//
// Context: collector.
#pragma once

#include "collector/dump_request.h"
#include "dump/process_chunks.h"

namespace tensorscope::collector {

// Sets `facts.children`, and asks those descendants that are to write a dump with the one that begins.
void look_at_children(const DumpRequest& request, dump::DumpFacts& facts);

// On the other side, of a process that an ancestor asks for a dump: whether it grew since the last one; it has written
// one.
bool has_grown_since_own_dump();
void note_own_dump();

}  // namespace tensorscope::collector
