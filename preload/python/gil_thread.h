// SPDX-License-Identifier: Apache-2.0
// The GIL with a time limit. PyGILState_Ensure() blocks without bound, and never returns once the interpreter is being
// finalized; so a short-lived thread of its own takes the GIL, and who asked waits no longer than it wants to.
//
// A thread that waits for a dump and may not give the GIL up meanwhile lends it (LentGil): it runs the jobs itself.
//
// The thread exists only while a job waits or runs. It has a Python thread state but no threading.Thread object, is
// traced by nobody, and blocks all signals. It has the program's descriptors and opens nothing: a job that needs a file
// asks for it by with_private_descriptors().
#pragma once

#include <atomic>
#include <cstdint>

#include "python/interpreter.h"

namespace tensorscope::python {

// A point on the monotonic clock, in nanoseconds.
struct Deadline {
  uint64_t ns;
  static Deadline in_ms(unsigned ms);
  static constexpr Deadline never() { return {UINT64_MAX}; }
  bool passed() const;
};

// Work for the thread that holds the GIL. Made with new; see run_with_gil() for who deletes it.
class GilJob {
 public:
  virtual ~GilJob() = default;
  virtual void run(const Gil& gil) = 0;

 private:
  friend class GilQueue;
  enum class Stage : uint8_t { waiting, running, done } stage_ = Stage::waiting;
  bool abandoned_ = false;
  bool memory_lasted_ = true;
  uint64_t began_ns_ = 0;
  GilJob* next_ = nullptr;
};

enum class GilOutcome : uint8_t {
  done,
  no_gil,     // the time was up before the GIL was free; the job will never run
  stuck,      // the job was still running well after its time was up
  no_memory,  // the job was left in the middle
  no_thread,  // no thread could be made
};

// Context: collector, without the GIL, no table lock held. Runs the job on the thread above, once it has the GIL by
// `deadline`. Where the outcome is not `stuck` the job is the caller's again; where it is `stuck` the thread deletes
// it. A job ends itself within `run_ms` from its beginning.
GilOutcome run_with_gil(GilJob* job, Deadline deadline, unsigned run_ms);

// The same without waiting, and without a limit on the wait for the GIL. The thread deletes the job. False: no thread
// could be made, and the job has been deleted.
bool post_with_gil(GilJob* job);

// For a thread that holds the GIL and perhaps a lock of torch for which others wait while they hold the GIL: one that
// fails with an out-of-memory error. Until it continues it runs the jobs of run_with_gil() on itself, where nothing of
// the program can run in between; what post_with_gil() was given still waits for the GIL. Context: any thread of the
// program under an InsideScope or HookScope, in no job.
class LentGil {
 public:
  LentGil();  // does nothing on a thread without the GIL
  ~LentGil();
  LentGil(const LentGil&) = delete;
  LentGil& operator=(const LentGil&) = delete;
  explicit operator bool() const { return lent_; }

  // Runs jobs until `done` is not 0 or the time is up. Who changes it calls wake_lender() afterwards.
  void run_jobs_until(const std::atomic<uint32_t>& done, Deadline deadline = Deadline::never());

 private:
  bool lent_;
};
void wake_lender();

}  // namespace tensorscope::python
