// SPDX-License-Identifier: Apache-2.0
// Which tensors TorchScript's values hold: the attributes of a scripted module or class, and the lists, dicts, tuples,
// other objects and futures in them. They are read in memory; nothing of torch is called.
//
// A class is known by its vtable alone (metadata/object_class.h), and a tensor by the table of live tensors, so that no
// number of a tag but that of a tensor and of an int counts. The fields are those of torch 2.13, and as far as is told
// of 1.13 to 2.15: ListImpl (ATen/core/List.h), DictImpl (ATen/core/Dict.h, c10/util/order_preserving_flat_hash_map.h),
// Tuple, Object and Future (ATen/core/ivalue_inl.h), ClassType (ATen/core/class_type.h), IValue (ATen/core/ivalue.h).
// What does not add up (a vector that ends before it begins, a dict with another number of entries than it says, names
// that are no texts) is as if it were not there: no tensor, or `<slot 3>` for a name.
//
// Context: heap inspector. Another thread may run TorchScript meanwhile: each read is one that cannot fault, and a
// tensor counts if it lives.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/function_ref.h"
#include "torch/metadata/object_class.h"

namespace tensorscope::torch {

class IValues {
 public:
  explicit IValues(ObjectClasses& classes) : classes_(classes) {}

  // The container that an object of C++ refers to with one of its first words, as what pybind11 wraps of a ScriptModule
  // or a ScriptList does; 0: none.
  uint64_t container_in(uint64_t object);
  // The live tensor that it refers to so, as the SavedVariable of a SavedTensor does; 0: none.
  uint64_t tensor_in(uint64_t object);

  enum class Holder : uint8_t { none, list, dict, tuple, object, future };
  enum class Role : uint8_t { plain, parameter, buffer };
  struct Held {
    uint64_t tensor;          // TensorImpl
    const std::string& text;  // what follows the container's name: ".history[3]", ".cache['k']"
    Holder holder;            // what refers to it directly
    Role role;                // to an object that does
  };
  // Looks for tensors from a container on, the nearest first, but in no container again that an earlier walk was in.
  // `go_on` is asked before each container. False: it said no, or the system does not allow reading.
  bool walk(uint64_t container, FunctionRef<bool()> go_on, FunctionRef<void(const Held&)> each);

 private:
  using Kind = Holder;
  struct Element {
    uint64_t payload, tag;
    std::string step;  // "[3]"
    Role role = Role::plain;
  };
  struct Open {
    uint64_t address;
    Kind kind;
    std::string text;
  };
  Kind kind_of(uint64_t vtable);
  void read_head(uint64_t object, std::vector<uint64_t>& words);
  bool read(uint64_t address, size_t size, std::vector<uint64_t>& words);
  bool vtables_of(const std::vector<uint64_t>& addresses, std::vector<uint64_t>& vtables);
  void read_elements(const Open& container, std::vector<Element>& elements);
  void read_tuple(uint64_t address, std::vector<Element>& elements);
  void read_vector(const uint64_t* words, std::vector<Element>& elements);
  void read_array(uint64_t begin, uint64_t count, std::vector<Element>& elements);
  void read_dict(uint64_t address, std::vector<Element>& elements);
  void read_object(uint64_t address, std::vector<Element>& elements);
  void read_future(uint64_t address, std::vector<Element>& elements);
  void name_slots(uint64_t type, std::vector<Element>& elements);
  bool name_slots(const std::vector<uint64_t>& type, size_t attribute_words, std::vector<Element>& elements);
  void name_keys(const std::vector<uint64_t>& entries, std::vector<Element>& elements);
  bool read_text(uint64_t string, std::string& text);
  bool read_characters(uint64_t begin, uint64_t length, std::string& text);

  ObjectClasses& classes_;
  std::unordered_set<uint64_t> met_;
  bool allowed_ = true;
};

}  // namespace tensorscope::torch
