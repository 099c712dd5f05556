// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/process/no_remote_library.cc
#include <gtest/gtest.h>

#include "process/remote_library.h"
#include "support/error.h"

namespace tensorscope::process {
namespace {

// A program of its own: the room has the other definition on x86-64.
TEST(OtherMachines, SayThatAttachDoesNotWorkThere) {
  try {
    attach_library({});
    FAIL();
  } catch (const analyzer::ProcessError& error) {
    EXPECT_STREQ(error.what(), "attach works on x86-64 only; start the program with tensorscope run.");
  }
}

}  // namespace
}  // namespace tensorscope::process
