// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

namespace {

constinit ChangeLayout g_change_for_test = nullptr;

bool layout_of(uint64_t version, const void* runtime, PythonLayout& layout) {
  switch (version >> 16) {
    case 0x0308:
      layout = kCpython38;
      return true;
    case 0x0309:
      layout = kCpython39;
      return true;
    case 0x030a:
      layout = kCpython310;
      return true;
    case 0x030b:
      layout = kCpython311;
      return true;
    case 0x030c:
      layout = kCpython312;
      return true;
    case 0x030d:
      return read_cpython313(runtime, version, layout);
    case 0x030e:
      return read_cpython314(runtime, version, layout);
    case 0x030f:
      return read_cpython315(runtime, version, layout);
    default:
      return false;
  }
}

}  // namespace

bool choose_layout(uint64_t version, const void* runtime, PythonLayout& layout) {
  if (!layout_of(version, runtime, layout)) return false;
  if (g_change_for_test) g_change_for_test(layout);
  return true;
}

void set_layout_change_for_test(ChangeLayout change) { g_change_for_test = change; }

}  // namespace tensorscope::stacks
