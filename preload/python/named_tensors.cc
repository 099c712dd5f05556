// SPDX-License-Identifier: Apache-2.0
#include "python/named_tensors.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "live/tensor_serial.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "support/enough_memory.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python {

namespace {

// Never destroyed.
std::vector<NamedTensor>& names() {
  alignas(std::vector<NamedTensor>) static char memory[sizeof(std::vector<NamedTensor>)];
  static auto* const made = new (memory) std::vector<NamedTensor>;
  return *made;
}

void forget_dead() {
  std::erase_if(names(), [](const NamedTensor& named) { return live::tensor_serial(named.impl) != named.serial; });
}

Object* tensor_class(const Gil& gil) {
  static Object* known = nullptr;  // a built-in type: it stays
  if (!known) known = heap_inspector::KnownClasses::find(gil).tensor;
  return known;
}

}  // namespace

// The field comes right after the header, or, in older torch, after one more word
// (heap_inspector/rows/tensor_objects.cc).
LiveTensor live_tensor(const Gil& gil, Object* object) {
  Object* known = tensor_class(gil);
  if (!known || !heap_inspector::check_type_fields(gil) || !is_a(gil, object, known)) return {};
  for (const ptrdiff_t offset : {16, 24}) {
    const void* impl = heap_inspector::field<const void*>(object, offset);
    if (const uint64_t serial = live::tensor_serial(impl)) return {impl, serial};
  }
  return {};
}

void name_tensor(const Gil& gil, Object* object, std::string_view text) {
  const LiveTensor tensor = live_tensor(gil, object);
  if (tensor.serial == 0 || text.empty()) return;
  text = text_beginning(text, kLongestName);
  std::vector<NamedTensor>& all = names();
  if (all.size() == all.capacity()) forget_dead();  // so that a search is paid for by the growth
  if (all.size() >= kMaxNames) return;
  NamedTensor named = {tensor.serial, tensor.impl, std::string(text)};
  make_room_for_one(all);
  all.push_back(std::move(named));
}

void each_named_tensor(const Gil&, FunctionRef<void(const NamedTensor& named)> f) {
  forget_dead();
  for (const NamedTensor& named : names()) f(named);
}

}  // namespace tensorscope::python
