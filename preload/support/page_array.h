// SPDX-License-Identifier: Apache-2.0
// A growing array of plain values in pages of its own: it moves by mremap, so it needs no second copy while it grows,
// takes memory for what was written alone, and gives it back to the system. Growing may fail and says so.
//
// Context: any but hooks and signal handlers. What the array holds counts for the thread's MemoryLimit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tensorscope {

class PageBytes {
 public:
  PageBytes() = default;
  PageBytes(PageBytes&& other) noexcept
      : pages_(std::exchange(other.pages_, nullptr)), room_(std::exchange(other.room_, 0)) {}
  PageBytes& operator=(PageBytes&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~PageBytes();

  // Room for so many bytes at least; new ones are zero. False: no memory, or the limit does not allow it.
  bool grow(size_t bytes);
  char* data() const { return pages_; }
  size_t room() const { return room_; }
  // Requests large pages if the system has them: for large data that is written at once. May be called again.
  void prefer_large_pages();

 private:
  char* pages_ = nullptr;
  size_t room_ = 0;
};

template <typename T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  PageArray() = default;
  PageArray(PageArray&& other) noexcept { *this = std::move(other); }
  PageArray& operator=(PageArray&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    std::swap(size_, other.size_);
    std::swap(written_, other.written_);
    return *this;
  }

  bool push(const T& value) {
    if ((size_ + 1) * sizeof(T) > bytes_.room() && !bytes_.grow((size_ + 1) * sizeof(T))) return false;
    begin()[size_++] = value;
    return true;
  }
  template <typename... Fields>
  bool emplace_back(Fields&&... fields) {
    return push(T(std::forward<Fields>(fields)...));
  }
  // Values that are added are zero bytes.
  bool resize(size_t size) {
    if (size > SIZE_MAX / sizeof(T) || (size * sizeof(T) > bytes_.room() && !bytes_.grow(size * sizeof(T)))) {
      return false;
    }
    written_ = std::max(written_, size_);
    const size_t stale = std::min(size, written_);
    if (stale > size_) memset(static_cast<void*>(end()), 0, (stale - size_) * sizeof(T));
    size_ = size;
    return true;
  }
  // Room for values that the caller writes all; null: no memory, never for want of values.
  T* add_unwritten(size_t count) {
    constexpr size_t kLarge = size_t{8} << 20;
    const size_t before = size_, room = bytes_.room();
    if (count > SIZE_MAX / sizeof(T) - size_) return nullptr;
    const size_t wanted = (size_ + std::max(count, size_t{1})) * sizeof(T);
    if (wanted > room && !bytes_.grow(wanted)) return nullptr;
    if (bytes_.room() != room && bytes_.room() >= kLarge) bytes_.prefer_large_pages();
    size_ += count;
    return begin() + before;
  }
  bool append(const T* values, size_t count) {
    const size_t first = size_;
    if (!resize(size_ + count)) return false;
    if (count != 0) memcpy(static_cast<void*>(begin() + first), values, count * sizeof(T));
    return true;
  }
  void pop() {
    written_ = std::max(written_, size_);
    --size_;
  }
  void clear() {
    written_ = std::max(written_, size_);
    size_ = 0;
  }
  // Gives all memory back.
  void reset() { *this = PageArray(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return reinterpret_cast<T*>(bytes_.data()); }
  T* end() { return begin() + size_; }
  const T* begin() const { return reinterpret_cast<const T*>(bytes_.data()); }
  const T* end() const { return begin() + size_; }
  const T* data() const { return begin(); }
  T& operator[](size_t i) { return begin()[i]; }
  const T& operator[](size_t i) const { return begin()[i]; }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

 private:
  PageBytes bytes_;
  size_t size_ = 0;
  size_t written_ = 0;  // values that were there before size_ shrank
};

}  // namespace tensorscope
