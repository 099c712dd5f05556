// SPDX-License-Identifier: Apache-2.0
// What a tensor is for, as far as a dump shows it: by what it is linked to, which slot, container or variable holds it,
// and who made it. Nothing rests on which function happens to run at the dump, so that a tensor has one category as
// long as the same things hold it. Everything else is "unknown": a guess that looks like a fact is worse than none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dump.h"
#include "ownership/module_outputs.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"
#include "symbols/native_facts.h"
#include "tensorscope/rules/categories.h"
#include "tensorscope/rules/category_evidence.h"

namespace tensorscope::analyzer {

using category::Category;
using category::kCategories;
using category::stronger;
using category::text;

// "optimizer state", "KV cache": also with '-' or '_', in any case.
std::optional<Category> category_named(std::string_view name);
// "parameter", "optimizer-state", ...: what --category takes, unknown last.
std::vector<std::string> category_names();

// Where a tensor's category comes from.
enum class CategorySource : uint8_t {
  dump,      // the dump itself, or one of the same run
  inferred,  // call stack and lifetime
  unknown
};
// "dump", "inferred"; "" where not known.
const char* text(CategorySource source);

// What one tensor shows by itself; aliases are not looked at. A dump without Python's references (an older one, a
// program without Python, a lock that did not come) still identifies parameters and optimizer state by their creation.
//
// All that it is made of must outlive it.
class CategoryFinder {
 public:
  CategoryFinder(const Dump& dump, const FrameFacts& frames, const TensorLinks& links, const NativeFacts& native,
                 const ModuleOutputs& outputs)
      : dump_(dump), frames_(frames), links_(links), native_(native), outputs_(outputs) {}

  category::Verdict verdict(uint32_t tensor) const;
  // Why: "in model.fc1's parameters", "saved by ReluBackward0.result"; "" for unknown.
  std::string words(uint32_t tensor, const category::Verdict& verdict) const;

 private:
  const Dump& dump_;
  const FrameFacts& frames_;
  const TensorLinks& links_;
  const NativeFacts& native_;
  const ModuleOutputs& outputs_;
};

}  // namespace tensorscope::analyzer
