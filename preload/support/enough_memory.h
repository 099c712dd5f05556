// Work that may find no memory. This library is built without exceptions, so a failed `new` would end the program;
// inside run_if_memory_lasts() it ends the work instead.
//
// Context: any thread but hooks and signal handlers.
#pragma once

namespace tensorscope {

// What must be undone also where work is left in the middle (a reference, a setting): on the stack, as any scope.
class UndoneScope {
 public:
  UndoneScope(const UndoneScope&) = delete;
  UndoneScope& operator=(const UndoneScope&) = delete;
  // Instead of the destructor, while the stack is still whole.
  virtual void undo() = 0;

 protected:
  UndoneScope();
  ~UndoneScope();

 private:
  friend bool run_if_memory_lasts(void (*work)(void*), void* context);
  friend void leave_work();
  UndoneScope* outer_;
};

// Calls work(context). False: memory ran out, and the work was left where it was. No destructor of its frames ran but
// for UndoneScopes: the memory it held is lost, and it must hold no lock where it allocates (neither the loader's, in
// dl_iterate_phdr). May be nested: the innermost work is left.
bool run_if_memory_lasts(void (*work)(void* context), void* context);

template <typename Work>
bool run_if_memory_lasts(Work&& work) {
  return run_if_memory_lasts([](void* context) { (*static_cast<decltype(&work)>(context))(); }, &work);
}

}  // namespace tensorscope
