#include "python/text_pool.h"

#include <functional>
#include <utility>

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
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].number != 0 && (slots_[at].hash != hash || (*this)[slots_[at].number] != text))
    at = (at + 1) & mask;
  return &slots_[at];
}

bool TextPool::make_room() {
  if (ends_.size() < slots_.size() / 4 * 3) return true;
  PageArray<Slot> more;
  if (!more.resize(slots_.empty() ? kFirstTextSlots : slots_.size() * 2)) return false;
  const size_t mask = more.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.number == 0) continue;
    size_t at = slot.hash & mask;
    while (more[at].number != 0) at = (at + 1) & mask;
    more[at] = slot;
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
