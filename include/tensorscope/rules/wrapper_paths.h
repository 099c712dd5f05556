// SPDX-License-Identifier: Apache-2.0
// What wrappers put into the paths of modules, and paths without it: "model.module.fc" under DistributedDataParallel is
// the program's own "model.fc". As torch itself does for the keys of checkpoints
// (torch/distributed/checkpoint/state_dict.py): private names wherever they stand, `module` below its classes.
//
// Context: pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tensorscope::rules {

// Of FullyShardedDataParallel, torch.compile() and checkpoint_wrapper().
inline bool is_wrapper_segment(std::string_view segment) {
  return segment == "_fsdp_wrapped_module" || segment == "_orig_mod" || segment == "_checkpoint_wrapped_module";
}

// Classes whose child `module` is what they wrap.
inline bool wraps_as_module(std::string_view class_name) {
  return class_name == "DistributedDataParallel" || class_name == "DataParallel" || class_name == "DeepSpeedEngine" ||
         class_name == "FullyShardedDataParallel";
}

// Where a name of a value or module has such a segment, with the dot before it; `module` wherever it stands behind a
// dot, since the classes are not known.
struct WrapperPlace {
  size_t begin, end;
  bool may_be_own;  // the program's
};
inline std::vector<WrapperPlace> wrapper_places(std::string_view name) {
  std::vector<WrapperPlace> places;
  for (size_t at = name.find('.'); at != std::string_view::npos; at = name.find('.', at + 1)) {
    const size_t end = std::min(name.find_first_of(".[(/", at + 1), name.size());
    const std::string_view segment = name.substr(at + 1, end - at - 1);
    if (segment == "module" || is_wrapper_segment(segment)) places.push_back({at, end, segment == "module"});
  }
  return places;
}

inline std::string without_places(std::string_view name, const std::vector<WrapperPlace>& places) {
  std::string out;
  size_t from = 0;
  for (const WrapperPlace& place : places) {
    out += name.substr(from, place.begin - from);
    from = place.end;
  }
  return out += name.substr(from);
}

}  // namespace tensorscope::rules
