// SPDX-License-Identifier: Apache-2.0
// The last error of each thread, which cudaGetLastError and cudaPeekAtLastError tell.
#pragma once

namespace fake_cuda {

int fail(int error);  // remembers it, and returns it
int& last_error();

}  // namespace fake_cuda
