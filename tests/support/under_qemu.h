// SPDX-License-Identifier: Apache-2.0
// qemu's user mode, in which `scripts/wheel --arch aarch64 --tests` runs the unit tests, lacks some of the kernel. A
// test that needs such a part is skipped there, and says which.
#pragma once

#include <cstdlib>

namespace tensorscope {

inline bool under_qemu() { return getenv("UNDER_QEMU") != nullptr; }

constexpr const char* kNoSafeReads = "qemu has no process_vm_readv";
constexpr const char* kNoOwnDescriptors = "qemu makes no thread with descriptors of its own";
constexpr const char* kNoOpenat2 = "qemu has no openat2, without which no symbolic link is followed";
constexpr const char* kOwnHandlers = "in /proc every signal of a process under qemu has a handler: qemu's";

}  // namespace tensorscope
