// SPDX-License-Identifier: Apache-2.0
#include "activity.h"

#include <atomic>

#include "fake_device.h"

namespace fake_cuda {

namespace {

std::atomic<const Listener*> g_listener{nullptr};
std::atomic<uint32_t> g_correlations{0};
thread_local uint32_t t_correlation = 0;
thread_local int t_depth = 0;

}  // namespace

void set_listener(const Listener* listener) { g_listener.store(listener); }

Call::Call(Api api, CallId id, const char* name, const void* parameters)
    : listener_(g_listener.load()), api_(api), id_(id), name_(name), parameters_(parameters) {
  if (t_depth++ == 0) t_correlation = ++g_correlations;
  if (listener_) listener_->call(true, api_, id_, name_, parameters_, nullptr, t_correlation);
}

Call::~Call() {
  if (listener_) listener_->call(false, api_, id_, name_, parameters_, &result_, t_correlation);
  --t_depth;
}

int Call::returns(int result) { return result_ = result; }

void Call::allocated(const void* address, size_t nbytes, int memory_kind, bool asynchronous) const {
  if (listener_) {
    listener_->memory(true, address, nbytes, memory_kind, asynchronous, current_device(), t_correlation);
  }
}
void Call::released(const void* address, size_t nbytes, int memory_kind, bool asynchronous) const {
  if (listener_) {
    listener_->memory(false, address, nbytes, memory_kind, asynchronous, current_device(), t_correlation);
  }
}
void Call::launched() const {
  if (listener_) listener_->kernel(current_device(), t_correlation);
}
void Call::copied(int kind, size_t nbytes) const {
  if (listener_) listener_->copy(kind, nbytes, current_device(), t_correlation);
}
void Call::filled(size_t nbytes) const {
  if (listener_) listener_->fill(nbytes, current_device(), t_correlation);
}

}  // namespace fake_cuda
