// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/python_heap.h"

#include <stdlib.h>
#include <string.h>

#include "support/clock.h"
#include "support/enough_memory.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::python::heap_inspector {

namespace {

// About 3 KiB are written.
char g_heap_text[8192];
char g_heap_buffer[4096];
SpinLock g_heap_text_in_use;

// "1,234,567" with blanks before it, up to the end of the line.
bool number_with_commas(const char* at, uint64_t& number) {
  at += strspn(at, " ");
  const char* const begin = at;
  number = 0;
  for (; (*at >= '0' && *at <= '9') || *at == ','; ++at) {
    if (*at == ',') continue;
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *at - '0', &number)) return false;
  }
  return at != begin && *at == '\n';
}

bool starts_with(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

bool skip(char*& at, const char* what) {
  if (!starts_with(at, what)) return false;
  at += strlen(what);
  return true;
}

// "776 arenas * 1048576 bytes/arena   =          813,694,976"
bool arenas_of(const char* line, uint64_t& bytes) {
  char* at = nullptr;
  const uint64_t count = strtoull(line, &at, 10);
  if (at == line || !skip(at, " arenas * ")) return false;
  const uint64_t each = strtoull(at, &at, 10);
  if (!skip(at, " bytes/arena")) return false;
  at += strspn(at, " ");
  uint64_t product = 0;
  return skip(at, "=") && number_with_commas(at, bytes) && !__builtin_mul_overflow(count, each, &product) &&
         product == bytes;
}

// "# bytes in allocated blocks        =          801,495,808"
bool in_use_of(const char* line, uint64_t& bytes) {
  constexpr char kKey[] = "# bytes in allocated blocks";
  if (!starts_with(line, kKey)) return false;
  line += strlen(kKey);
  line += strspn(line, " ");
  return *line == '=' && number_with_commas(line + 1, bytes);
}

}  // namespace

HeapText::HeapText() {
  mine_ = !memory_is_short() && g_heap_text_in_use.try_lock();
  if (!mine_) return;
  g_heap_text[0] = 0;
  stream_ = fmemopen(g_heap_text, sizeof(g_heap_text), "w");
  if (stream_ != nullptr) setvbuf(stream_, g_heap_buffer, _IOFBF, sizeof(g_heap_buffer));
}

HeapText::~HeapText() {
  if (stream_ != nullptr) fclose(stream_);
  if (mine_) g_heap_text_in_use.unlock();
}

const char* HeapText::text() const {
  fflush(stream_);
  g_heap_text[sizeof(g_heap_text) - 1] = 0;
  return g_heap_text;
}

PythonHeap heap_from_text(const char* text) {
  PythonHeap heap;
  for (const char* line = text; line != nullptr; line = strchr(line, '\n')) {
    if (*line == '\n') ++line;
    uint64_t bytes = 0;
    if (heap.arenas == 0 && arenas_of(line, bytes)) heap.arenas = bytes;
    if (heap.in_use == 0 && in_use_of(line, bytes)) heap.in_use = bytes;
  }
  if (heap.arenas == 0 || heap.in_use == 0 || heap.in_use > heap.arenas) return {};
  return heap;
}

void ask_heap(const Gil& gil, Deadline deadline, unsigned hold_ms, const HeapText& text, PythonHeap& heap) {
  const uint64_t half_ns = uint64_t{hold_ms} * 500'000;
  if (monotonic_ns() + half_ns > deadline.ns) {
    heap.detail = "no time was left (TENSORSCOPE_NAMES_GIL_MS)";
    return;
  }
  if (text.stream() == nullptr || memory_is_short()) {
    heap.detail = "not enough memory";
    return;
  }
  if (gil->_PyObject_DebugMallocStats == nullptr || gil->_PyMem_GetCurrentAllocatorName == nullptr) {
    heap.detail = "this interpreter does not report it";
    return;
  }
  const char* allocator = gil->_PyMem_GetCurrentAllocatorName();
  if (allocator == nullptr || !starts_with(allocator, "pymalloc")) {
    heap.detail = "Python's own allocator is unused or was replaced (PYTHONMALLOC, tracemalloc)";
    return;
  }
  gil->_PyObject_DebugMallocStats(text.stream());
  heap = heap_from_text(text.text());
  if (heap.arenas == 0) heap.detail = "this interpreter reports it in an unknown format";
}

}  // namespace tensorscope::python::heap_inspector
