// SPDX-License-Identifier: Apache-2.0
// What chunks have that bring a table of texts of their own, and rows in vectors that may be missing.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "dump/decode/decoding.h"
#include "dump/shared_text.h"

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

// Those that many rows share: each is made once. Index 0 is no text; of others that do not exist a count is kept.
class SharedTexts {
 public:
  SharedTexts(const OwnTexts& texts, Decoding& state) : texts_(texts), state_(state) {}
  SharedText operator[](uint32_t index) {
    if (!texts_.has(index)) {
      if (index != 0) state_.count("references to missing texts");
      return {};
    }
    const auto [found, fresh] = known_.try_emplace(index);
    if (fresh) found->second = SharedText(state_.charged(texts_[index]));
    return found->second;
  }

 private:
  const OwnTexts& texts_;
  Decoding& state_;
  std::unordered_map<uint32_t, SharedText> known_;
};

}  // namespace tensorscope::analyzer
