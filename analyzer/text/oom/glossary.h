// SPDX-License-Identifier: Apache-2.0
// The terms of `oom`'s answer, explained below it: those that were printed, each noted where it was.
#pragma once

#include <cstdint>
#include <string>

#include "oom/balance_node.h"
#include "text/terminal.h"

namespace tensorscope::text {

enum class Term : uint8_t {
  reserved,
  allocated,
  cached,
  in_no_tensor,
  rounding,
  free_block,
  large_pool,
  private_pool,
  stream,
  waiting,
  saved_activation,
  context,
  resident,
  checkpointing,
  unexplained
};

class Glossary {
 public:
  void use(Term term) { used_ |= 1u << uint32_t(term); }
  void use(const analyzer::oom::BalanceNode& part);  // a line of the balance
  // A line a term; "" where none was used.
  std::string text(const text::Terminal& terminal) const;

 private:
  uint32_t used_ = 0;
};

}  // namespace tensorscope::text
