// SPDX-License-Identifier: Apache-2.0
// Objects of extensions' code that the program's own variables lead to, by attributes and entries of small containers:
// a database, a file, a tokenizer, a store. What such an object has of memory Python does not know, so that memory of
// which no container has enough may be one's of these.
//
// Context: heap inspector.
#pragma once

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/roots.h"
#include "python/heap_inspector/naming/beginnings.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

// Adds a row to `out.containers` for each, without bytes and entries, by the name of the variable that leads there
// first. Where a limit is reached, those that were found by then.
void write_opaque_rows(const Gil& gil, Kinds& kinds, const ObjectGraph& graph, const Roots& roots,
                       Attributes& attributes, Beginnings& beginnings, LookLimits& limits, References& out);

}  // namespace tensorscope::python::heap_inspector
