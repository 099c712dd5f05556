// SPDX-License-Identifier: Apache-2.0
// Nothing captures a stack here, and native frames are those of fake_frames.h. For one file of a test program.
#pragma once

#include "stacks/capture.h"
#include "support/fake_frames.h"

namespace tensorscope::stacks {

size_t native_frame_count() { return g_native.size(); }
NativeFrame native_frame(StackId id) { return g_native[id]; }
Stack capture(uint64_t, HookFrame) { return {}; }
bool python_is_still(StackId) { return false; }
StackId capture_python_part() { return 0; }
Stack capture_native_part(StackId) { return {}; }
Stack capture_in_any_case() { return {}; }
void stop_capturing() {}
void start_capturing() {}
NotRecorded not_recorded() { return {}; }

}  // namespace tensorscope::stacks
