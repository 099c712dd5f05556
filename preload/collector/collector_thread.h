// The collector thread's life: how it begins, waits for a job, ends for a fork and begins again (collector.h says when
// and why); and the queue of threads that wait for it.
#pragma once

#include "collector/jobs.h"

namespace tensorscope::collector {

// Has the collector do what the waiter wants, and starts the thread if need be. False: there is no collector. Context:
// any thread but the collector.
bool queue(Waiter& waiter);

}  // namespace tensorscope::collector
