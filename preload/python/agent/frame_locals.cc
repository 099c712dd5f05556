#include "python/agent/frame_locals.h"

#include <atomic>
#include <cstring>

#include "python/method.h"
#include "python/objects.h"
#include "stacks/python_interpreter.h"
#include "stacks/python_stack.h"
#include "stacks/python_walk.h"
#include "support/options.h"

namespace tensorscope::python::agent {

namespace {

constexpr uintptr_t kTag = 3;          // 3.14: the low bits of a stack reference; both set: an integer, no object
constexpr size_t kMaxFrames = 100000;  // of one thread

enum class Check : uint8_t { none, passed, failed };
std::atomic<Check> g_check{Check::none};
constinit stacks::PythonInterpreter g_interpreter;  // constant once the check has begun

// Calls f(name, slot) for each variable of a function; `frame` is a frame object, `code` its code. The order of the
// slots is that of Objects/codeobject.c: parameters and locals, then cells that are no parameter, then free variables.
// Up to 3.10 a parameter that is a cell has both, its own slot then being null.
template <typename F>
void each_slot(const Gil& gil, const stacks::RawFrame& frame, F f) {
  auto* code = reinterpret_cast<Object*>(const_cast<char*>(frame.code));
  if (!code || !is_exactly(code, gil->PyCode_Type)) return;
  const Owned plain(gil, gil->PyObject_GetAttrString(code, "co_varnames"));
  const Owned cells(gil, gil->PyObject_GetAttrString(code, "co_cellvars"));
  const Owned free(gil, gil->PyObject_GetAttrString(code, "co_freevars"));
  const char* slots = frame.frame + g_interpreter.layout.frame_locals;
  size_t slot = 0;
  auto next = [&](Object* name) {
    uintptr_t word;
    memcpy(&word, slots + sizeof word * slot++, sizeof word);
    const bool no_object = gil->series >= 314 && (word & kTag) == kTag;  // a tagged integer
    f(text_of(gil, name), no_object ? nullptr : reinterpret_cast<Object*>(word & ~kTag));
    return true;
  };
  each_element(gil, plain.get(), [&](ptrdiff_t, Object* name) { return next(name); });
  each_element(gil, cells.get(), [&](ptrdiff_t, Object* name) {
    bool parameter = false;
    if (gil->series >= 311) {
      each_element(gil, plain.get(), [&](ptrdiff_t, Object* other) {
        parameter = text_of(gil, other) == text_of(gil, name);
        return !parameter;
      });
    }
    return parameter || next(name);
  });
  each_element(gil, free.get(), [&](ptrdiff_t, Object* name) { return next(name); });
}

// The same with cells opened; empty variables are left out. Only once the layout is known to be right.
template <typename F>
void each_local(const Gil& gil, const stacks::RawFrame& frame, F f) {
  each_slot(gil, frame, [&](std::string_view name, Object* object) {
    if (object && is_exactly(object, gil->PyCell_Type)) {
      const Owned content(gil, gil->PyCell_Get(object));
      object = content.get();
    }
    if (object && !name.empty()) f(name, object);
  });
}

// The frames of a thread, innermost first. With the GIL held no thread's chain moves.
std::vector<stacks::RawFrame> frames_of(const ThreadState* thread) {
  std::vector<stacks::RawFrame> frames;
  size_t count = 0;
  bool more = true;
  for (size_t limit = 64; more && limit <= kMaxFrames; limit *= 4) {
    frames.resize(limit + 1);  // walk_frames() looks one beyond its limit
    count =
        stacks::walk_frames(g_interpreter.layout, reinterpret_cast<const char*>(thread), frames.data(), limit, more);
  }
  frames.resize(count);
  return frames;
}

// `outer` calls `inner`, whose locals, cell and free variables are then read: by the slots' addresses alone, so that a
// wrong layout is found out without following a pointer that may be none.
constexpr char kProbeSource[] = R"(
def outer(probe, a, b):
    c = b
    def inner(d, e):
        f = lambda: d
        return probe(a, b, c, d, e)
    return inner(b, a)
outer(probe, a, b)
)";
bool g_probe_matched = false;

Object* probe(Object*, Object* arguments) {
  const Gil gil = Gil::held(*known_interpreter());
  gil->Py_IncRef(gil->_Py_NoneStruct);
  const std::vector<stacks::RawFrame> frames = frames_of(gil->PyGILState_GetThisThreadState());
  if (frames.empty()) return gil->_Py_NoneStruct;
  Object* a = gil->PyTuple_GetItem(arguments, 0);
  Object* b = gil->PyTuple_GetItem(arguments, 1);
  // inner: e is a plain local; d is a parameter and a cell; a, b, c are free variables: a cell each.
  int plain = 0, cells = 0;
  each_slot(gil, frames[0], [&](std::string_view name, Object* object) {
    if (name == "e") plain += object == a;
    if (object && (name == "a" || name == "b" || name == "c" || name == "d")) cells += object != a && object != b;
  });
  g_probe_matched = plain == 1 && cells == 4;
  if (g_probe_matched) {
    int right = 0;
    each_local(gil, frames[0], [&](std::string_view name, Object* object) {
      right +=
          (object == a && (name == "a" || name == "e")) || (object == b && (name == "b" || name == "c" || name == "d"));
    });
    g_probe_matched = right == 5;
  }
  return gil->_Py_NoneStruct;
}

MethodDefinition g_probe = {"probe", probe, kArguments, nullptr};
constexpr int kFileInput = 257;  // Py_file_input (Include/compile.h)

}  // namespace

bool check_locals(const Gil& gil) {
  if (g_check.load(std::memory_order_acquire) != Check::none) return g_check == Check::passed;
  g_check = Check::failed;
  if (stacks::find_interpreter(g_interpreter) != stacks::Found::yes) return false;
  if (options().python_stacks && !stacks::check_python_with_gil()) return false;
  const Owned globals(gil, gil->PyDict_New());
  const Owned function(gil, gil->PyCFunction_NewEx(&g_probe, nullptr, nullptr));
  const Owned a(gil, gil->PyDict_New());
  const Owned b(gil, gil->PyDict_New());
  if (!globals || !function || !a || !b) return false;
  gil->PyDict_SetItemString(globals.get(), "probe", function.get());
  gil->PyDict_SetItemString(globals.get(), "a", a.get());
  gil->PyDict_SetItemString(globals.get(), "b", b.get());
  g_probe_matched = false;
  const Owned result(gil, gil->PyRun_String(kProbeSource, kFileInput, globals.get(), globals.get()));
  if (result && g_probe_matched) g_check = Check::passed;
  return g_check == Check::passed;
}

std::vector<Local> running_locals(const Gil& gil) {
  std::vector<Local> locals;
  if (g_check.load(std::memory_order_acquire) != Check::passed) return locals;
  std::vector<ThreadState*> threads;
  ThreadState* thread = gil->PyInterpreterState_ThreadHead(gil->PyInterpreterState_Main());
  for (; thread; thread = gil->PyThreadState_Next(thread)) threads.push_back(thread);
  for (size_t i = threads.size(); i-- > 0;) {  // the list begins with the newest
    const std::vector<stacks::RawFrame> frames = frames_of(threads[i]);
    for (size_t j = frames.size(); j-- > 0;) {
      each_local(gil, frames[j], [&](std::string_view name, Object* object) {
        locals.push_back({std::string(name), object});
      });
    }
  }
  return locals;
}

}  // namespace tensorscope::python::agent
