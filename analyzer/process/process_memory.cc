// SPDX-License-Identifier: Apache-2.0
#include "process/process_memory.h"

#include <sys/uio.h>

namespace tensorscope::process {

size_t read_memory(pid_t process, uint64_t address, void* bytes, size_t size) {
  iovec ours{bytes, size}, theirs{reinterpret_cast<void*>(address), size};
  const ssize_t read = process_vm_readv(process, &ours, 1, &theirs, 1, 0);
  return read > 0 ? size_t(read) : 0;
}

bool write_memory(pid_t process, uint64_t address, const void* bytes, size_t size) {
  iovec ours{const_cast<void*>(bytes), size}, theirs{reinterpret_cast<void*>(address), size};
  return process_vm_writev(process, &ours, 1, &theirs, 1, 0) == ssize_t(size);
}

}  // namespace tensorscope::process
