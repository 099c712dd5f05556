// SPDX-License-Identifier: Apache-2.0
// A function, or an object that is called like one, which a function calls while it runs itself: two words, passed in
// registers, and nothing is allocated.
//
//     void each_tensor(const Value& value, FunctionRef<void(const void* impl)> visit);
//     each_tensor(value, [&](const void* impl) { ++count; });
//
// It refers to the caller's object. So it is a parameter, or a field of what does not outlive the call: a lambda that
// is written where it is passed is gone at the end of that statement.
//
// Context: any; what it refers to decides.
#pragma once

#include <type_traits>
#include <utility>

namespace tensorscope {

template <typename Callable, typename Reference, typename Result, typename... Arguments>
concept CalledLike = std::is_object_v<std::remove_reference_t<Callable>> &&  // a function has a constructor of its own
                     !std::is_same_v<std::remove_cvref_t<Callable>, Reference> &&
                     std::is_invocable_r_v<Result, Callable&, Arguments...>;

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  FunctionRef(Result (*function)(Arguments...))
      : referent_(reinterpret_cast<void*>(function)), call_([](void* referent, Arguments... arguments) -> Result {
          return reinterpret_cast<Result (*)(Arguments...)>(referent)(std::forward<Arguments>(arguments)...);
        }) {}

  template <CalledLike<FunctionRef, Result, Arguments...> Callable>
  FunctionRef(Callable&& callable)
      : referent_(const_cast<void*>(static_cast<const void*>(&callable))),
        call_([](void* referent, Arguments... arguments) -> Result {
          auto& callable = *static_cast<std::remove_reference_t<Callable>*>(referent);
          return static_cast<Result>(callable(std::forward<Arguments>(arguments)...));
        }) {}

  Result operator()(Arguments... arguments) const { return call_(referent_, std::forward<Arguments>(arguments)...); }

 private:
  void* referent_;
  Result (*call_)(void* referent, Arguments... arguments);
};

}  // namespace tensorscope
