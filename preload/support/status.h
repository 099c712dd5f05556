// SPDX-License-Identifier: Apache-2.0
// Whether something was done, and if not, why: a text for the coverage record, a count of losses or a message.
//
//     if (const Status status = trace_operations(listener); !status) say("results are not watched: %s", status.why());
//
// Context: any. One word.
#pragma once

namespace tensorscope {

class [[nodiscard]] Status {
 public:
  static constexpr Status done() { return Status(nullptr); }
  // `why` is a literal, or lives as long.
  static constexpr Status failed(const char* why) { return Status(why); }

  // True: it was done.
  constexpr explicit operator bool() const { return why_ == nullptr; }
  // "" where it was done.
  constexpr const char* why() const { return why_ == nullptr ? "" : why_; }

 private:
  constexpr explicit Status(const char* why) : why_(why) {}
  const char* why_;
};

}  // namespace tensorscope
