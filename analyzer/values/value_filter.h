// SPDX-License-Identifier: Apache-2.0
// Selects values by name, step and mode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "values/values_file.h"

namespace tensorscope::values {

struct Steps {
  uint32_t first = 0, last = UINT32_MAX;
};
// "10", "10-20", "10-", "-20"; nothing where it is none of these.
std::optional<Steps> parse_steps(std::string_view text);

class ValueFilter {
 public:
  Steps steps;
  std::optional<format::StepMode> mode;
  std::optional<uint32_t> index;

  // A pattern as watches have it: `*` one segment, `**` any number of them, `name*`. A name matches where it matches
  // one of them.
  void add_name(const std::string& pattern);
  bool has_names() const { return !patterns_.empty(); }

  bool takes(const Value& value) const;
  bool takes_name(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> patterns_;
};

// Names are few and values many: each name is compared once.
class NameCache {
 public:
  explicit NameCache(const ValueFilter& filter) : filter_(filter) {}
  bool takes(const Value& value);

 private:
  const ValueFilter& filter_;
  std::unordered_map<std::string_view, bool> names_;
};

}  // namespace tensorscope::values
