// SPDX-License-Identifier: Apache-2.0
// A library that does nothing, to stand for libtensorscope.so where only LD_PRELOAD itself is looked at.

[[gnu::section(".tensorscope.version"), gnu::used]] constexpr char kVersion[] = TENSORSCOPE_VERSION;

// Without a function the runtime of clang's counters complains, in every program that it is preloaded into.
extern "C" void tensorscope_does_nothing() {}
