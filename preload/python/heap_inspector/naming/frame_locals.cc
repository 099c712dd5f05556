// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/frame_locals.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "python/heap_inspector/graph/interpreter_layout.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/heap_inspector/naming/frame_locals.py.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "stacks/python/python_stack.h"
#include "stacks/python/python_walk.h"
#include "support/options.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr uintptr_t kTag = 3;          // the low bits of a stack reference; both set: an integer, no object
constexpr size_t kMaxFrames = 100000;  // of one thread

enum class Check : uint8_t { none, passed, failed };
std::atomic<Check> g_check{Check::none};
constinit stacks::PythonLayout g_layout{};  // constant once the check has begun

// Where a parameter that is a cell has a slot of its own for the cell: up to 3.10, its own slot then being null.
constexpr int kCellsShareSlots = 311;

std::vector<std::string> texts(const Gil& gil, Object* code, const char* attribute) {
  const Owned tuple(gil, gil->PyObject_GetAttrString(code, attribute));
  std::vector<std::string> result;
  each_element(gil, tuple.get(), [&](ptrdiff_t, Object* name) {
    result.emplace_back(text_of(gil, name));
    return true;
  });
  return result;
}

size_t number(const Gil& gil, Object* code, const char* attribute) {
  const Owned value(gil, gil->PyObject_GetAttrString(code, attribute));
  const long long found = value ? gil->PyLong_AsLongLong(value.get()) : 0;
  gil->PyErr_Clear();
  return found > 0 ? size_t(found) : 0;
}

// `code` is a code object, whose attributes are the interpreter's own. The order of the slots is that of
// Objects/codeobject.c: parameters and locals, then cells that are no parameter, then free variables.
FunctionFacts read_facts(const Gil& gil, Object* code) {
  FunctionFacts facts;
  const Owned name(gil, gil->PyObject_GetAttrString(code, gil->series >= 311 ? "co_qualname" : "co_name"));
  facts.name = text_of(gil, name.get());
  const Owned file(gil, gil->PyObject_GetAttrString(code, "co_filename"));
  facts.file = text_of(gil, file.get());
  facts.variables = texts(gil, code, "co_varnames");
  const size_t plain = facts.variables.size();
  for (std::string& cell : texts(gil, code, "co_cellvars")) {
    const auto end = facts.variables.begin() + ptrdiff_t(plain);
    const bool parameter = std::find(facts.variables.begin(), end, cell) != end;
    if (gil->series < kCellsShareSlots || !parameter) facts.variables.push_back(std::move(cell));
  }
  facts.free_variables = texts(gil, code, "co_freevars");
  facts.variables.insert(facts.variables.end(), facts.free_variables.begin(), facts.free_variables.end());
  facts.parameters = number(gil, code, "co_argcount");
  facts.stack_slots = number(gil, code, "co_stacksize");
  return facts;
}

// CPython's own under each __init__ that it calls without leaving its loop (_Py_InitCleanup, Python/specialize.c, 3.12
// on): a constant in read-only memory, where the interpreter would cache what read_facts() asks for. Its file's
// name is the object that is its own name.
bool is_constant_code(Object* code) {
  const auto* fields = reinterpret_cast<const char*>(code);
  return field<const void*>(fields, g_layout.code_filename) == field<const void*>(fields, g_layout.code_name);
}

Object* code_at(const char* place) {
  return reinterpret_cast<Object*>(field<uintptr_t>(place, 0) & ~stacks::kReferenceTags);
}

Frame as_frame(const stacks::RawFrame& raw) {
  return {raw.frame, reinterpret_cast<Object*>(const_cast<char*>(raw.code)), nullptr};
}

// The frames of a thread, innermost first. With the GIL held no thread's chain moves.
std::vector<stacks::RawFrame> frames_of(const ThreadState* thread) {
  std::vector<stacks::RawFrame> frames;
  size_t count = 0;
  bool more = true;
  for (size_t limit = 64; more && limit <= kMaxFrames; limit *= 4) {
    frames.resize(limit);
    count = stacks::walk_frames(g_layout, reinterpret_cast<const char*>(thread), frames.data(), limit, more);
  }
  frames.resize(count);
  return frames;
}

bool g_probe_matched = false;

// Whether the frame object of the innermost frame says that this is its frame.
bool frame_object_leads_to(const Gil& gil, const char* frame) {
  const auto* object = reinterpret_cast<const char*>(known_layout(gil)->api.eval_frame());
  const ptrdiff_t at = g_layout.frame_object_frame;
  return object && (at == 0 ? object : field<const char*>(object, at)) == frame;
}

// The locals, cells and free variables of the calling `inner` (frame_locals.py) are read by the slots' addresses alone,
// so that a wrong layout is found out without following a pointer that may be none.
Object* probe(Object*, Object* arguments) {
  const Gil gil = Gil::held(*known_interpreter());
  gil->Py_IncRef(gil->_Py_NoneStruct);
  const std::vector<stacks::RawFrame> frames = frames_of(gil->PyGILState_GetThisThreadState());
  if (frames.empty() || !frame_object_leads_to(gil, frames[0].frame)) return gil->_Py_NoneStruct;
  Object* a = gil->PyTuple_GetItem(arguments, 0);
  Object* b = gil->PyTuple_GetItem(arguments, 1);
  const Frame frame = as_frame(frames[0]);
  Functions functions(gil);
  const FunctionFacts* facts = functions.of(frame.code);
  if (!facts) return gil->_Py_NoneStruct;
  // inner: e is a plain local; d is a parameter and a cell; a, b, c are free variables: a cell each.
  int plain = 0, cells = 0, right = 0;
  const auto each = [&](auto f) {
    for (size_t i = 0; i < facts->variables.size(); ++i) f(facts->variables[i], slot_of(gil, frame, i));
  };
  each([&](const std::string& name, Object* object) {
    if (name == "e") plain += object == a;
    if (object && (name == "a" || name == "b" || name == "c" || name == "d")) cells += object != a && object != b;
  });
  g_probe_matched = plain == 1 && cells == 4 && facts->stack_slots > 0 && facts->parameters == 2;
  if (!g_probe_matched) return gil->_Py_NoneStruct;
  each([&](const std::string& name, Object* object) {
    if (object && is_exactly(object, gil->PyCell_Type)) {
      const Owned content(gil, gil->PyCell_Get(object));
      object = content.get();
    }
    right +=
        (object == a && (name == "a" || name == "e")) || (object == b && (name == "b" || name == "c" || name == "d"));
  });
  g_probe_matched = right == 5;
  return gil->_Py_NoneStruct;
}

MethodDefinition g_probe = {"probe", probe, kArguments, nullptr};

}  // namespace

static bool locals_are_known() { return g_check.load(std::memory_order_acquire) == Check::passed; }

// The few lines of Python may give up the GIL to a thread that forks: nothing is known before their end.
static bool locals_pass(const Gil& gil) {
  const stacks::PythonInterpreter* known = known_layout(gil);
  if (!known) return false;
  g_layout = known->layout;
  if (options().python_stacks && !stacks::check_python_with_gil()) return false;
  const Owned a(gil, gil->PyDict_New());
  const Owned b(gil, gil->PyDict_New());
  const Owned globals(gil, own_globals(gil, {&g_probe}, {{"a", a.get()}, {"b", b.get()}}));
  if (!globals) return false;
  g_probe_matched = false;
  const Owned result(gil, gil->PyRun_String(embedded::kFrameLocals, kFileInput, globals.get(), globals.get()));
  return result && g_probe_matched;
}

bool check_locals(const Gil& gil) {
  if (g_check.load(std::memory_order_acquire) == Check::none) {
    g_check.store(locals_pass(gil) ? Check::passed : Check::failed, std::memory_order_release);
  }
  return locals_are_known();
}

const FunctionFacts* Functions::of(Object* code) {
  if (!code || !is_exactly(code, gil_->PyCode_Type) || is_constant_code(code)) return nullptr;
  const auto [found, fresh] = known_.try_emplace(code);
  if (fresh) found->second = read_facts(gil_, code);
  return &found->second;
}

Object* slot_of(const Gil& gil, const Frame& frame, size_t slot) {
  const auto word = field<uintptr_t>(frame.address, g_layout.frame_locals + ptrdiff_t(sizeof(void*) * slot));
  if (g_layout.tagged_integers && (word & kTag) == kTag) return nullptr;
  return reinterpret_cast<Object*>(word & ~stacks::kReferenceTags);
}

size_t end_of_values(const Frame& frame, const FunctionFacts& facts) {
  const size_t first = facts.variables.size(), last = first + facts.stack_slots;
  const char* locals = frame.address + g_layout.frame_locals;
  size_t end = last;
  if (g_layout.values_end == stacks::ValuesEnd::pointer) {
    const auto* top = field<const char*>(frame.address, g_layout.frame_values_end);
    if (top >= locals) end = size_t(top - locals) / sizeof(void*);
  } else if (g_layout.values_end == stacks::ValuesEnd::count) {
    const int top = field<int>(frame.address, g_layout.frame_values_end);
    if (top >= 0) end = size_t(top);
  }
  return end >= first && end <= last ? end : last;
}

Frame innermost_frame(const Gil& gil) {
  stacks::RawFrame frame;
  bool more = false;
  const auto* thread = reinterpret_cast<const char*>(gil->PyGILState_GetThisThreadState());
  if (!locals_are_known() || !thread || stacks::walk_frames(g_layout, thread, &frame, 1, more) == 0) {
    return {};
  }
  return as_frame(frame);
}

Frame frame_at(const void* address) {
  if (!locals_are_known()) return {};
  const auto* bytes = static_cast<const char*>(address);
  return {bytes, code_at(bytes + g_layout.frame_code), nullptr};
}

int offset_in(const Frame& frame) {
  const stacks::PythonLayout& layout = g_layout;
  const char* at = frame.address + layout.frame_instruction;
  const uint64_t position = layout.instruction_unit == 0
                                ? field<uint64_t>(at, 0)
                                : uint64_t(int64_t{field<int32_t>(at, 0)} * layout.instruction_unit) * 2;
  return stacks::RawFrame{frame.address, reinterpret_cast<const char*>(frame.code), position}.offset(layout);
}

std::vector<Frame> running_frames(const Gil& gil) {
  std::vector<Frame> frames;
  if (!locals_are_known()) return frames;
  std::vector<ThreadState*> threads;
  ThreadState* thread = gil->PyInterpreterState_ThreadHead(gil->PyInterpreterState_Main());
  for (; thread; thread = gil->PyThreadState_Next(thread)) threads.push_back(thread);
  for (size_t i = threads.size(); i-- > 0;) {  // the list begins with the newest
    const std::vector<stacks::RawFrame> own = frames_of(threads[i]);
    for (size_t j = own.size(); j-- > 0;) {
      frames.push_back(as_frame(own[j]));
      frames.back().thread = threads[i];
    }
  }
  return frames;
}

bool frame_of_object(const Gil& gil, Object* frame_object, Frame& frame) {
  if (!locals_are_known()) return false;
  const ptrdiff_t at = g_layout.frame_object_frame;
  frame.address = at == 0 ? reinterpret_cast<const char*>(frame_object) : field<const char*>(frame_object, at);
  if (!frame.address) return false;
  frame.code = code_at(frame.address + g_layout.frame_code);
  return frame.code && is_exactly(frame.code, gil->PyCode_Type);
}

// The frame is the end of the generator, whose basic size goes up to the first variable (Objects/genobject.c,
// tp_basicsize, 3.11 on). Its attribute for the code would tell an audit hook of the program.
bool frame_of_generator(const Gil& gil, Object* generator, Frame& frame) {
  if (!locals_are_known() || g_layout.style == stacks::FrameStyle::objects) return false;
  const ptrdiff_t begin = basic_size_of(type_of(generator)) - g_layout.frame_locals;
  frame.address = reinterpret_cast<const char*>(generator) + begin;
  frame.code = code_at(frame.address + g_layout.frame_code);
  return frame.code && is_exactly(frame.code, gil->PyCode_Type);
}

}  // namespace tensorscope::python::heap_inspector
