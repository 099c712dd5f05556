// SPDX-License-Identifier: Apache-2.0
// Reads what a page holds, as a browser does.
#pragma once

#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "html/payload.h"

namespace tensorscope::testing {

struct Unpacked {
  nlohmann::json head;
  std::string columns;

  std::vector<double> column(const nlohmann::json& place) const {
    const std::string type = place["type"];
    std::vector<double> out;
    auto read = [&](auto zero) {
      for (size_t i = 0; i < place["count"].get<size_t>(); ++i) {
        std::memcpy(&zero, columns.data() + place["at"].get<size_t>() + i * sizeof zero, sizeof zero);
        out.push_back(double(zero));
      }
    };
    if (type == "u8") read(uint8_t{});
    if (type == "u16") read(uint16_t{});
    if (type == "u32") read(uint32_t{});
    if (type == "f64") read(double{});
    return out;
  }
};

inline Unpacked unpacked(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  uint32_t bits = 0;
  int known = 0;
  for (char c : text) {
    const size_t digit = digits.find(c);
    if (digit == std::string::npos) continue;
    bits = bits << 6 | uint32_t(digit);
    known += 6;
    if (known >= 8) packed += char(bits >> (known -= 8));
  }
  std::string bytes(size_t{64} << 20, '\0');
  uLongf size = bytes.size();
  if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                 packed.size()) != Z_OK) {
    return {};
  }
  bytes.resize(size);
  uint32_t length = 0;
  std::memcpy(&length, bytes.data(), 4);
  return {nlohmann::json::parse(bytes.substr(4, length)), bytes.substr((4 + length + 7) / 8 * 8)};
}

inline std::string packed(const html::Payload& payload, const html::Json& head) {
  std::ostringstream out;
  payload.write(head, out);
  return out.str();
}

// Of a whole page.
inline Unpacked data_of(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t from = page.find(begin) + begin.size();
  return unpacked(page.substr(from, page.find('<', from) - from));
}

}  // namespace tensorscope::testing
