#include "find_nan/device_checks.h"

#include <string.h>

#include <atomic>
#include <string>

#include "python/interpreter.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/unseen_work.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "support/state.h"

namespace tensorscope::find_nan {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;

// The largest magnitude is not finite where any element is not. One kernel for each tensor, no memory but a number that
// is kept for it, no random numbers, nothing in the graph. While a CUDA graph is captured, or something else than plain
// torch runs (torch.compile, vmap, a dispatch mode), nothing is done.
constexpr char kDeviceHooks[] = R"(
import atexit, math, os, warnings, weakref
tensorscope_most = 1024
tensorscope_numbers, tensorscope_used, tensorscope_waiting, tensorscope_modules = {}, {}, [], {}
tensorscope_state = {'step': 0, 'on': True, 'pid': os.getpid()}
def tensorscope_is_on_device(tensor):
    return tensor.device.type not in ('cpu', 'meta')
def tensorscope_can_check(tensor):
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensorscope_is_on_device(tensor) and tensor.layout == torch.strided
            and (tensor.is_floating_point() or tensor.is_complex()) and tensor.element_size() > 1 and tensor.numel() != 0
            and not tensor.is_conj())
def tensorscope_may_check():
    compiler = getattr(torch, 'compiler', None)
    if not tensorscope_state['on'] or (hasattr(compiler, 'is_compiling') and compiler.is_compiling()):
        return False
    if hasattr(torch._C, '_len_torch_dispatch_stack') and torch._C._len_torch_dispatch_stack() != 0:
        return False
    functorch = getattr(torch._C, '_functorch', None)
    if functorch is not None and functorch.peek_interpreter_stack() is not None:
        return False
    return not (torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())
def tensorscope_check(tensor, owner, parameter):
    wide = torch.float64 if tensor.dtype in (torch.float64, torch.complex128) else torch.float32
    key = tensor.device, wide
    if key not in tensorscope_numbers:
        nothing = torch.full((tensorscope_most,), math.nan, dtype=wide, device='cpu')
        tensorscope_numbers[key] = nothing.to(tensor.device)
    if tensorscope_used.setdefault(key, 0) == tensorscope_most:
        tensorscope_read()
    index = tensorscope_used[key]
    tensorscope_used[key] = index + 1
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    torch.linalg.vector_norm(tensor, math.inf, dtype=wide, out=tensorscope_numbers[key][index])
    tensorscope_waiting.append((owner, parameter, tensorscope_state['step'], key, index))
def tensorscope_read():
    used = {key: numbers[:tensorscope_used[key]].tolist() for key, numbers in tensorscope_numbers.items()}
    waiting = list(tensorscope_waiting)
    tensorscope_waiting.clear()
    for key in tensorscope_used:
        tensorscope_used[key] = 0
    for owner, parameter, step, key, index in waiting:
        if tensorscope_state['on'] and not math.isfinite(used[key][index]):
            tensorscope_state['on'] = False
            owner, name = (owner, '') if parameter is None else tensorscope_owner(parameter)
            found(owner, name, step, math.isnan(used[key][index]))
    checked(len(waiting))
# In a forked child what waits is the parent's, and lies on a device that the child cannot use.
def tensorscope_forget_the_parents():
    if tensorscope_state['pid'] != os.getpid():
        tensorscope_numbers.clear(), tensorscope_used.clear(), tensorscope_waiting.clear()
        tensorscope_state.update(step=0, pid=os.getpid())
def tensorscope_safely(work):
    if not tensorscope_may_check():
        return
    tensorscope_forget_the_parents()
    unseen_begins()
    try:
        with torch._C.DisableTorchFunction(), torch.inference_mode(False), torch.no_grad():
            work()
    except Exception as error:
        tensorscope_state['on'] = False
        failed(str(error)[:200])
    finally:
        unseen_ends()
def tensorscope_tensors(value, depth):
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 4 and isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensorscope_tensors(each, depth + 1)
def tensorscope_module_ends(module, arguments, result):
    def work():
        for tensor in tensorscope_tensors(result, 0):
            if tensorscope_can_check(tensor):
                if tensorscope_modules.get(id(module), lambda: None)() is not module:
                    tensorscope_modules[id(module)] = weakref.ref(module)
                tensorscope_check(tensor, id(module), None)
    tensorscope_safely(work)
def tensorscope_owner(parameter):
    for reference in list(tensorscope_modules.values()):
        module = reference()
        for name, own in module._parameters.items() if module is not None else ():
            if own is parameter:
                return id(module), name
    return 0, '?'
def tensorscope_computes_gradients(arguments, keywords):
    return any(callable(each) for each in (*arguments[1:2], keywords.get('closure')))
def tensorscope_check_gradients(optimizer):
    def work():
        for group in optimizer.param_groups:
            for parameter in group['params']:
                if parameter.grad is not None and tensorscope_can_check(parameter.grad):
                    tensorscope_check(parameter.grad, 0, parameter)
        tensorscope_read()
    tensorscope_safely(work)
def tensorscope_step_begins(optimizer, arguments, keywords):
    if not tensorscope_computes_gradients(arguments, keywords):
        tensorscope_check_gradients(optimizer)
def tensorscope_step_ends(optimizer, arguments, keywords):
    if tensorscope_computes_gradients(arguments, keywords):
        tensorscope_check_gradients(optimizer)
    tensorscope_state['step'] += 1
if hasattr(optimizer, 'register_optimizer_step_post_hook'):
    optimizer.register_optimizer_step_pre_hook(tensorscope_step_begins)
    optimizer.register_optimizer_step_post_hook(tensorscope_step_ends)
module.register_module_forward_hook(tensorscope_module_ends)
atexit.register(tensorscope_safely, tensorscope_read)
warnings.filterwarnings('ignore', message='Using `torch.compile.module.` when there are global hooks', category=UserWarning)
)";

enum class State : uint8_t { off, asked, running, given_up };
constinit std::atomic<State> g_device_state{State::off};
// The hooks stay in a forked child, as all of Python's objects do.
struct DeviceChecks {
  std::atomic<uint64_t> count{0};
};
constinit DeviceChecks g_device_checks;
FreshInChild g_fresh_device_checks{g_device_checks};
void (*g_device_found)(const DeviceFinding&) = nullptr;

// module, parameter, step, whether it is a NaN
Object* found_on_device(Object*, Object* arguments) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  constexpr ptrdiff_t kArgumentsOfFound = 4;
  if (api.PyTuple_Size(arguments) == kArgumentsOfFound) {
    DeviceFinding finding;
    finding.module = uint64_t(api.PyLong_AsLongLong(api.PyTuple_GetItem(arguments, 0)));
    finding.parameter = python::text_of(gil, api.PyTuple_GetItem(arguments, 1)).data();
    finding.gradient = *finding.parameter != 0;
    finding.step = uint32_t(api.PyLong_AsLongLong(api.PyTuple_GetItem(arguments, 2)));
    finding.nan = api.PyObject_IsTrue(api.PyTuple_GetItem(arguments, 3)) == 1;
    g_device_found(finding);
  }
  return python::new_none(api);
}

Object* checked_on_device(Object*, Object* count) {
  const Api& api = *python::known_interpreter();
  g_device_checks.count.fetch_add(uint64_t(api.PyLong_AsLongLong(count)), std::memory_order_relaxed);
  return python::new_none(api);
}

Object* failed_on_device(Object*, Object* text) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  say("--find-nan: tensors on devices are no longer checked: %s", std::string(python::text_of(gil, text)).c_str());
  return python::new_none(api);
}

python::MethodDefinition g_found_method = {"found", found_on_device, python::kArguments, nullptr};
python::MethodDefinition g_checked_method = {"checked", checked_on_device, python::kOneArgument, nullptr};
python::MethodDefinition g_failed_method = {"failed", failed_on_device, python::kOneArgument, nullptr};

bool register_device_hooks(const Gil& gil) {
  Object* modules = gil->PyImport_GetModuleDict();
  const Owned globals(gil, gil->PyDict_New());
  bool done = globals && modules;
  for (const char* const name : {"torch", "torch.nn.modules.module", "torch.optim.optimizer"}) {
    Object* module = done ? python::entry(gil, modules, name) : nullptr;
    const char* const last = strrchr(name, '.');
    done = module && gil->PyDict_SetItemString(globals.get(), last ? last + 1 : name, module) == 0;
  }
  for (python::MethodDefinition* method :
       {&g_found_method, &g_checked_method, &g_failed_method, &python::g_unseen_begins, &python::g_unseen_ends}) {
    const Owned function(gil, done ? gil->PyCFunction_NewEx(method, nullptr, nullptr) : nullptr);
    done = function && gil->PyDict_SetItemString(globals.get(), method->name, function.get()) == 0;
  }
  return done && python::run_own_source(gil, kDeviceHooks, globals.get());
}

// On the main thread, between two of its instructions.
int register_at_next_chance(void*) {
  const Gil gil = Gil::held(*python::known_interpreter());
  const InsideScope inside;
  if (!python::imported_whole(gil, "torch.nn.modules.module") ||
      !python::imported_whole(gil, "torch.optim.optimizer")) {
    g_device_state.store(State::off, std::memory_order_release);  // the next tensor asks again
    return 0;
  }
  const bool done = register_device_hooks(gil);
  if (!done) say("--find-nan: tensors on devices are not checked: the hooks could not be registered");
  g_device_state.store(done ? State::running : State::given_up, std::memory_order_release);
  return 0;
}

}  // namespace

void want_device_checks() {
  if (g_device_state.load(std::memory_order_relaxed) != State::off || g_device_found == nullptr) return;
  const Api* api = python::find_interpreter();
  State off = State::off;
  if (!api || !api->Py_AddPendingCall || !g_device_state.compare_exchange_strong(off, State::asked)) return;
  if (api->Py_AddPendingCall(register_at_next_chance, nullptr) != 0) g_device_state.store(State::off);
}

bool device_checks_run() { return g_device_state.load(std::memory_order_acquire) == State::running; }
uint64_t device_checks() { return g_device_checks.count.load(std::memory_order_relaxed); }

void start_device_checks(void (*found)(const DeviceFinding&)) { g_device_found = found; }

}  // namespace tensorscope::find_nan
