// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/arrow_memory.h"

#include <cstring>
#include <string_view>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

constexpr char kBuffer[] = "pyarrow.lib.Buffer", kArray[] = "pyarrow.lib.Array", kChunks[] = "pyarrow.lib.ChunkedArray",
               kBatch[] = "pyarrow.lib.RecordBatch", kTable[] = "pyarrow.lib.Table";

bool is_named(const Gil& gil, Object* type, const char* wanted) {
  const char* name = gil->PyExceptionClass_Name(type);
  return name && strcmp(name, wanted) == 0;
}

}  // namespace

bool is_arrow_class(const char* name) {
  for (const char* known : {kBuffer, kArray, kChunks, kBatch, kTable}) {
    if (strcmp(name, known) == 0) return true;
  }
  return false;
}

// A column of a type that the program has defined (a class derived from ExtensionType) would be made by its code.
ArrowMemory::ArrowMemory(const Gil& gil, LookLimits& limits) : gil_(gil), limits_(limits) {
  Object* extension = entry(gil, module_globals(gil, "pyarrow.lib"), "ExtensionType");
  if (!extension) return;
  const Owned ask(gil, gil->PyObject_GetAttrString(extension, "__subclasses__"));
  const Owned derived(gil, ask ? gil->PyObject_CallFunctionObjArgs(ask.get(), nullptr) : nullptr);
  each_element(gil, derived.get(), [&](ptrdiff_t, Object* type) {
    const char* name = gil->PyExceptionClass_Name(type);
    const bool own = name && std::string_view(name).starts_with("pyarrow.lib.");
    columns_run_no_code_ = columns_run_no_code_ && own;
    return columns_run_no_code_;
  });
}

// The class among those of `object` that C code has made under this name.
Object* ArrowMemory::class_of(Object* object, const char* name) const {
  for (Object* type = type_of(object); type; type = base_of(type)) {
    if (is_named(gil_, type, name)) return type;
  }
  return nullptr;
}

uint64_t ArrowMemory::number(Object* object, const char* attribute) {
  const Owned value(gil_, gil_->PyObject_GetAttrString(object, attribute));
  if (!value || !is_exactly(value.get(), gil_->PyLong_Type)) return 0;
  const long long number = gil_->PyLong_AsLongLong(value.get());
  if (number == -1) gil_->PyErr_Clear();
  return number > 0 ? uint64_t(number) : 0;
}

void ArrowMemory::add_buffer(Object* buffer) {
  const uint64_t address = number(buffer, "address"), size = number(buffer, "size");
  if (address != 0 && size != 0 && !pieces_.push({address, size})) limits_.memory_ran_out();
}

void ArrowMemory::add_array(Object* array) {
  Object* type = class_of(array, kArray);  // the program may derive from it
  const Owned ask(gil_, type ? gil_->PyObject_GetAttrString(type, "buffers") : nullptr);
  const Owned buffers(gil_, ask ? gil_->PyObject_CallFunctionObjArgs(ask.get(), array, nullptr) : nullptr);
  each_element(gil_, buffers.get(), [&](ptrdiff_t, Object* buffer) {
    if (class_of(buffer, kBuffer)) add_buffer(buffer);
    return !limits_.reached();
  });
}

template <typename F>
void ArrowMemory::each_part(Object* object, const char* count, const char* part, F add) {
  const uint64_t parts = columns_run_no_code_ ? number(object, count) : 0;
  const Owned ask(gil_, parts > 0 ? gil_->PyObject_GetAttrString(object, part) : nullptr);
  for (uint64_t i = 0; ask && i < parts && !limits_.reached(); ++i) {
    const Owned index(gil_, gil_->PyLong_FromLongLong((long long)(i)));
    const Owned found(gil_, index ? gil_->PyObject_CallFunctionObjArgs(ask.get(), index.get(), nullptr) : nullptr);
    if (!found) return;
    add(found.get());
  }
}

void ArrowMemory::add_chunks(Object* chunked) {
  each_part(chunked, "num_chunks", "chunk", [&](Object* array) { add_array(array); });
}

void ArrowMemory::add_columns(Object* table) {
  each_part(table, "num_columns", "column", [&](Object* column) {
    if (class_of(column, kChunks)) {
      add_chunks(column);
    } else {
      add_array(column);
    }
  });
}

const PageArray<ArrowMemory::Piece>& ArrowMemory::pieces(Object* object) {
  pieces_.clear();
  if (class_of(object, kArray)) {
    add_array(object);
  } else if (!is_arrow_class(gil_->PyExceptionClass_Name(type_of(object)))) {
    return pieces_;  // derived by the program, which may have attributes of its own
  } else if (class_of(object, kBuffer)) {
    add_buffer(object);
  } else if (class_of(object, kChunks)) {
    add_chunks(object);
  } else {
    add_columns(object);
  }
  return pieces_;
}

}  // namespace tensorscope::python::heap_inspector
