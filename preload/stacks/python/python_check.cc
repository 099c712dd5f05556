// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_check.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "stacks/python/python_check.py.h"
#include "stacks/python/python_stack.h"
#include "support/call_filter.h"

namespace tensorscope::stacks {

namespace {

constexpr size_t kFramesLookedAt = 64;
constexpr int kFileInput = 257;  // Py_file_input (Include/compile.h)
constexpr int kNoArguments = 4;  // METH_NOARGS (Include/methodobject.h)

// ---- Reading what may not be there --------------------------------------------------------------------------------

enum class Read : uint8_t { yes, no_memory, refused };

template <typename T>
Read read_carefully(const char* base, size_t offset, T& value) {
  const int saved_errno = errno;
  iovec to{&value, sizeof value};
  iovec from{const_cast<char*>(base + offset), sizeof value};
  ssize_t size = read_own_memory(to, &from, 1);
  Read result = size == ssize_t(sizeof value)  ? Read::yes
                : size >= 0 || errno == EFAULT ? Read::no_memory
                                               : Read::refused;
  errno = saved_errno;
  return result;
}

bool has_type(const char* object, const char* type) {
  const char* actual = nullptr;
  return read_carefully(object, kTypeOffset, actual) == Read::yes && actual == type;
}

bool code_looks_sound(const PythonInterpreter& interpreter, const char* code) {
  const PythonLayout& layout = interpreter.layout;
  const char *file = nullptr, *name = nullptr, *lines = nullptr;
  return has_type(code, interpreter.api.code_type) && read_carefully(code, layout.code_filename, file) == Read::yes &&
         has_type(file, interpreter.api.text_type) && read_carefully(code, layout.code_name, name) == Read::yes &&
         has_type(name, interpreter.api.text_type) &&
         read_carefully(code, layout.code_line_table, lines) == Read::yes &&
         has_type(lines, interpreter.api.bytes_type);
}

// ---- Asking the interpreter ---------------------------------------------------------------------------------------

// A new reference that is dropped at the end of the scope.
class Reference {
 public:
  Reference(const PythonApi& api, PyObject* object) : api_(api), object_(object) {}
  ~Reference() {
    if (object_ != nullptr) api_.decrement(object_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void move_to(PyObject* next) {
    if (object_ != nullptr) api_.decrement(object_);
    object_ = next;
  }

 private:
  const PythonApi& api_;
  PyObject* object_;
};

// Puts aside a pending exception of the program, and keeps the garbage collector from running the program's
// finalizers.
class Undisturbed {
 public:
  explicit Undisturbed(const PythonApi& api) : api_(api) {
    api_.fetch_error(&type_, &value_, &traceback_);
    collecting_ = api_.disable_gc != nullptr && api_.enable_gc != nullptr && api_.disable_gc() == 1;
  }
  ~Undisturbed() {
    if (collecting_) api_.enable_gc();
    api_.restore_error(type_, value_, traceback_);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  const PythonApi& api_;
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
  bool collecting_ = false;
};

bool same_text(const PythonApi& api, PyObject* code, const char* attribute, const char* ours) {
  Reference value(api, api.get_attribute(code, attribute));
  const char* text = value ? api.text(value.get()) : nullptr;
  if (text != nullptr) return std::strcmp(text, ours) == 0;
  api.clear_error();
  return static_cast<bool>(value);  // a name that is no valid Unicode cannot be compared
}

bool same_frame(const PythonApi& api, PyObject* frame, StackId id) {
  PythonFrame ours = python_frame(id);
  PythonCode code = python_code(ours.code);
  Reference theirs(api, api.get_attribute(frame, "f_code"));
  if (!theirs) return false;
  Reference first_line(api, api.get_attribute(theirs.get(), "co_firstlineno"));
  int line = api.frame_line(frame);
  bool same = first_line && api.integer(first_line.get()) == code.first_line && (line < 0 ? 0 : line) == ours.line;
  const char* name = python_names_are_qualified() ? "co_qualname" : "co_name";
  return same && same_text(api, theirs.get(), name, code.name) &&
         same_text(api, theirs.get(), "co_filename", code.file);
}

// A frame that has not run its first line yet is left out by the API from 3.11 on (_PyFrame_IsIncomplete).
bool has_begun(StackId id) {
  PythonFrame frame = python_frame(id);
  return frame.line != python_code(frame.code).first_line;
}

struct TestProgram {
  const PythonInterpreter* interpreter;
  StackId (*capture)();
  Agreement agreement;
};
TestProgram* g_test_program = nullptr;  // with the GIL

PyObject* check_called(PyObject*, PyObject*) {
  TestProgram& program = *g_test_program;
  // Python runs here, so that no frame at all is a wrong one.
  const bool same = compare_stack(*program.interpreter, program.capture) == Agreement::yes;
  if (program.agreement != Agreement::no) program.agreement = same ? Agreement::yes : Agreement::no;
  program.interpreter->api.increment(program.interpreter->api.none);
  return program.interpreter->api.none;
}

struct MethodDefinition {  // PyMethodDef
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* documentation;
};
MethodDefinition g_check_method = {"check", check_called, kNoArguments, nullptr};

}  // namespace

Agreement frames_look_sound(const PythonInterpreter& interpreter) {
  const PythonLayout& layout = interpreter.layout;
  const char* frame = reinterpret_cast<const char*>(interpreter.api.this_thread_state());
  if (frame == nullptr) return Agreement::nothing_to_compare;
  Read first = read_carefully(frame, layout.thread_frame, frame);
  if (first == Read::refused) return Agreement::yes;
  if (first == Read::yes && frame != nullptr && layout.cframe_frame >= 0) {
    first = read_carefully(frame, size_t(layout.cframe_frame), frame);
  }
  if (first == Read::no_memory) return Agreement::no;
  Agreement agreement = Agreement::nothing_to_compare;
  for (size_t i = 0; frame != nullptr && i < kFramesLookedAt; ++i) {
    uint8_t owner = 0;
    uint64_t code = 0;
    if (read_carefully(frame, layout.frame_owner, owner) != Read::yes) return Agreement::no;
    if (layout.style == FrameStyle::entry_flag && owner > 1) return Agreement::no;
    if (layout.style != FrameStyle::shims || owner < layout.first_shim_owner) {
      if (read_carefully(frame, layout.frame_code, code) != Read::yes) return Agreement::no;
      if (!code_looks_sound(interpreter, reinterpret_cast<const char*>(code & ~kReferenceTags))) return Agreement::no;
      agreement = Agreement::yes;
    }
    if (read_carefully(frame, layout.frame_previous, frame) != Read::yes) return Agreement::no;
  }
  return agreement;
}

// From an object's type to the type of that, and so on, one comes to `type`, which is its own: in a few steps, since
// each step but the first is to a metaclass.
Agreement first_local_looks_sound(const PythonInterpreter& interpreter, const char* frame) {
  constexpr int kMaxSteps = 8;
  uint64_t local = 0;
  Read read = read_carefully(frame, interpreter.layout.frame_locals, local);
  local &= ~kReferenceTags;
  if (read == Read::yes && local == 0) return Agreement::nothing_to_compare;
  const char* object = reinterpret_cast<const char*>(local);
  for (int i = 0; read == Read::yes && i < kMaxSteps; ++i) {
    const char* type = nullptr;
    read = read_carefully(object, kTypeOffset, type);
    if (read == Read::yes && type == object) return Agreement::yes;
    object = type;
  }
  return read == Read::refused ? Agreement::yes : Agreement::no;
}

Agreement compare_stack(const PythonInterpreter& interpreter, StackId (*capture)()) {
  const PythonApi& api = interpreter.api;
  Undisturbed undisturbed(api);
  Agreement sound = frames_look_sound(interpreter);
  if (sound != Agreement::yes) return sound;
  StackId id = capture();  // before any call of the interpreter: it makes frame objects, which frames refer to
  Reference frame(api, nullptr);
  if (api.thread_frame != nullptr) {
    frame.move_to(api.thread_frame(api.this_thread_state()));
  } else if (PyObject* innermost = api.eval_frame()) {
    api.increment(innermost);
    frame.move_to(innermost);
  }
  if (!frame) return Agreement::nothing_to_compare;
  for (; id != 0; id = python_frame(id).parent) {
    if (python_frame(id).code == 0) return Agreement::yes;  // the rest was left out
    if (!frame) return Agreement::no;
    if (!same_frame(api, frame.get(), id)) {
      if (has_begun(id)) return Agreement::no;
      continue;
    }
    PyObject* back = api.get_attribute(frame.get(), "f_back");
    if (back == nullptr) return Agreement::no;
    frame.move_to(back);
    if (back == api.none) frame.move_to(nullptr);
  }
  return frame ? Agreement::no : Agreement::yes;
}

Agreement compare_in_test_program(const PythonInterpreter& interpreter, StackId (*capture)()) {
  const PythonApi& api = interpreter.api;
  Undisturbed undisturbed(api);
  Reference names(api, api.new_dict());
  Reference check(api, api.new_function(&g_check_method, nullptr, nullptr));
  if (!names || !check || api.set_item(names.get(), "check", check.get()) != 0) {
    api.clear_error();
    return Agreement::nothing_to_compare;
  }
  TestProgram program{&interpreter, capture, Agreement::nothing_to_compare};
  g_test_program = &program;
  Reference result(api, api.run(embedded::kPythonCheck, kFileInput, names.get(), names.get()));
  if (!result) api.clear_error();
  g_test_program = nullptr;
  return program.agreement;
}

}  // namespace tensorscope::stacks
