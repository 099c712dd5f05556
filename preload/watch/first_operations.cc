#include "watch/first_operations.h"

#include <utility>

#include "python/method.h"
#include "python/named_tensors.h"
#include "python/objects.h"
#include "support/state.h"
#include "torch/metadata/torch_functions.h"
#include "watch/backward_calls.h"

namespace tensorscope::watch {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;

// With different numbers of arguments and results. Those with gradients save no tensor: hooks of the program for what
// is saved (a checkpoint's) would be called.
constexpr char kFirstSource[] = R"(
def tensorscope_first_operations():
    if hasattr(torch._C, '_len_torch_dispatch_stack') and torch._C._len_torch_dispatch_stack() != 0:
        return False
    functorch = getattr(torch._C, '_functorch', None)
    if functorch is not None and functorch.peek_interpreter_stack() is not None:
        return False
    if torch.is_inference_mode_enabled() or torch._C._get_tracing_state() is not None:
        return False
    enabled = torch.is_grad_enabled()
    torch._C._set_grad_enabled(True)
    try:
        with torch._C.DisableTorchFunction():
            x = torch.ones((2, 3), dtype=torch.float32, device='cpu')
            for operation, arguments in ((x.exp, ()), (x.add, (x,)), (x.max, (0,)), (x.mul, (x,)), (x.clamp, (0, 1)), (x.sum, ())):
                operation(*arguments)
            x.requires_grad_()
            for operation in (x.t, x.neg, x.sum, x.t, x.neg, x.sum):
                made(operation())
    finally:
        torch._C._set_grad_enabled(enabled)
    return True
)";

Object* node_made(Object*, Object* tensor) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  const InsideScope inside;
  static torch::TorchFunctions functions;
  const void* const impl = python::live_tensor(gil, tensor).impl;
  if (impl && torch::resolve_torch_functions(functions) && functions.grad_fn) {
    if (const void* node = functions.grad_fn(&impl)) learn_from_new_node(node);
  }
  return python::new_none(api);
}

python::MethodDefinition g_node_made = {"made", node_made, python::kOneArgument, nullptr};

// For good: it may be called again. Null: it could not be made.
Object* make_function(const Gil& gil, Object* torch) {
  Object* globals = gil->PyDict_New();
  const Owned made(gil, gil->PyCFunction_NewEx(&g_node_made, nullptr, nullptr));
  if (!torch || !globals || !made || gil->PyDict_SetItemString(globals, "torch", torch) != 0 ||
      gil->PyDict_SetItemString(globals, g_node_made.name, made.get()) != 0 ||
      !python::run_own_source(gil, kFirstSource, globals)) {
    gil->PyErr_Clear();
    return nullptr;
  }
  return python::entry(gil, globals, "tensorscope_first_operations");
}

}  // namespace

bool run_first_operations(const Gil& gil, Object* torch) {
  static Object* const function = make_function(gil, torch);
  if (!function) return true;
  // As the program's own: the tables of what is alive know these tensors.
  const uint32_t inside = std::exchange(t_inside, 0);
  const Owned done(gil, gil->PyObject_CallFunctionObjArgs(function, nullptr));
  t_inside = inside;
  if (!done) gil->PyErr_Clear();
  return !done || gil->PyObject_IsTrue(done.get()) == 1;
}

}  // namespace tensorscope::watch
