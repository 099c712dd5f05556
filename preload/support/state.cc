// SPDX-License-Identifier: Apache-2.0
#include "support/state.h"

#include "support/log.h"

namespace tensorscope {

constinit std::atomic<State> g_state{State::dormant};
constinit thread_local uint32_t t_inside = 0;

namespace {
// `tensorscope run` compares it with its own (analyzer/process/elf_program.cc).
[[gnu::section(".tensorscope.version"), gnu::used]] constexpr char kVersion[] = TENSORSCOPE_VERSION;

std::atomic<const char*> g_off_reason{nullptr};
}  // namespace

void switch_off(const char* why) {
  const char* none = nullptr;
  g_off_reason.compare_exchange_strong(none, why);
  g_state.store(State::off, std::memory_order_release);
  log(LogLevel::error, "recording is switched off: {}", why);
}

const char* off_reason() { return g_off_reason.load(std::memory_order_acquire); }

}  // namespace tensorscope
