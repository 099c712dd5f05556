// SPDX-License-Identifier: Apache-2.0
// What chunks have that bring a table of texts of their own, and rows in vectors that may be missing.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "dump/decode/decoding.h"

namespace tensorscope::analyzer {

template <typename Row>
size_t size_of(const flatbuffers::Vector<const Row*>* rows) {
  return rows ? rows->size() : 0;
}

inline std::string charged(const flatbuffers::String* text, Decoding& state) {
  return text ? state.charged(text->string_view()) : std::string();
}

// The texts of a chunk that has a table of its own.
class OwnTexts {
 public:
  explicit OwnTexts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) : texts_(texts) {}
  bool has(uint32_t index) const { return texts_ && index < texts_->size(); }
  std::string_view operator[](uint32_t index) const { return texts_->Get(index)->string_view(); }

 private:
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts_;
};

}  // namespace tensorscope::analyzer
