// SPDX-License-Identifier: Apache-2.0
// Command lines without their secrets: a dump is mailed, attached to an issue, kept on a shared disk.
//
// Context: activation. No malloc.
#pragma once

#include <cstddef>

namespace tensorscope {

// Puts "***" in the place of what looks like a secret, and returns the new size, which is no larger. `arguments` holds
// zero-terminated strings one after the other, as /proc/self/cmdline does. Secrets are, guessed by names and forms:
// the values of options and of NAME=VALUE whose name has a word such as password, secret or token, or ends with "api
// key" or the like; passwords in URLs and such parameters behind them; what begins as keys of well-known services do.
size_t star_secrets(char* arguments, size_t size);

}  // namespace tensorscope
