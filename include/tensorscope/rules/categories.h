// SPDX-License-Identifier: Apache-2.0
// What memory is for, in the words of every table, filter and report: the short report of the target and the analyzer
// use the same ones, in the same order.
//
// Context: any. No allocation, no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope::category {

// The strongest first, but for unknown: of the tensors of one storage the strongest says what the memory is for.
enum class Category : uint8_t {
  unknown,
  parameter,             // of a module, a torch.nn.Parameter, or what an optimizer trains
  buffer,                // of a module
  gradient,              // another live tensor's .grad
  optimizer_state,       // in an optimizer's state
  dataset,               // in a torch.utils.data.Dataset
  input_batch,           // made by data loading, rebuilt from another process, or given to a graph from outside
  kv_cache,              // in a cache of transformers
  saved_activation,      // held by a slot of an autograd node
  container,             // in a list, dict, object ... of the program
  communication_bucket,  // made by torch.distributed for itself
  backward_temporary,    // made in a backward pass, and no gradient of a leaf
  output,                // what a module's call returned, held by Python
  variable,              // in nothing but variables of the program
  cache,                 // kept by torch itself, by a class or by functools
  temporary,             // of an operation that is running, or freed while the dump was written
  workspace              // a block of the allocator that no tensor refers to: no tensor has this one
};
inline constexpr size_t kCategories = size_t(Category::workspace) + 1;

// "" for a number that is no category.
constexpr const char* text(Category category) {
  switch (category) {
    case Category::unknown:
      return "unknown";
    case Category::parameter:
      return "parameter";
    case Category::buffer:
      return "buffer";
    case Category::gradient:
      return "gradient";
    case Category::optimizer_state:
      return "optimizer state";
    case Category::dataset:
      return "dataset";
    case Category::input_batch:
      return "input batch";
    case Category::communication_bucket:
      return "communication bucket";
    case Category::kv_cache:
      return "KV cache";
    case Category::saved_activation:
      return "saved activation";
    case Category::backward_temporary:
      return "backward temporary";
    case Category::output:
      return "output";
    case Category::container:
      return "container";
    case Category::variable:
      return "variable";
    case Category::cache:
      return "cache";
    case Category::temporary:
      return "temporary";
    case Category::workspace:
      return "workspace";
  }
  return "";
}

constexpr bool stronger(Category a, Category b) { return a != Category::unknown && (b == Category::unknown || a < b); }

// Whether an object of this type shows a tensor's memory as its own: of numpy, of Python, of pyarrow.
constexpr bool shows_memory(std::string_view type) {
  for (std::string_view name : {"ndarray", "memoryview", "Buffer", "Table", "RecordBatch"}) {
    if (type == name) return true;
  }
  return type.ends_with("Array");
}

// Whether a chain of references ends in something that is filled bit by bit: one of Python's own collections (`holder`,
// the type of the object that refers to the tensor), or an object that is an element of one ("history[3].logits"). What
// a call returns may be a tuple or an object of a class as well.
constexpr bool in_collection(std::string_view holder, std::string_view text) {
  for (std::string_view name : {"list", "dict", "frozendict", "deque", "collections.deque", "set", "frozenset",
                                "defaultdict", "OrderedDict", "collections.OrderedDict", "UserDict", "UserList"}) {
    if (holder == name) return true;
  }
  if (shows_memory(holder) && text.ends_with(']')) return true;
  const size_t step = text.find_last_of(".[");
  return step != text.npos && step != 0 && text[step - 1] == ']';
}

// A functools.lru_cache, as a chain of references names it.
constexpr bool in_function_cache(std::string_view text) { return text.starts_with("lru_cache of "); }

// Whether a global variable is one of PyTorch's own, by the module that has it.
constexpr bool of_torch(std::string_view scope) { return scope == "torch" || scope.starts_with("torch."); }

// Whether a reference begins at a variable of the program itself, by its root and scope. Root: dump::ReferenceRoot.
template <typename Root>
constexpr bool by_program(Root root, std::string_view scope) {
  return root == Root::local || root == Root::suspended || root == Root::thread || root == Root::traceback ||
         (root == Root::global && !of_torch(scope));
}

}  // namespace tensorscope::category
