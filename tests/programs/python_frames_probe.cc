// Python stacks without torch: a library that a test program opens with ctypes.CDLL, which releases the GIL around each
// call, to capture its own stack and ask for the frames.
#include <atomic>
#include <chrono>
#include <cstring>

#include "stacks/capture.h"
#include "stacks/native/interpreter_code.h"
#include "stacks/python/python_check.h"
#include "stacks/python/python_interpreter.h"
#include "stacks/python/python_stack.h"
#include "stacks/python/python_walk.h"
#include "stacks/thread_stack.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/options.h"

#define PROBE extern "C" __attribute__((visibility("default")))

namespace stacks = tensorscope::stacks;
using tensorscope::Subject;

struct ProbeFrame {
  uint64_t module_object;
  const char* file;
  const char* name;
  uint32_t parent;
  int32_t first_line;
  int32_t line;
  int32_t entry;
};

PROBE int probe_start() {
  tensorscope::parse_options();
  return stacks::start_python();
}
PROBE void probe_after_fork() { tensorscope::FreshInChild::make_all_anew(); }
PROBE int probe_check() { return stacks::check_python_with_gil(); }
PROBE uint32_t probe_capture() { return stacks::capture_python(); }

// Both stacks as a hook captures them, compared with a capture that expects nothing.
static std::atomic<uint32_t> g_expected{0}, g_other{0};
PROBE void probe_start_native() { stacks::start_native(); }

// Another path through the interpreter alone is not seen at each capture (native_trusts).
static bool same(const stacks::Stack& a, const stacks::Stack& b) {
  stacks::InterpreterCode interpreter;
  const bool known = stacks::find_interpreter_code(interpreter);
  const auto skip = [&](tensorscope::StackId id) {
    while (known && id != 0 && interpreter.is_own(stacks::native_frame(id).address))
      id = stacks::native_frame(id).parent;
    return id;
  };
  tensorscope::StackId x = skip(a.native), y = skip(b.native);
  while (x != y && x != 0 && y != 0 && stacks::native_frame(x).address == stacks::native_frame(y).address) {
    x = skip(stacks::native_frame(x).parent);
    y = skip(stacks::native_frame(y).parent);
  }
  return x == y && a.python == b.python;
}

PROBE uint32_t probe_capture_both() {
  stacks::ThreadStack* const thread = stacks::ThreadStack::known();
  const stacks::RememberedCaptures::Pair next =
      thread != nullptr ? thread->captured.next() : stacks::RememberedCaptures::Pair{};
  const bool is_next = next.native_node != 0 && stacks::python_is_at(next.python, next.python_node) &&
                       stacks::native_is_at(*thread, next.native, next.native_node, __builtin_frame_address(0));
  const stacks::Stack captured = stacks::capture(stacks::kWithNative, __builtin_frame_address(0));
  const stacks::Stack whole = stacks::capture_in_any_case();
  g_expected += is_next;
  g_other += !same(captured, whole) || whole.native == 0;
  g_other += is_next && !same({next.native_node, next.python_node}, whole);
  return captured.python;
}
PROBE uint32_t probe_expected() { return g_expected; }  // captures that were what came next the last time
PROBE uint32_t probe_other() { return g_other; }        // that were not what the whole capture says

PROBE const char* probe_detail() { return tensorscope::coverage(Subject::python_stacks).detail.load(); }
PROBE uint64_t probe_missed() { return tensorscope::coverage(Subject::python_stacks).missed.load(); }
PROBE uint64_t probe_memory() { return stacks::python_memory(); }
PROBE uint32_t probe_codes() { return uint32_t(stacks::python_code_count()); }
PROBE uint32_t probe_frames() { return uint32_t(stacks::python_frame_count()); }
PROBE void probe_frame(uint32_t id, ProbeFrame* out) {
  stacks::PythonFrame frame = stacks::python_frame(id);
  stacks::PythonCode code = stacks::python_code(frame.code);
  *out = {frame.module_object, code.file, code.name, frame.parent, code.first_line, frame.line, frame.entry};
}

// What the self-check says of the calling stack if it is read with the layout of another series (PY_VERSION_HEX): 0
// nothing to compare, 1 sound, 2 not.
PROBE int probe_sound_as(uint32_t version) {
  stacks::PythonInterpreter interpreter;
  if (stacks::find_interpreter(interpreter) != stacks::Found::yes) return -1;
  if (version != 0 && !stacks::choose_layout(version, nullptr, interpreter.layout)) return -1;
  return int(stacks::frames_look_sound(interpreter));
}

// Nanoseconds a capture of the calling stack, `rounds` times; with `change`, its innermost frame stands at another
// instruction at every second capture.
PROBE double probe_cost(uint32_t rounds, int change) {
  static stacks::RawFrame frames[64];
  stacks::PythonInterpreter interpreter;
  if (stacks::find_interpreter(interpreter) != stacks::Found::yes) return -1;
  bool more;
  stacks::walk_frames(interpreter.layout, reinterpret_cast<const char*>(interpreter.api.this_thread_state()), frames,
                      63, more);
  char* field = const_cast<char*>(frames[0].frame) + interpreter.layout.frame_instruction;
  uint32_t low;  // little-endian: enough of an address, all of an offset
  std::memcpy(&low, field, sizeof low);
  const uint32_t other = low + (change != 0 ? 2 : 0);
  for (int i = 0; i < 1000; ++i) stacks::capture_python();
  auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < rounds; ++i) {
    std::memcpy(field, (i & 1) != 0 ? &other : &low, sizeof low);
    stacks::capture_python();
  }
  std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  std::memcpy(field, &low, sizeof low);
  return taken.count() / rounds;
}
