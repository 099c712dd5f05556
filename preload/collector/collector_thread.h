// SPDX-License-Identifier: Apache-2.0
// The collector thread's life: how it begins, waits for a job, ends for a fork and begins again; and the queue of
// threads that wait for it.
//
// fork: the child has a collector of its own from its first moment, since an idle child (a DataLoader worker) can be
// asked for a dump by nothing but a signal, whose handler cannot make a thread. In a child that only calls exec the
// thread costs about 50 us and vanishes. CPython 3.12 and newer warn in os.fork() when the process has more than one
// thread (Modules/posixmodule.c, warn_about_fork_with_threads): where the collector is idle and the only second thread,
// it ends before the fork, until the kernel counts it no more (support/ended_threads.h), and is started again after
// os.fork() has returned (fork_restart.h).
#pragma once

namespace tensorscope::collector {

struct Waiter;

// Context: activation. False: no thread could be made; exit and call dumps are then written by the asking thread,
// signals write none.
bool start_collector();

// Has the collector do what the waiter wants (jobs.h), and starts the thread if need be. False: there is no collector.
// Context: any thread but the collector.
bool queue(Waiter& waiter);

// For a call that wants a process with one thread, and before a filter of system calls for all threads: the profiler's
// threads end as soon as they have nothing to do, so many milliseconds later at the latest. False: they did not, and
// all is as it was. Context: a thread of the program.
bool suspend(unsigned patience_ms = 1000);
void resume();

// Around fork (called by hooks/process/fork.cc from pthread_atfork handlers, before the tables' own).
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace tensorscope::collector
