// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/script_values.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "live/tensor_serial.h"
#include "python/heap_inspector/graph/type_fields.h"

namespace tensorscope::python::heap_inspector {

namespace {

// pybind11::detail::instance (pybind11/detail/common.h): a pointer to the value, right after the header.
constexpr ptrdiff_t kValue = 16;
constexpr uint32_t kStepsOfAValue = 32;  // by what it costs

}  // namespace

// False: there is none.
bool ScriptValues::find(torch::IValues& values) {
  for (uint32_t i = 0; i < graph_.size(); ++i) {
    if (graph_.kind(i) != Kind::script || !paths_.reached(i)) continue;
    if (limits_.reached(kStepsOfAValue)) break;
    const auto value = field<uint64_t>(graph_.object(i), kValue);
    const uint64_t container = values.container_in(value), tensor = container != 0 ? 0 : values.tensor_in(value);
    if (container == 0 && tensor == 0) continue;
    if (!values_.push({i, container, tensor})) return limits_.memory_ran_out(), false;
    chains_.want(i);
  }
  std::sort(values_.begin(), values_.end(), [&](const Value& a, const Value& b) {
    return std::pair(paths_.depth(a.object), a.object) < std::pair(paths_.depth(b.object), b.object);
  });
  return !values_.empty() && chains_.find_steps();
}

// What is in several is the nearest one's, as a submodule to which Python refers by itself is its parent's.
void ScriptValues::read(uint64_t newest) {
  bool any = false;
  for (uint32_t i = 0; i < graph_.size() && !any; ++i) any = graph_.kind(i) == Kind::script;
  if (!any) return;
  const std::unique_ptr<torch::LoadedClasses> loaded = torch::read_loaded_classes();
  if (!loaded) return limits_.memory_ran_out();
  torch::IValues values(loaded->classes);
  if (!find(values)) return;
  const std::string itself;  // no text follows the object's name
  const auto go_on = [&] { return !limits_.reached(kStepsOfAValue); };
  for (const Value& value : values_) {
    const auto add = [&](const torch::IValues::Held& held) {
      const uint64_t serial = live::tensor_serial(reinterpret_cast<const void*>(held.tensor));
      if (serial == 0 || serial > newest || limits_.reached()) return;
      const bool room =
          !texts_.full() && held_.push({serial, value.object, texts_.intern(held.text), held.holder, held.role, false});
      if (!room) limits_.memory_ran_out();
    };
    if (value.container == 0) {
      add({value.tensor, itself, torch::IValues::Holder::none, torch::IValues::Role::plain});
    } else if (!values.walk(value.container, go_on, add)) {
      break;
    }
  }
  std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) { return a.serial < b.serial; });
}

std::span<ScriptValues::Held> ScriptValues::of(uint64_t serial) {
  const auto begin = std::lower_bound(held_.begin(), held_.end(), serial,
                                      [](const Held& held, uint64_t wanted) { return held.serial < wanted; });
  auto end = begin;
  while (end != held_.end() && end->serial == serial) ++end;
  return {begin, end};
}

}  // namespace tensorscope::python::heap_inspector
