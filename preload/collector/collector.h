// The collector: the profiler's one helper thread, and the only one that writes dumps (but for out-of-memory).
// It starts when torch appears in the process, blocks all signals and sleeps on a futex until a dump is asked for: a
// program may close every descriptor, but not a word of memory.
//
// One dump serves every signal that came before it began, and a signal that comes later leads to one more, so no
// request is lost and a hundred signals do not make a hundred dumps. Dumps that somebody waits for are written one by
// one.
//
// A client that does not want to send a signal creates a request file, which the collector thread polls once a second
// (request_file.h).
//
// fork: the child has a collector of its own from its first moment, since an idle child (a DataLoader worker) can be
// asked for a dump by nothing but a signal, whose handler cannot make a thread. In a child that only calls exec the
// thread costs about 50 us and vanishes. CPython 3.12 and newer warn in os.fork() when the process has more than one
// thread (Modules/posixmodule.c, warn_about_fork_with_threads): where the collector is idle and the only second thread,
// it ends before the fork, until the kernel counts it no more (support/ended_threads.h), and is started again after
// os.fork() has returned (fork_restart.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dump/reason.h"
#include "support/ids.h"

namespace tensorscope::dump {
struct Failure;
}

namespace tensorscope::collector {

using dump::Reason;

// Context: activation. False: no thread could be made; exit and call dumps are then written by the asking thread,
// signals write none.
bool start_collector();

// Whether what torch calls arrives at the hooks (hooks/self_check.h): a dump looks again, and reads torch's objects
// only where their destruction is seen. Context: activation, before start_collector().
struct HookCheck {
  void (*run)();
  bool (*destruction_is_seen)();
};
void set_hook_check(const HookCheck& check);

// Context: signal handler, or any. Asks for one more dump; requests that come during a dump lead to one more after it.
void request_from_signal();

// Context: any thread but the collector, no HookScope. Writes a dump and waits for its end, with the GIL given up
// meanwhile where the caller holds it. `path_out` may be null. Returns TENSORSCOPE_OK or _FAILED (tensorscope.h).
// `detail` ends up in the dump ("exit status 3"), or instead of it the place of `site`, the call that asks.
int request_and_wait(Reason reason, const char* detail, char* path_out, size_t path_size, SiteId site = 0);

// Context: as request_and_wait(). Has the collector call `work`, and waits.
void run_and_wait(void (*work)());
// The same by the thread that ends the program: the GIL stays as it is, since the interpreter may be gone.
void run_at_the_end(void (*work)());

// Context: the failing thread, under its HookScope. Writes a dump of reason out_of_memory and waits for its end. Where
// the thread holds the GIL it lends it (python/gil_thread.h) and never releases it: it may hold a lock of torch.
// False: no dump was written.
bool write_failure(const dump::Failure& failure);

// Context: hook, perhaps under the lock of a device's allocator. Asks for a dump at growth; as with signals, one serves
// all that ask before it begins.
void request_at_growth();

// Context: hook, under its HookScope. As write_failure(), for a limit that is near (reason low_memory): waits as long
// as this at most, since the program could go on. One at a time: nothing happens while another thread waits.
void write_near_limit(const dump::Failure& near, unsigned milliseconds);

// Has the collector look at what there is to do. Any context.
void wake_collector();

// For a call that wants a process with one thread, and before a filter of system calls for all threads: the profiler's
// threads end as soon as they have nothing to do, so many milliseconds later at the latest. False: they did not, and
// all is as it was. Context: a thread of the program.
bool suspend(unsigned patience_ms = 1000);
void resume();

// Around fork (called by hooks/process/fork.cc from pthread_atfork handlers, before the tables' own).
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// Writes a dump: dump.h's write_dump, or what a test puts in its place before start_collector().
struct DumpRequest;
using DumpFunction = bool (*)(const DumpRequest& request, char* path, size_t path_size);
void set_dump_function_for_test(DumpFunction function);

}  // namespace tensorscope::collector
