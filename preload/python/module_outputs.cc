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
#include "python/named_tensors.h"
#include "python/objects.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/state.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python {

namespace {

using agent::has_flag;
namespace type_flags = agent::type_flags;

constexpr size_t kFirstRows = 1024;
constexpr int kDeepest = 8;           // structures within structures
constexpr size_t kMostVisited = 256;  // objects of one result
constexpr size_t kLongestKey = 60;

// torch.compiler comes late in `import torch` and with torch 2.1; while it traces, it knows all three expressions. The
// warning is torch's word to who registered a hook and has it fire once more for what torch.compile() returns.
constexpr char kSource[] = R"(
def tensorscope_module_outputs(module, arguments, result):
    compiler = getattr(torch, 'compiler', None)
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

bool has_room(const Gil& gil) {
  std::vector<ModuleOutput>& all = outputs();
  if (all.size() < all.capacity()) return true;
  forget(gil);  // so that a look at all of them is paid for by the growth
  if (all.size() >= kMostOutputs) {
    set_coverage(Subject::module_outputs, Seen::partly, "too many live outputs to record");
    count_missed(Subject::module_outputs);
    return false;
  }
  if (all.size() * 2 >= all.capacity()) {
    make_room(all, std::min(std::max(all.capacity() * 2, kFirstRows), kMostOutputs));
  }
  return true;
}

// One call's result.
class Result {
 public:
  Result(const Gil& gil, Object* module) : gil_(gil), module_(module), attributes_(gil) {}

  void walk(Object* object, int depth) {
    const LiveTensor tensor = live_tensor(gil_, object);
    if (tensor.serial == 0 && !agent::is_collected(object)) return;  // numbers and texts lead nowhere
    if (++visited_ > kMostVisited) return;
    if (tensor.serial != 0) return add(tensor);
    if (depth == kDeepest) return;
    if (has_flag(object, type_flags::kDict)) {
      const bool fields = class_entry(object, "__dataclass_fields__") != nullptr;  // those of transformers
      each_entry(gil_, object, [&](Object* key, Object* value) {
        if (has_flag(key, type_flags::kText) && fields) {
          step(value, depth, ".", text_beginning(text_of(gil_, key), kLongestKey), "");
        } else if (has_flag(key, type_flags::kText)) {
          step(value, depth, "['", text_beginning(text_of(gil_, key), kLongestKey), "']");
        } else {
          step(value, depth, "[", key_text(key), "]");
        }
        return visited_ <= kMostVisited;
      });
    } else if (has_flag(object, type_flags::kList) || has_flag(object, type_flags::kTuple)) {
      Object* names = has_flag(object, type_flags::kTuple) ? class_entry(object, "_fields") : nullptr;  // namedtuple
      each_element(gil_, object, [&](ptrdiff_t i, Object* element) {
        const std::string_view name = names ? field_name(names, i) : "";
        if (name.empty()) {
          step(element, depth, "[", std::to_string(i), "]");
        } else {
          step(element, depth, ".", name, "");
        }
        return visited_ <= kMostVisited;
      });
    } else if (holds_results(object)) {
      attributes_.each(object, [&](std::string_view name, Object* value) {
        step(value, depth, ".", name, "");
        return visited_ <= kMostVisited;
      });
    }
  }

 private:
  void step(Object* object, int depth, std::string_view open, std::string_view text, std::string_view close) {
    const size_t before = way_.size();
    way_.append(open).append(text).append(close);
    walk(object, depth + 1);
    way_.resize(before);
  }

  void add(const LiveTensor& tensor) {
    if (!has_room(gil_)) return;
    std::string way = way_;
    Object* reference = gil_->PyWeakref_NewRef(module_, nullptr);
    if (!reference) return gil_->PyErr_Clear();
    outputs().push_back({tensor.serial, tensor.impl, reference, std::move(way)});
  }

  // Made by a class statement: a dataclass, a cache of transformers; but no module, which has tensors of its own.
  bool holds_results(const Object* object) {
    const Object* type = type_of(object);
    if ((agent::flags_of(type) & type_flags::kHeapType) == 0 || has_flag(object, type_flags::kType)) return false;
    return class_entry(object, "_parameters") == nullptr && attributes_.find(object, "_parameters") == nullptr;
  }

  // What the class statement of the object's class, or of a base, says; nothing for what is built in.
  Object* class_entry(const Object* object, const char* name) const {
    for (const Object* type = type_of(object); type; type = agent::base_of(type)) {
      if ((agent::flags_of(type) & type_flags::kHeapType) == 0) return nullptr;
      if (Object* found = entry(gil_, agent::class_dict_of(type), name)) return found;
    }
    return nullptr;
  }

  std::string_view field_name(Object* names, ptrdiff_t i) const {
    if (!is_exactly(names, gil_->PyTuple_Type) || i >= gil_->PyTuple_Size(names)) return "";
    return text_of(gil_, gil_->PyTuple_GetItem(names, i));
  }

  std::string key_text(Object* key) const {
    if (!is_exactly(key, gil_->PyLong_Type)) return class_name(gil_, key);
    const long long value = gil_->PyLong_AsLongLong(key);
    gil_->PyErr_Clear();
    return std::to_string(value);
  }

  const Gil& gil_;
  Object* module_;
  agent::Attributes attributes_;
  std::string way_;
  size_t visited_ = 0;
};

// record(module, result). Whatever it is given, the program goes on.
Object* record(Object*, Object* arguments) {
  const Api& api = *known_interpreter();
  const Gil gil = Gil::held(api);
  if (api.PyTuple_Size(arguments) == 2) {
    const InsideScope inside;
    run_if_memory_lasts(
        [&] { Result(gil, api.PyTuple_GetItem(arguments, 0)).walk(api.PyTuple_GetItem(arguments, 1), 0); });
  }
  api.Py_IncRef(api._Py_NoneStruct);
  return api._Py_NoneStruct;
}

MethodDefinition g_record = {"record", record, kArguments, nullptr};

// Its body may still be running: another thread's import has got as far as torch.nn.
bool imported_whole(const Gil& gil, const char* name) {
  Object* globals = module_globals(gil, name);
  Object* specification = globals ? entry(gil, globals, "__spec__") : nullptr;
  if (!specification) return globals != nullptr;
  agent::Attributes attributes(gil);
  Object* running = attributes.find(specification, "_initializing");
  return !running || !is_exactly(running, gil->PyBool_Type) || gil->PyObject_IsTrue(running) == 0;
}

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
    done = bool(Owned(gil, gil->PyRun_String(kSource, kFileInput, globals.get(), globals.get())));
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
