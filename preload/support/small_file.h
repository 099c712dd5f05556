// SPDX-License-Identifier: Apache-2.0
// Reads a small file of /proc or /sys whole, by system calls alone: no stdio, no malloc, no cancellation point of
// threads. No number of the program's descriptor table is taken (private_descriptor_table.h).
//
// Context: any but signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope {

// At most size-1 bytes and a terminating zero; returns the number of bytes, 0 where the file cannot be read.
size_t read_small_file(const char* path, char* buffer, size_t size);
// The same of any file. Returns errno, or 0; `length` is set in any case.
int read_file(const char* path, char* buffer, size_t size, size_t& length);

// The number behind `key` in text of lines "key   number ...", 0 if it is not there.
uint64_t number_after(const char* text, const char* key);
// The same; false, and `number` as it was, if it is not there.
bool find_number(const char* text, const char* key, uint64_t& number);

// Field `field` of /proc/PID/stat (proc(5): from 4 on, numbers), 0 where it cannot be read.
uint64_t read_stat(const char* path, int field);

}  // namespace tensorscope
