// SPDX-License-Identifier: Apache-2.0
#include "process/call_site.h"

#include <cstring>

namespace tensorscope::process {

namespace {

#if defined(__x86_64__)

constexpr uint8_t kDirectCall = 0xe8, kIndirect = 0xff, kCallFromTable = 0x15, kJumpFromTable = 0x25;

int32_t number_at(const uint8_t* bytes) {
  int32_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

uint64_t entry_of_table(uint64_t at, const ReadMemory& read) {
  uint64_t function = 0;
  return read(at, &function, sizeof function) ? function : 0;
}

// A linker's stub jumps to where an entry of its table points to. What it may do before: endbr64, mov $number, %r11d,
// and a prefix of the jump.
uint64_t behind_stub(uint64_t stub, const ReadMemory& read) {
  static constexpr uint8_t kBranchTarget[] = {0xf3, 0x0f, 0x1e, 0xfa}, kNumber[] = {0x41, 0xbb};
  constexpr uint8_t kBound = 0xf2;
  uint8_t code[16];
  if (!read(stub, code, sizeof code)) return 0;
  size_t i = 0;
  if (memcmp(code, kBranchTarget, sizeof kBranchTarget) == 0) i += sizeof kBranchTarget;
  if (memcmp(code + i, kNumber, sizeof kNumber) == 0) i += sizeof kNumber + 4;
  if (code[i] == kBound) ++i;
  if (i + 6 > sizeof code || code[i] != kIndirect || code[i + 1] != kJumpFromTable) return 0;
  return entry_of_table(stub + i + 6 + uint64_t(int64_t{number_at(code + i + 2)}), read);
}
#endif

}  // namespace

#if defined(__x86_64__)
uint64_t called_function(uint64_t return_address, const ReadMemory& read) {
  uint8_t call[6];
  if (!read(return_address - sizeof call, call, sizeof call)) return 0;
  const uint64_t target = return_address + uint64_t(int64_t{number_at(call + 2)});
  if (call[0] == kIndirect && call[1] == kCallFromTable) return entry_of_table(target, read);
  if (call[1] != kDirectCall) return 0;
  const uint64_t behind = behind_stub(target, read);
  return behind != 0 ? behind : target;
}
#else
uint64_t called_function(uint64_t, const ReadMemory&) { return 0; }
#endif

}  // namespace tensorscope::process
