// SPDX-License-Identifier: Apache-2.0
// Where one CPython series keeps what stacks and names need: thread state, frames, code objects, strings, attributes.
// One file per series under layouts/ holds the numbers (x86-64, bytes). HACKING.md says how a series is added.
//
// Context: any. Constant once chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorscope::stacks {

// How a series links its frames and marks where one native call of the interpreter ends.
enum class FrameStyle : uint8_t {
  objects,     // 3.8 to 3.10: PyFrameObject; each frame is one native call
  entry_flag,  // 3.11: _PyInterpreterFrame with is_entry
  shims,       // 3.12 on: a frame that the C stack owns follows the outermost frame of a native call
};

enum class LineFormat : uint8_t {
  lnotab,     // 3.8, 3.9: (bytes, lines) pairs
  ranges,     // 3.10: the same pairs by range, with "no line" (PEP 626)
  locations,  // 3.11 on: the location table (PEP 657)
};

// Where an instance that has no __dict__ keeps the values of its attributes.
enum class InstanceValues : uint8_t {
  none,        // 3.8 to 3.10: it always has a __dict__
  pointed_to,  // 3.11: behind a pointer of their own
  tagged,      // 3.12: behind the pointer that is else the __dict__'s, with its lowest bit set
  inlined,     // 3.13 on: after the object's own fields
};

// How a frame says where the values end that its evaluation works with.
enum class ValuesEnd : uint8_t {
  unknown,  // 3.8 to 3.10
  count,    // 3.11 to 3.13: of slots; -1 while the frame's C code runs
  pointer,  // 3.14 on: to the slot after the last; null while the frame runs
};

// From 3.14 on a frame's references carry tags in their low bits (Include/internal/pycore_stackref.h); objects are
// aligned.
inline constexpr uint64_t kReferenceTags = 7;

inline constexpr uint64_t kTypeOffset = 8;          // PyObject.ob_type, in bytes
inline constexpr uint64_t kCellContentOffset = 16;  // PyCellObject.ob_ref

struct PythonLayout {
  FrameStyle style;
  LineFormat lines;
  uint8_t instruction_unit;  // objects: bytes in one unit of f_lasti; else 0: the frame holds a pointer
  uint8_t first_shim_owner;  // shims: frames whose owner is this or larger run no Python code
  bool qualified_names;      // code_name is the qualified name

  uint16_t thread_frame;  // thread state: the innermost frame, or the C frame that points to it
  int16_t cframe_frame;   // C frame: the innermost frame; -1: the thread state has no C frame
  uint16_t frame_previous;
  uint16_t frame_code;
  uint16_t frame_instruction;
  uint16_t frame_owner;   // one byte: is_entry for entry_flag, owner for shims
  uint16_t frame_locals;  // first local variable

  uint16_t code_filename;
  uint16_t code_name;
  uint16_t code_first_line;
  uint16_t code_line_table;
  uint16_t code_bytecode;  // where frame_instruction points into; objects: 0

  uint16_t text_ascii;  // str: data of compact ASCII strings
  uint16_t text_other;  // str: data of other compact strings

  InstanceValues instance_values;
  int16_t instance_dict;        // before an instance whose class lets the interpreter manage it: its __dict__
  int16_t values_pointer;       // pointed_to: before an instance, where its values are
  uint16_t type_shared_keys;    // class: the names of its instances' attributes (PyHeapTypeObject.ht_cached_keys)
  uint16_t frame_object_frame;  // frame object: its frame; 0: it is the frame itself
  ValuesEnd values_end;
  uint16_t frame_values_end;  // frame: what values_end says
  bool tagged_integers;       // 3.14 on: a slot of a frame may hold an integer, with both tag bits set
};

template <typename T>
inline T read_field(const char* object, size_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

extern const PythonLayout kCpython38;
extern const PythonLayout kCpython39;
extern const PythonLayout kCpython310;
extern const PythonLayout kCpython311;
extern const PythonLayout kCpython312;
// From 3.13 on the interpreter reports its own offsets: `runtime` is the address of _PyRuntime. False: it is a
// free-threaded build, or not what its version says.
bool read_cpython313(const void* runtime, uint64_t version, PythonLayout& layout);
bool read_cpython314(const void* runtime, uint64_t version, PythonLayout& layout);
bool read_cpython315(const void* runtime, uint64_t version, PythonLayout& layout);

// The layout for PY_VERSION_HEX `version`. False: unknown series or free-threaded build.
bool choose_layout(uint64_t version, const void* runtime, PythonLayout& layout);

// Makes every layout that is chosen from now on a wrong one.
using ChangeLayout = void (*)(PythonLayout& layout);
void set_layout_change_for_test(ChangeLayout change);

}  // namespace tensorscope::stacks
