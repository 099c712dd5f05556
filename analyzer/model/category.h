// What a tensor is for, as far as a dump tells: by what it is (gradient, parameter) and by who made it (optimizer
// state). Everything else is "unknown": a guess that looks like a fact is worse than none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/dump.h"

namespace tensorscope::model {

enum class Category : uint8_t { unknown, parameter, gradient, optimizer_state };
const char* text(Category category);
std::optional<Category> category_named(std::string_view name);  // "optimizer state", also with '-' or '_'

// One category a tensor, in the order of Dump::tensors.
// gradient: another live tensor's .grad, or a view or alias of its storage. parameter: a floating leaf that requires
// grad and whose gradient or creation shows that it is trained or made by an nn.Module. optimizer state: made by
// torch/optim, and none of the others.
std::vector<Category> categories(const Dump& dump);

}  // namespace tensorscope::model
