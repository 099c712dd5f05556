// SPDX-License-Identifier: Apache-2.0
#include "torch/graph/function_classes.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

namespace {

// PyObject::ob_type and PyTypeObject::tp_name (Include/object.h, cpython/object.h: the same in 3.8 to 3.14 with a GIL).
constexpr uint64_t kObjectType = 8;
constexpr uint64_t kTypeName = 24;
constexpr size_t kLongestClass = 64;

// An identifier, perhaps with dots, that ends within the bytes.
std::string class_name(const char* text, size_t size) {
  const size_t length = strnlen(text, size);
  const std::string_view name(text, length);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  return plain && length < size ? std::string(name) : "";
}

bool read_names(const std::vector<uint64_t>& texts, std::unordered_map<uint64_t, std::string>& names) {
  SafeReads reads;
  std::vector<uint64_t> wanted;
  for (uint64_t text : texts) {
    if (text == 0 || !names.try_emplace(text).second) continue;
    wanted.push_back(text);
    // Not into the next page: it may not be there, and the name may end before it.
    reads.add(text, std::min<uint64_t>(kLongestClass, 4096 - text % 4096));
  }
  if (!reads.run()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (reads.ok(i)) names[wanted[i]] = class_name(reinterpret_cast<const char*>(reads.bytes(i)), reads.size(i));
  }
  return true;
}

}  // namespace

bool read_function_classes(const std::vector<uint64_t>& objects, std::vector<std::string>& names) {
  names.assign(objects.size(), "");
  std::vector<uint64_t> at, words(objects.size(), 0);
  for (uint64_t object : objects) at.push_back(object == 0 ? 0 : object + kObjectType);
  if (!read_words_safely(at.data(), words.data(), at.size())) return false;
  for (size_t i = 0; i < at.size(); ++i) at[i] = words[i] == 0 ? 0 : words[i] + kTypeName;
  if (!read_words_safely(at.data(), words.data(), at.size())) return false;
  std::unordered_map<uint64_t, std::string> by_text;
  if (!read_names(words, by_text)) return false;
  for (size_t i = 0; i < objects.size(); ++i) {
    const auto found = by_text.find(words[i]);
    if (found != by_text.end()) names[i] = found->second;
  }
  return true;
}

}  // namespace tensorscope::torch
