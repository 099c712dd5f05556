// SPDX-License-Identifier: Apache-2.0
// The heap inspector: looks at the program's objects with the GIL held from beginning to end, so that what it borrows
// stays, no other thread of the program runs meanwhile, and nothing of the program dies in our hands.
//
// Ends itself at the deadline, or where the thread's MemoryLimit is reached: then the tensors that keep the most alive
// have names, and the references say how far it got.
//
// Runs none of the program's code, keeps no reference, makes no tensor's wrapper, and leaves the garbage collector
// as it found it. Two runs over a program that stands still say the same.
#pragma once

#include "python/gil_thread.h"
#include "python/program_facts.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector. Paths of modules, who refers to each tensor, and the process groups.
void look_at_objects(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, Names& names,
                     References& references, ProcessGroups& groups);

}  // namespace tensorscope::python::heap_inspector
