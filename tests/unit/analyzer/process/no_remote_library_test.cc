// Covers: analyzer/process/no_remote_library.cc
#include <gtest/gtest.h>

#include "process/remote_library.h"

namespace tensorscope::process {
namespace {

// A program of its own: the room has the other definition on x86-64.
TEST(OtherMachines, SayThatAttachDoesNotWorkThere) {
  EXPECT_EQ(attach_library({}), "attach works on x86-64 only; start the program with tensorscope run.");
}

}  // namespace
}  // namespace tensorscope::process
