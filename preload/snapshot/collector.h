// The collector: the profiler's one helper thread, and the only one that writes dumps (but for out-of-memory).
// It starts when torch appears in the process, blocks all signals and sleeps until a dump is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::snapshot {

enum class Reason : uint8_t { signal = 1, exit = 2, call = 3 };  // = dump::Trigger

// Context: activation. False: no thread could be made; signals and exit then write no dump, and coverage says so.
bool start_collector();

// Context: signal handler, or any. Asks for one more dump; requests that come during a dump lead to one more after it.
void request_from_signal();

// Context: any thread but the collector, no HookScope. Writes a dump and waits for its end; the caller must not hold
// the GIL (python/bridge.h releases it). `path_out` may be null. Returns TENSORSCOPE_OK or _FAILED (tensorscope.h).
// `detail` ends up in the dump ("exit status 3").
int request_and_wait(Reason reason, const char* detail, char* path_out, size_t path_size);

// Around fork (called by hooks/process.cc from pthread_atfork handlers).
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace tensorscope::snapshot
