// SPDX-License-Identifier: Apache-2.0
// Tells clang which lock guards what (-Wthread-safety, run by scripts/lint); other compilers see nothing.
//
// A member or variable with GUARDED_BY(lock) is touched only with that lock held, a function with REQUIRES(lock) is
// called only so. What this does not find: a SpinLock that could not be had. A SpinGuard counts as holding its lock;
// that its bool was checked is left to the reader. The GIL needs none of this: Gil& is the proof that it is held
// (python/interpreter.h). Data that one lock of many guards, each its own shard's, have no declaration either
// (live/address_table.h).
//
// Context: none, nothing is compiled.
#pragma once

#ifdef __clang__
#define TENSORSCOPE_ANNOTATION(what) __attribute__((what))
#else
#define TENSORSCOPE_ANNOTATION(what)
#endif

#define CAPABILITY(name) TENSORSCOPE_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY TENSORSCOPE_ANNOTATION(scoped_lockable)
#define GUARDED_BY(lock) TENSORSCOPE_ANNOTATION(guarded_by(lock))
#define POINTEE_GUARDED_BY(lock) TENSORSCOPE_ANNOTATION(pt_guarded_by(lock))
#define REQUIRES(...) TENSORSCOPE_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) TENSORSCOPE_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) TENSORSCOPE_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) TENSORSCOPE_ANNOTATION(release_capability(__VA_ARGS__))
#define EXCLUDES(...) TENSORSCOPE_ANNOTATION(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS TENSORSCOPE_ANNOTATION(no_thread_safety_analysis)  // with the reason
