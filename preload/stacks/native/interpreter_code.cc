// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/interpreter_code.h"

#include <pthread.h>
#include <unistd.h>

#include "stacks/native/eh_frame.h"
#include "support/loaded_object.h"

namespace tensorscope::stacks {

namespace {

CodeRange object_around(const void* address) {
  UnwindSection section;
  if (!find_unwind_section(reinterpret_cast<uint64_t>(address), section)) return {};
  return {section.begin, section.end};
}

// From its beginning to that of the next function.
CodeRange function_around(const void* address) {
  UnwindSection section;
  UnwindTable table;
  const auto wanted = reinterpret_cast<uint64_t>(address);
  if (!find_unwind_section(wanted, section) || !find_unwind_table(section, table)) return {};
  const auto header = reinterpret_cast<uint64_t>(section.header);
  for (size_t i = 0; i + 1 < table.count; ++i) {
    const CodeRange function = {header + int64_t{table.entries[i].begin}, header + int64_t{table.entries[i + 1].begin}};
    if (function.holds(wanted)) return function;
  }
  return {};
}

}  // namespace

bool find_interpreter_code(InterpreterCode& code) {
  const void* evaluation = nullptr;
  if (!resolve("_PyEval_EvalFrameDefault", evaluation)) return false;
  code.evaluation = function_around(evaluation);
  code.objects[0] = object_around(evaluation);
  code.objects[1] = object_around(reinterpret_cast<const void*>(&getpid));
  code.objects[2] = object_around(reinterpret_cast<const void*>(&pthread_create));
  code.objects[3] = object_around(reinterpret_cast<const void*>(&find_interpreter_code));
  // Programs/python.c: its main() is one call of Py_BytesMain().
  const LoadedObject program = find_object("");
  if (program && program.symbol_index("Py_BytesMain") != 0) code.objects[4] = {program.begin, program.end};
  return code.evaluation.begin != 0;
}

}  // namespace tensorscope::stacks
