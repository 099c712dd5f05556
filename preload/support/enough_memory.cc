#include "support/enough_memory.h"

#include <setjmp.h>

#include <new>

namespace tensorscope {

namespace {

struct WayOut {
  jmp_buf place;
  UndoneScope* scopes;  // those that stood when the work began
};

constinit thread_local WayOut* t_way_out = nullptr;
constinit thread_local UndoneScope* t_innermost = nullptr;

}  // namespace

UndoneScope::UndoneScope() : outer_(t_innermost) { t_innermost = this; }
UndoneScope::~UndoneScope() { t_innermost = outer_; }

// The handler of this library's own `operator new` alone: libstdc++ is linked statically and hidden.
void leave_work() {
  WayOut* const way_out = t_way_out;
  if (way_out == nullptr) {
    std::set_new_handler(nullptr);  // nobody to tell
    return;
  }
  while (t_innermost != way_out->scopes) {
    UndoneScope* const scope = t_innermost;
    t_innermost = scope->outer_;
    scope->undo();
  }
  longjmp(way_out->place, 1);
}

bool run_if_memory_lasts(void (*work)(void*), void* context) {
  std::set_new_handler(leave_work);
  WayOut* const outer = t_way_out;
  WayOut way_out;
  way_out.scopes = t_innermost;
  if (setjmp(way_out.place) != 0) {
    t_way_out = outer;
    return false;
  }
  t_way_out = &way_out;
  work(context);
  t_way_out = outer;
  return true;
}

}  // namespace tensorscope
