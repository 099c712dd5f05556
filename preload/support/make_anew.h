// A room's state is one object, made anew in a forked child: a list of what has to be put back would forget what is
// added to the object later.
//
// Context: fork child, where no other thread is.
#pragma once

#include <new>
#include <type_traits>

namespace tensorscope {

template <typename State>
void make_anew(State& state) {
  static_assert(std::is_trivially_destructible_v<State>);
  new (&state) State();
}

}  // namespace tensorscope
