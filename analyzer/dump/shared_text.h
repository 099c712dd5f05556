// SPDX-License-Identifier: Apache-2.0
// A text that many rows have, as the name of a class: a pointer in each row, and the text once. It is never changed;
// rows are given another one.
//
// Copies may be made and dropped by any thread; one object is not thread-safe. 8 bytes.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace tensorscope::analyzer {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text) : counted_(text.empty() ? nullptr : new Counted{{1}, std::move(text)}) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}
  SharedText(const SharedText& other) : counted_(other.counted_) {
    if (counted_) counted_->users.fetch_add(1, std::memory_order_relaxed);
  }
  SharedText(SharedText&& other) noexcept : counted_(std::exchange(other.counted_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept {
    std::swap(counted_, other.counted_);
    return *this;
  }
  ~SharedText() {
    if (counted_ && counted_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete counted_;
  }

  // As long as this object, or a copy of it, has the text.
  const std::string& str() const { return counted_ ? counted_->text : empty_text(); }
  operator const std::string&() const { return str(); }
  operator std::string_view() const { return str(); }
  bool empty() const { return counted_ == nullptr; }
  size_t size() const { return str().size(); }
  size_t find(char c) const { return str().find(c); }
  bool starts_with(std::string_view text) const { return str().starts_with(text); }
  bool ends_with(std::string_view text) const { return str().ends_with(text); }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.counted_ == b.counted_ || a.str() == b.str();
  }
  friend auto operator<=>(const SharedText& a, const SharedText& b) { return a.str() <=> b.str(); }
  friend bool operator==(const SharedText& a, std::string_view b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const std::string& b) { return a.str() == b; }
  friend bool operator==(const SharedText& a, const char* b) { return a.str() == b; }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) { return out << text.str(); }

 private:
  struct Counted {
    std::atomic<uint32_t> users;
    std::string text;
  };
  static const std::string& empty_text() {
    static const std::string empty;
    return empty;
  }

  Counted* counted_ = nullptr;
};

inline std::string operator+(const std::string& a, const SharedText& b) { return a + b.str(); }
inline std::string operator+(const char* a, const SharedText& b) { return a + b.str(); }
inline std::string operator+(const SharedText& a, std::string_view b) { return a.str() + std::string(b); }

}  // namespace tensorscope::analyzer

template <>
struct fmt::formatter<tensorscope::analyzer::SharedText> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const tensorscope::analyzer::SharedText& text, Context& context) const {
    return fmt::formatter<std::string_view>::format(text.str(), context);
  }
};
