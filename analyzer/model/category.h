// What a tensor is for, as far as a dump tells: by what it is linked to, which slot or variable holds it, and who made
// it. Everything else is "unknown": a guess that looks like a fact is worse than none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dump.h"
#include "model/frame_facts.h"
#include "model/tensor_links.h"

namespace tensorscope::model {

// The strongest first, but for unknown: of the tensors of one storage the strongest says what the memory is for.
enum class Category : uint8_t {
  unknown,
  parameter,         // of a module, a torch.nn.Parameter, or what an optimizer trains
  buffer,            // of a module
  gradient,          // another live tensor's .grad
  optimizer_state,   // in an optimizer's state
  input_batch,       // made by data loading, or rebuilt from another process
  saved_activation,  // held by a slot of an autograd node
  output,            // what a module's call returned, held by Python
  cache,             // kept by torch itself, by a class or by functools
  temporary,         // of an operation that is running
  workspace          // a block of the allocator that no tensor refers to: no tensor has this one
};
inline constexpr size_t kCategories = 11;
const char* text(Category category);                            // "" for a number that is no category
std::optional<Category> category_named(std::string_view name);  // "optimizer state", also with '-' or '_'
// "parameter", "optimizer-state", ...: what --category takes, unknown last.
std::vector<std::string> category_words();
inline bool stronger(Category a, Category b) { return a != Category::unknown && (b == Category::unknown || a < b); }

struct Finding {
  Category category = Category::unknown;
  std::string evidence;  // "in model.fc1's parameters", "saved by ReluBackward0.result"; "" for unknown
};

// What each tensor shows by itself, in the order of Dump::tensors; aliases are not looked at. `outputs` are those of
// module_outputs(). A dump without Python's references (an older one, a program without Python, a lock that did not
// come) still tells parameters and optimizer state by their creation.
std::vector<Finding> find_categories(const Dump& dump, const FrameFacts& facts, const TensorLinks& links,
                                     const std::vector<std::vector<std::string>>& outputs);

}  // namespace tensorscope::model
