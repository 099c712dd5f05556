// SPDX-License-Identifier: Apache-2.0
// dlopen() and dlclose() of the profiler's own, kept apart from fork (loader_walk.h): a child that is forked in the
// middle of another thread's dlopen() has a loader that is half done. glibc 2.36 unmaps /etc/ld.so.cache at the end of
// a dlopen() and then forgets where it lay; a child forked in between unmaps, in its own next dlopen(), what has come
// to lie there since.
//
// Context: as dlopen(), no HookScope needed. What the library's constructors wait for, a fork waits for, a second at
// most.
#pragma once

namespace tensorscope {

// Returns null where it cannot be opened, or where this process was forked in the middle of such a call.
void* load_library(const char* path, int flags);
void unload_library(void* library);

}  // namespace tensorscope
