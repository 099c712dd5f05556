// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/layout_check.h"

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/interpreter_layout.h"
#include "python/heap_inspector/graph/object_sizes.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/heap_inspector/naming/main_script.h"
#include "support/coverage.h"
#include "support/options.h"

namespace tensorscope::python::heap_inspector {

namespace {

const char* g_trouble = "the interpreter's layouts were not checked";

}  // namespace

void check_layouts(const Gil& gil) {
  const bool locals = check_locals(gil), attributes = check_attributes(gil);
  main_script(gil);
  check_sizes(gil);
  const bool stacks_are_off = options().python_stacks && coverage(Subject::python_stacks).seen == Seen::no;
  g_trouble = !known_layout(gil)          ? "where this interpreter keeps variables and attributes is not known"
              : !locals && stacks_are_off ? "variables of running functions cannot be read without Python stacks"
              : !locals                   ? "this interpreter keeps the variables of functions elsewhere than was known"
              : !attributes               ? "this interpreter keeps the attributes of objects elsewhere than was known"
                                          : "";
}

const char* layout_trouble() { return g_trouble; }

}  // namespace tensorscope::python::heap_inspector
