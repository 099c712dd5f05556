#include "python/module_outputs.h"

#include <algorithm>
#include <new>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "live/tensor_serial.h"
#include "python/agent/attributes.h"
#include "python/agent/type_fields.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/tensors_inside.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/state.h"

namespace tensorscope::python {

namespace {

constexpr size_t kFirstRows = 1024;
// Where no more rows may be had, all are looked at again after so many outputs: else each would cost a look at all.
constexpr size_t kOutputsBetweenLooks = kMostOutputs / 8;

size_t g_since_look = 0;  // outputs offered; under the GIL

// torch.compiler comes late in `import torch` and with torch 2.1; while it traces, it knows all three expressions. The
// warning is torch's word to who registered a hook and has it fire once more for what torch.compile() returns.
constexpr char kSource[] = R"(
def tensorscope_module_outputs(module, arguments, result):
    compiler = getattr(torch, 'compiler', None)
    if not hasattr(compiler, 'is_compiling'):
        compiler = torch._utils
    if not (hasattr(compiler, 'is_compiling') and compiler.is_compiling()):
        record(module, result)
register(tensorscope_module_outputs)
import warnings
warnings.filterwarnings('ignore', message='Using `torch.compile.module.` when there are global hooks', category=UserWarning)
)";

// Never destroyed.
std::vector<ModuleOutput>& outputs() {
  alignas(std::vector<ModuleOutput>) static char memory[sizeof(std::vector<ModuleOutput>)];
  static auto* const made = new (memory) std::vector<ModuleOutput>;
  return *made;
}

// Leaves one row of a module that returns the same tensor again and again (its weight).
void forget(const Gil& gil) {
  std::vector<ModuleOutput>& all = outputs();  // one without a module: memory ran out here
  std::set<std::tuple<uint64_t, const Object*, std::string_view>> seen;
  for (size_t i = all.size(); i-- > 0;) {
    ModuleOutput& output = all[i];
    if (output.module && live::tensor_serial(output.impl) == output.serial &&
        gil->PyWeakref_GetObject(output.module) != gil->_Py_NoneStruct &&
        seen.emplace(output.serial, output.module, output.way).second) {
      continue;
    }
    gil->Py_DecRef(output.module);
    output.module = nullptr;
  }
  std::erase_if(all, [](const ModuleOutput& output) { return output.module == nullptr; });
}

bool too_many() {
  set_coverage(Subject::module_outputs, Seen::partly, "too many live outputs to record");
  count_missed(Subject::module_outputs);
  return false;
}

bool has_room(const Gil& gil) {
  std::vector<ModuleOutput>& all = outputs();
  ++g_since_look;
  if (all.size() < all.capacity()) return true;
  if (all.capacity() >= kMostOutputs && g_since_look < kOutputsBetweenLooks) return too_many();
  forget(gil);  // so that a look at all of them is paid for by the growth
  g_since_look = 0;
  if (all.size() >= kMostOutputs) return too_many();
  if (all.size() * 2 >= all.capacity()) {
    make_room(all, std::min(std::max(all.capacity() * 2, kFirstRows), kMostOutputs));
  }
  return true;
}

void add(const Gil& gil, Object* module, const TensorInside& inside) {
  if (!has_room(gil)) return;
  std::string way = inside.way;
  Object* reference = gil->PyWeakref_NewRef(module, nullptr);
  if (!reference) return gil->PyErr_Clear();
  outputs().push_back({inside.tensor.serial, inside.tensor.impl, reference, std::move(way)});
}

// record(module, result). Whatever it is given, the program goes on.
Object* record(Object*, Object* arguments) {
  const Api& api = *known_interpreter();
  const Gil gil = Gil::held(api);
  if (api.PyTuple_Size(arguments) == 2) {
    const InsideScope inside;
    struct Call {
      const Gil& gil;
      Object* module;
    } call = {gil, api.PyTuple_GetItem(arguments, 0)};
    run_if_memory_lasts([&] {
      each_tensor_inside(
          gil, api.PyTuple_GetItem(arguments, 1),
          [](const TensorInside& inside, void* context) {
            const auto* call = static_cast<Call*>(context);
            add(call->gil, call->module, inside);
          },
          &call);
    });
  }
  return new_none(api);
}

MethodDefinition g_record = {"record", record, kArguments, nullptr};

}  // namespace

bool record_module_outputs(const Gil& gil) {
  Object* functions = module_globals(gil, "torch.nn.modules.module");
  Object* registers = functions ? entry(gil, functions, "register_module_forward_hook") : nullptr;
  if (!registers || !imported_whole(gil, "torch.nn.modules.module") || !agent::check_type_fields(gil)) {
    set_coverage(Subject::module_outputs, Seen::no, "torch.nn was not imported yet");
    return false;
  }
  Object* modules = gil->PyImport_GetModuleDict();
  Object* torch = modules ? entry(gil, modules, "torch") : nullptr;
  const Owned globals(gil, gil->PyDict_New()), recorder(gil, gil->PyCFunction_NewEx(&g_record, nullptr, nullptr));
  bool done = false;
  if (globals && recorder && torch) {
    gil->PyDict_SetItemString(globals.get(), "register", registers);
    gil->PyDict_SetItemString(globals.get(), "record", recorder.get());
    gil->PyDict_SetItemString(globals.get(), "torch", torch);
    done = run_own_source(gil, kSource, globals.get());
  }
  set_coverage(Subject::module_outputs, done ? Seen::yes : Seen::no,
               done ? "" : "the hook could not be registered with torch.nn");
  return true;
}

void each_module_output(const Gil& gil, void (*f)(const ModuleOutput&, Object*, void*), void* context) {
  if (outputs().empty()) return;
  forget(gil);
  for (const ModuleOutput& output : outputs()) f(output, gil->PyWeakref_GetObject(output.module), context);
}

}  // namespace tensorscope::python
