#include "snapshot/fork_gate.h"

#include <pthread.h>
#include <time.h>

namespace tensorscope::snapshot {

namespace {
pthread_mutex_t g_gate = PTHREAD_MUTEX_INITIALIZER;
}  // namespace

void lock_fork_gate() { pthread_mutex_lock(&g_gate); }
void unlock_fork_gate() { pthread_mutex_unlock(&g_gate); }

bool lock_fork_gate_for_fork() {
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 10;
  return pthread_mutex_timedlock(&g_gate, &deadline) == 0;
}

void reset_fork_gate_in_child() { g_gate = PTHREAD_MUTEX_INITIALIZER; }

}  // namespace tensorscope::snapshot
