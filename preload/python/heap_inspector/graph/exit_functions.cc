// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/exit_functions.h"

#include <algorithm>
#include <cstring>

#include "python/exit_dump.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::python::heap_inspector {

namespace {

// Modules/atexitmodule.c, Include/internal/pycore_atexit.h: the address of an array of addresses, how many there are
// and how many there is room for. It grows by 16 from 32 on. Each address is that of a function, its arguments and
// keywords, or 0 where a function was unregistered.
constexpr int32_t kFirstRoom = 32, kMoreRoom = 16, kMaxRoom = 1 << 20;
constexpr int kStateInInterpreter = 310, kListOfTuples = 314;  // the first series that has it
constexpr size_t kWordsOfEach = 3;

constexpr size_t kPage = 4096;
constexpr size_t kMaxPages = 256;  // of the interpreter's state: 0.4 MiB in 3.12, which is the largest

using Words = std::vector<uint64_t>;

Words words_at(const Words& addresses) {
  Words words(addresses.size());
  if (!torch::read_words_safely(addresses.data(), words.data(), words.size())) words.assign(words.size(), 0);
  return words;
}

// The entries, where this is the array that has the exit dump's function; else nothing.
Words entries_of(uint64_t array, uint64_t numbers, uint64_t exit_dump) {
  int32_t count, room;
  memcpy(&count, &numbers, sizeof count);
  memcpy(&room, reinterpret_cast<const char*>(&numbers) + sizeof count, sizeof room);
  if (array == 0 || array % sizeof(uint64_t) != 0 || room < kFirstRoom || room > kMaxRoom || room % kMoreRoom != 0 ||
      count <= 0 || count > room)
    return {};
  Words addresses;
  for (int32_t i = 0; i < count; ++i) addresses.push_back(array + uint64_t(i) * sizeof(uint64_t));
  Words fields;
  for (const uint64_t each : words_at(addresses)) {
    for (size_t i = 0; each != 0 && i < kWordsOfEach; ++i) fields.push_back(each + i * sizeof(uint64_t));
  }
  Words entries = words_at(fields);
  for (size_t i = 0; i < entries.size(); i += kWordsOfEach) {
    if (entries[i] == exit_dump) return entries;
  }
  return {};
}

Words entries_in(uint64_t state, size_t bytes, uint64_t exit_dump) {
  torch::SafeReads reads;
  size_t pages = 0;
  for (uint64_t at = state, end = state + bytes; at < end;) {
    const uint64_t next = std::min(end, (at / kPage + 1) * kPage);
    pages = reads.add(at, size_t(next - at)) + 1;
    at = next;
  }
  if (!reads.run()) return {};
  uint64_t before = 0;
  for (size_t page = 0; page < pages && reads.ok(page); ++page) {
    for (size_t at = 0; at + sizeof(uint64_t) <= reads.size(page); at += sizeof(uint64_t)) {
      const uint64_t word = reads.word(page, at);
      if (Words entries = entries_of(before, word, exit_dump); !entries.empty()) return entries;
      before = word;
    }
  }
  return {};
}

// Up to 3.9 it is the state of the module atexit, whose address is one of the module object's fields.
Words entries_of_module(const Gil& gil, uint64_t exit_dump) {
  Words entries;
  each_entry(gil, gil->PyImport_GetModuleDict(), [&](Object* key, Object* module) {
    if (text_of(gil, key) != "atexit" || !is_exactly(module, gil->PyModule_Type)) return true;
    const ptrdiff_t size = basic_size_of(type_of(module));
    for (ptrdiff_t at = sizeof(uint64_t[2]); entries.empty() && at < size; at += ptrdiff_t(sizeof(uint64_t))) {
      const uint64_t state = field<uint64_t>(module, at);
      if (state != 0 && state % sizeof(uint64_t) == 0) entries = entries_in(state, sizeof(uint64_t[2]), exit_dump);
    }
    return false;
  });
  return entries;
}

// From 3.14 on it is a list of tuples, which the garbage collector knows.
Words entries_of_list(const Gil& gil, const ObjectGraph& graph, const Object* exit_dump) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.kind(i) != Kind::list || graph.outside_references(i) == 0) continue;
    Words entries;
    bool found = false;
    each_element(gil, graph.object(i), [&](ptrdiff_t, Object* each) {
      if (!is_exactly(each, gil->PyTuple_Type) || gil->PyTuple_Size(each) != ptrdiff_t(kWordsOfEach)) return false;
      for (size_t k = 0; k < kWordsOfEach; ++k) {
        entries.push_back(reinterpret_cast<uintptr_t>(gil->PyTuple_GetItem(each, ptrdiff_t(k))));
      }
      found |= gil->PyTuple_GetItem(each, 0) == exit_dump;
      return true;
    });
    if (found) return entries;
  }
  return {};
}

// Asks for what the interpreter's own code answers: no attribute of a class of the program.
std::string name_of(const Gil& gil, const ObjectGraph& graph, uint32_t function) {
  if (function == kNoObject) return "function";
  Object* object = graph.object(function);
  if (graph.kind(function) == Kind::method) object = field<Object*>(object, sizeof(uint64_t[2]));  // im_func
  const bool python = is_exactly(object, gil->PyFunction_Type);
  if (!python && !is_exactly(object, gil->PyCFunction_Type)) {
    return has_flag(object, type_flags::kType) ? short_name_of_class(gil, object) : short_class_name(gil, object);
  }
  const Owned name(gil, gil->PyObject_GetAttrString(object, python ? "__qualname__" : "__name__"));
  return std::string(text_of(gil, name.get()));
}

}  // namespace

std::vector<ExitFunction> exit_functions(const Gil& gil, const ObjectGraph& graph) {
  const Object* const own = exit_dump_function();
  if (!own) return {};
  const auto address = reinterpret_cast<uintptr_t>(own);
  const auto interpreter = reinterpret_cast<uintptr_t>(gil->PyInterpreterState_Main());
  const Words entries = gil->series >= kListOfTuples         ? entries_of_list(gil, graph, own)
                        : gil->series >= kStateInInterpreter ? entries_in(interpreter, kMaxPages * kPage, address)
                                                             : entries_of_module(gil, address);
  std::vector<ExitFunction> functions;
  const auto number = [&](uint64_t object) {
    return object ? graph.find(reinterpret_cast<Object*>(object)) : kNoObject;
  };
  for (size_t i = 0; i + kWordsOfEach <= entries.size(); i += kWordsOfEach) {
    if (entries[i] == address) continue;
    const uint32_t function = number(entries[i]);
    functions.push_back({function, number(entries[i + 1]), number(entries[i + 2]), name_of(gil, graph, function)});
  }
  return functions;
}

}  // namespace tensorscope::python::heap_inspector
