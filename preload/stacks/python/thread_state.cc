// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/thread_state.h"

#include <pthread.h>

namespace tensorscope::stacks {

// By where a value of our own lies; null: not within the thread's block.
const ThreadState::Slot* ThreadState::first_slot() {
  constexpr size_t kLooked =
      2048 / sizeof(uintptr_t);  // of struct pthread, which is larger (2.17 to 2.43: 2,304 bytes)
  pthread_key_t key;
  if (pthread_key_create(&key, nullptr) != 0) return nullptr;
  const Slot* found = nullptr;
  if (key < kSlots && pthread_setspecific(key, &key) == 0) {
    const auto* words = reinterpret_cast<const uintptr_t*>(pthread_self());
    for (size_t i = 2 * key + 1; i < kLooked && found == nullptr; ++i) {
      if (words[i] == reinterpret_cast<uintptr_t>(&key)) found = reinterpret_cast<const Slot*>(words + i - 1) - key;
    }
  }
  pthread_key_delete(key);
  return found;
}

void ThreadState::find() {
  if (thread_pointer() == nullptr) return;
  const auto* said = reinterpret_cast<const char*>(api_.this_thread_state());
  const Slot* const slots = said == nullptr ? nullptr : first_slot();
  const Slot* only = nullptr;
  for (size_t i = 0; slots != nullptr && i < kSlots; ++i) {
    if (slots[i].state != said) continue;
    if (only != nullptr) return;
    only = slots + i;
  }
  if (only == nullptr || only->sequence == 0) return;
  sequence_ = only->sequence;
  place_.store(reinterpret_cast<const char*>(only) - thread_pointer(), std::memory_order_release);
}

const char* ThreadState::ask(uint32_t& until_asked) {
  until_asked = kAskEvery - 1;
  const auto* said = reinterpret_cast<const char*>(api_.this_thread_state());
  const ptrdiff_t place = place_.load(std::memory_order_acquire);
  if (place == 0) return said;
  const auto* slot = reinterpret_cast<const Slot*>(thread_pointer() + place);
  if (slot->state != said) give_up();
  return said;
}

}  // namespace tensorscope::stacks
