// SPDX-License-Identifier: Apache-2.0
#include "text/oom/glossary.h"

#include <fmt/format.h>

#include "text/table.h"

namespace tensorscope::text {

namespace {

using analyzer::oom::BalanceKind;
using analyzer::oom::NoteKind;

struct Meaning {
  Term term;
  const char* name;
  const char* meaning;
};

constexpr Meaning kMeanings[] = {
    {Term::reserved, "reserved", "memory that torch's allocator took from the driver, in segments"},
    {Term::allocated, "allocated", "the part of it that is in use: tensors, and blocks in no tensor"},
    {Term::cached, "cached", "the part of it that is free: torch keeps it for later requests"},
    {Term::in_no_tensor, "in no tensor", "blocks that no tensor uses, such as the workspaces of cuBLAS"},
    {Term::rounding, "rounding", "block sizes are multiples of 512 bytes, and may exceed the request"},
    {Term::free_block, "free block", "a request needs one that is large enough; several small ones do not serve it"},
    {Term::large_pool, "large pool", "segments for requests above 1 MiB; the small pool serves the others"},
    {Term::private_pool, "private pool", "memory that only one CUDA graph or MemPool may use"},
    {Term::stream, "stream", "a queue of GPU work; a free block serves only the stream that it was made for"},
    {Term::waiting, "waiting", "freed by the program while another stream may still use it"},
    {Term::saved_activation, "saved activation", "tensors that the forward pass keeps for backward"},
    {Term::context, "context", "memory of CUDA itself: kernels, stacks, buffers"},
    {Term::resident, "resident", "pages that are in physical memory (RSS)"},
    {Term::checkpointing, "checkpointing", "free a module's activations, and compute them again in backward"},
    {Term::unexplained, "unexplained", "difference between a total and its parts; the line says why"},
};

}  // namespace

void Glossary::use(const analyzer::oom::BalanceNode& part) {
  switch (part.kind) {
    case BalanceKind::reserved:
      return use(Term::reserved);
    case BalanceKind::allocated:
      return use(Term::allocated);
    case BalanceKind::cached:
      return use(Term::cached);
    case BalanceKind::in_no_tensor:
      return use(Term::in_no_tensor);
    case BalanceKind::rounding:
      return use(Term::rounding);
    case BalanceKind::pool:
      use(part.pool.private_pool() ? Term::private_pool : Term::large_pool);
      if (part.with_stream) use(Term::stream);
      if (part.note.kind == NoteKind::pieces) use(Term::free_block);
      return;
    case BalanceKind::waiting:
      return use(Term::waiting);
    case BalanceKind::category:
      if (part.category == analyzer::Category::saved_activation) use(Term::saved_activation);
      return;
    case BalanceKind::context:
    case BalanceKind::context_and_pool:
    case BalanceKind::outside_torch:
      return use(Term::context);
    case BalanceKind::resident_process:
      return use(Term::resident);
    case BalanceKind::unexplained:
      return use(Term::unexplained);
    default:
      return;
  }
}

std::string Glossary::text(const text::Terminal& terminal) const {
  text::Table table({{.title = ""}, {.title = "", .least = 30}});
  for (const Meaning& one : kMeanings) {
    if ((used_ >> uint32_t(one.term) & 1) != 0) table.row({one.name, one.meaning}, text::Style::dim);
  }
  return table.empty() ? "" : table.text(terminal, false);
}

}  // namespace tensorscope::text
