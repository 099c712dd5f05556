// The data of a web report: one JSON value, and beside it columns of numbers, which a browser reads a hundred times
// faster than JSON. Packed as: length of the JSON (u32, little endian), the JSON, padding to 8 bytes, the columns;
// deflated (zlib's format, which browsers decode by themselves), in base64.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace tensorscope::html {

using Json = nlohmann::ordered_json;

class Payload {
 public:
  // A column as the JSON names it: {"type": "u16", "at": offset, "count": n}. The type is the smallest that holds every
  // number; numbers above 2^53 lose their last digits, as in any JavaScript number.
  Json column(const std::vector<uint64_t>& numbers);
  Json column(const std::vector<double>& numbers);

  std::string packed(const Json& head) const;

 private:
  template <typename To, typename From>
  Json add(const char* type, const std::vector<From>& numbers);
  std::string columns_;
};

// Texts by number, each once. 0 is the empty text.
class Texts {
 public:
  Texts() { number(""); }
  uint32_t number(const std::string& text);
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> all_;
};

}  // namespace tensorscope::html
