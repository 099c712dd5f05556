// SPDX-License-Identifier: Apache-2.0
// Where the threads were: shared objects, code, frames, sites, threads, and which module runs which frames.
#pragma once

namespace tensorscope::format {
struct Codes;
struct Names;
struct NativeFrames;
struct PythonFrames;
struct SharedObjects;
struct Sites;
struct Threads;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_shared_objects(const format::SharedObjects& in, Decoding& state);
void decode_codes(const format::Codes& in, Decoding& state);
void decode_native_frames(const format::NativeFrames& in, Decoding& state);
void decode_python_frames(const format::PythonFrames& in, Decoding& state);
void decode_sites(const format::Sites& in, Decoding& state);
void decode_threads(const format::Threads& in, Decoding& state);
void decode_names(const format::Names& in, Decoding& state);

void finish_codes_and_threads(Decoding& state);
// After the codes.
void finish_stacks(Decoding& state);

}  // namespace tensorscope::analyzer
