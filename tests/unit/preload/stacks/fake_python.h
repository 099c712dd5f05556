// SPDX-License-Identifier: Apache-2.0
// Python objects as bytes in a test's own memory, laid out as CPython 3.12 does unless a layout is given.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

class FakePython {
  std::deque<std::unique_ptr<char[]>> memory_;

 public:
  explicit FakePython(const PythonLayout& layout = kCpython312) : layout(layout) {}

  char* object(size_t bytes) {
    memory_.push_back(std::make_unique<char[]>(bytes));
    return memory_.back().get();
  }

  template <typename T>
  static void put(char* object, size_t offset, T value) {
    std::memcpy(object + offset, &value, sizeof value);
  }

  // A compact str. `width`: bytes a code point; `ascii` has its own layout.
  char* text(const void* data, size_t length, unsigned width, bool ascii) {
    size_t at = ascii ? layout.text_ascii : layout.text_other;
    char* str = object(at + length * width + width);
    put(str, 16, length);
    put(str, 32, uint32_t(width << 2 | 1 << 5 | (ascii ? 1 : 0) << 6));
    std::memcpy(str + at, data, length * width);
    return str;
  }
  char* text(std::string_view ascii) { return text(ascii.data(), ascii.size(), 1, true); }

  char* bytes(const std::vector<uint8_t>& data) {
    char* result = object(32 + data.size() + 1);
    put(result, 16, data.size());
    if (!data.empty()) std::memcpy(result + 32, data.data(), data.size());
    return result;
  }

  void fill_code(char* code, char* file, char* name, char* line_table, int32_t first_line) {
    put(code, 8, code_type);
    put(code, layout.code_filename, file);
    put(code, layout.code_name, name);
    put(code, layout.code_line_table, line_table);
    put(code, layout.code_first_line, first_line);
  }
  char* code(std::string_view file, std::string_view name, int32_t first_line) {
    char* result = object(kCodeBytes);
    fill_code(result, text(file), text(name), bytes({0x80 | 13 << 3, 0}), first_line);
    return result;
  }

  static constexpr size_t kCodeBytes = 512;
  const PythonLayout layout;
  char* const code_type = object(8);
};

}  // namespace tensorscope::stacks
