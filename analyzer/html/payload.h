// SPDX-License-Identifier: Apache-2.0
// The data of a web report: one JSON value, and beside it columns of numbers, which a browser reads a hundred times
// faster than JSON. Packed as: length of the JSON (u32, little endian), the JSON, padding to 8 bytes, the columns;
// deflated (zlib's format, which browsers decode by themselves), in base64.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tensorscope::html {

using Json = nlohmann::ordered_json;

// Numbers of a column, in half of the room until one needs more than 32 bits.
class Column {
 public:
  void reserve(size_t size) { narrow_.reserve(size); }
  void push_back(uint64_t number);

 private:
  friend class Payload;
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;  // all of them, once there is one that is
};

class Payload {
 public:
  // A column as the JSON names it: {"type": "u16", "at": offset, "count": n}. The type is the smallest that holds every
  // number; numbers above 2^53 lose their last digits, as in any JavaScript number.
  template <std::unsigned_integral Number>
  Json column(const std::vector<Number>& numbers);
  Json column(const std::vector<double>& numbers);
  Json column(const Column& numbers);

  void write(const Json& head, std::ostream& out) const;

 private:
  template <typename To, typename From>
  Json add(const char* type, const std::vector<From>& numbers);
  std::string columns_;
};

// Texts by number, each once. 0 is the empty text.
class Texts {
 public:
  Texts() { number(""); }
  uint32_t number(std::string text);
  const std::deque<std::string>& all() const { return all_; }
  // All of them, by number; none is left here.
  Json take();

 private:
  std::deque<std::string> all_;  // where a text stays in its place
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace tensorscope::html
