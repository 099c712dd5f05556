// SPDX-License-Identifier: Apache-2.0
// Reads CUPTI's activity records into the tables, and lends CUPTI the buffers that it writes them to.
//
// Context: the two callbacks run on CUPTI's thread, or on one that flushes, under an InsideScope; no malloc. Bounded:
// kBuffers buffers of kBufferBytes, made when they are first needed. If CUPTI requests one more it gets none, drops
// records and counts them.
#pragma once

#include <cstdint>

#include "devices/cupti/cupti_api.h"

namespace tensorscope::cupti {

inline constexpr size_t kBuffers = 24;
inline constexpr size_t kBufferBytes = size_t{1} << 20;  // what NVIDIA's samples use at least

// The library whose records are read. Before the callbacks are registered.
void set_record_functions(const Functions& functions);

// One record of any kind and version.
void read_record(const uint8_t* record);

void on_buffer_request(uint8_t** buffer, size_t* size, size_t* most_records);
void on_buffer_complete(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid_size);

}  // namespace tensorscope::cupti
