#include <fmt/format.h>

#include "commands/oom_text.h"
#include "render/table.h"

namespace tensorscope::commands {

namespace {

struct Term {
  const char* name;
  const char* used;  // the text says it where it has this in it
  const char* meaning;
};

constexpr Term kTerms[] = {
    {"reserved", "torch, reserved", "memory that torch's allocator took from the driver, in segments"},
    {"allocated", "allocated", "the part of it that is in use: tensors, and blocks in no tensor"},
    {"cached", "cached and free", "the part that is free, and kept for the next request instead of given back"},
    {"rounding", "rounding", "blocks are multiples of 512 bytes, and may be larger than what was asked for"},
    {"in pieces", "pieces", "a request needs one free block; many small ones do not serve it (fragmentation)"},
    {"large pool", "large pool", "segments for requests above 1 MiB; the small pool has those up to 1 MiB"},
    {"private pool", "private pool", "memory of a CUDA graph or MemPool, for nobody else to use"},
    {"stream", ", stream 0x", "a queue of GPU work; a free block serves the stream that it was made for"},
    {"waiting", "waiting", "freed by the program while another stream may still use it"},
    {"saved activation", "saved activation", "what the forward pass keeps for backward"},
    {"workspace", "in no tensor", "memory that a library asked torch for, such as cuBLAS's workspaces"},
    {"context", "context", "what CUDA itself takes: kernels, stacks, its own buffers"},
    {"resident", "resident", "pages that are in memory now (RSS); what was never written to is in none"},
    {"checkpointing", "checkpoint ", "drop a module's activations and compute them again in backward"},
    {"unexplained", "unexplained", "the numbers do not close by so much; the line says why"},
};

}  // namespace

std::string glossary(const std::string& text, const render::Terminal& terminal) {
  render::Table table({{.title = ""}, {.title = "", .least = 30}});
  for (const Term& term : kTerms) {
    if (text.find(term.used) != std::string::npos) table.row({term.name, term.meaning}, render::Style::dim);
  }
  return table.empty() ? "" : table.text(terminal, false);
}

}  // namespace tensorscope::commands
