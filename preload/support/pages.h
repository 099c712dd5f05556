// SPDX-License-Identifier: Apache-2.0
// Memory straight from the system, in whole pages, with an account of it.
//
// Context: any but signal handlers. Lock-free; errno is left as it was.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope {

// Zeroed and readable and writable; `bytes` is rounded up to pages. Null where the system has none.
void* map_pages(size_t bytes);
// As map_pages, but every page is there before it returns: no page fault later.
void* map_pages_now(size_t bytes);
// Other, more bytes at perhaps another place; what is new is zeroed. Null: the old pages stay as they are.
void* remap_pages(void* pages, size_t bytes, size_t more_bytes);
// `bytes` as given to map_pages. Null is ignored.
void unmap_pages(void* pages, size_t bytes);

// Mapped by map_pages and not unmapped yet.
uint64_t mapped_bytes();

}  // namespace tensorscope
