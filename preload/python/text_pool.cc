// SPDX-License-Identifier: Apache-2.0
#include "python/text_pool.h"

#include <functional>
#include <utility>

#include "support/probing.h"

namespace tensorscope::python {

namespace {
constexpr size_t kFirstTextSlots = 4096;
}

std::string_view TextPool::operator[](uint32_t number) const {
  if (number == 0 || number > ends_.size()) return "";
  const uint64_t begin = number == 1 ? 0 : ends_[number - 2];
  return {characters_.data() + begin, size_t(ends_[number - 1] - begin - 1)};
}

TextPool::Slot* TextPool::slot_of(std::string_view text, uint32_t hash) {
  return &slots_[probe(slots_, hash, [&](const Slot& slot) {
    return slot.number == 0 || (slot.hash == hash && (*this)[slot.number] == text);
  })];
}

bool TextPool::make_room() {
  if (ends_.size() < slots_.size() / 4 * 3) return true;
  PageArray<Slot> more;
  if (!more.resize(slots_.empty() ? kFirstTextSlots : slots_.size() * 2)) return false;
  for (const Slot& slot : slots_) {
    if (slot.number != 0) more[probe(more, slot.hash, [](const Slot& other) { return other.number == 0; })] = slot;
  }
  slots_ = std::move(more);
  return true;
}

uint32_t TextPool::intern(std::string_view text) {
  if (text.empty()) return 0;
  if (full_ || !make_room()) return full_ = true, 0;
  const auto hash = uint32_t(std::hash<std::string_view>{}(text));
  Slot* const slot = slot_of(text, hash);
  if (slot->number != 0) return slot->number;
  if (!characters_.append(text.data(), text.size()) || !characters_.push(0) || !ends_.push(characters_.size())) {
    full_ = true;
    return 0;
  }
  return *slot = {hash, size() - 1}, slot->number;
}

}  // namespace tensorscope::python
