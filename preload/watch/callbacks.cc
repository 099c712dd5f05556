// SPDX-License-Identifier: Apache-2.0
#include "watch/callbacks.h"

#include <string.h>

#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "python/file_bytes.h"
#include "python/method.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "support/enough_memory.h"
#include "support/fresh_in_child.h"
#include "support/message.h"
#include "support/options.h"
#include "support/state.h"
#include "torch/unrecorded.h"
#include "torch_events/at_thread_end.h"
#include "torch_events/steps.h"
#include "values_file/value_store.h"
#include "watch/callbacks.py.h"
#include "watch/object_values.h"

namespace tensorscope::watch {

namespace {

using python::Api;
using python::Gil;
using python::Object;
using python::Owned;
using rules::WatchSpec;
using values_file::count_loss;
using values_file::text_of_id;

struct RememberedValue {
  uint32_t watch, name;
  Origin origin;
  CallbackValue value;  // of which the object is owned
};

struct CalledWatch {
  bool any = false;
  const char* failure = nullptr;  // kept permanently: a row of what was lost names it
};

struct Callbacks {
  std::vector<WatchSpec> watches;  // what is recorded of what callbacks return: of any dtype
  std::vector<CalledWatch> called;
  std::string settings;
  long long next_token = 0;
  Object *take = nullptr, *step_ends = nullptr, *end = nullptr;
  bool loaded = false;
};
Callbacks* g_callbacks = nullptr;

// What the program's functions were given, or lost.
struct GivenValues {
  std::unordered_map<long long, RememberedValue> given;  // to Python, by token
  std::vector<uint64_t> lost;                            // by watch

  uint64_t& lost_of(size_t watch) {
    if (watch >= lost.size()) lost.resize(watch + 1);
    return lost[watch];
  }
};
GivenValues* g_given = nullptr;  // made with the callbacks

struct OfThread {
  std::vector<RememberedValue> values;
  bool step_ended = false;
  uint32_t step = 0;
};
thread_local OfThread* t_remembered = nullptr;
thread_local bool t_in_callback = false;

// What the parent's functions have is no value of the child's. Its objects are kept: they are the program's.
FreshInChild g_fresh_given{[] {
  if (t_remembered) make_anew(*t_remembered);
  if (g_given) make_anew(*g_given);
}};

OfThread& remembered() {
  if (!t_remembered) {
    t_remembered = new OfThread;
    torch_events::delete_at_thread_end(t_remembered);
  }
  return *t_remembered;
}

constexpr char kNotReturned[] = "their callback was interrupted";

void count_lost(uint32_t watch) {
  ++g_given->lost_of(watch);
  const char* const failure = g_callbacks->called[watch].failure;
  count_loss("values", failure ? failure : kNotReturned);
}

// Ends what is known of a token. False: it is not known any more.
bool take_token(const Gil& gil, Object* token, RememberedValue& out) {
  const auto found = g_given->given.find(gil->PyLong_AsLongLong(token));
  if (found == g_given->given.end()) return false;
  out = found->second;
  g_given->given.erase(found);
  return true;
}

void record_found(const RememberedValue& value, const FoundValue& found) {
  const uint32_t name = found.way.empty() ? value.name : values_file::text_id(text_of_id(value.name) + found.way);
  if (found.tensor.impl) {
    take_tensor(g_callbacks->watches[value.watch], value.watch, name, found.tensor, value.origin);
  } else {
    add_plain_value(name, *found.plain, value.watch, value.origin);
  }
}

// ---- what Python calls ----------------------------------------------------------------------------------------------

template <typename Work>
Object* with_arguments(Object* arguments, ptrdiff_t count, Work work) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  if (g_callbacks && api.PyTuple_Size(arguments) == count) {
    const InsideScope inside;
    work(gil);
  }
  return python::new_none(api);
}

// record(token, value, unchanged)
Object* record(Object*, Object* arguments) {
  return with_arguments(arguments, 3, [&](const Gil& gil) {
    RememberedValue value;
    if (!take_token(gil, gil->PyTuple_GetItem(arguments, 0), value)) return;
    Object* const result = gil->PyTuple_GetItem(arguments, 1);
    const bool unchanged = gil->PyObject_IsTrue(gil->PyTuple_GetItem(arguments, 2)) == 1;
    const bool done = run_or_abandon_on_oom([&] {
      if (unchanged && value.value.tensor.impl) {
        take_tensor(g_callbacks->watches[value.watch], value.watch, value.name, value.value.tensor, value.origin);
      } else {
        each_value_at(gil, result, {}, [&](const FoundValue& found) { record_found(value, found); });
      }
    });
    if (!done) count_loss("values", "not enough memory");
  });
}

Object* forget(Object*, Object* token) {
  const Gil gil = Gil::held(*python::known_interpreter());
  RememberedValue value;
  if (g_callbacks) take_token(gil, token, value);
  return python::new_none(*python::known_interpreter());
}

Object* lose(Object*, Object* token) {
  const Gil gil = Gil::held(*python::known_interpreter());
  RememberedValue value;
  if (g_callbacks && take_token(gil, token, value)) count_lost(value.watch);
  return python::new_none(*python::known_interpreter());
}

Object* not_kept(Object*, Object*) {
  count_loss("values for post_trace", "more than 256 MiB in a watch");
  return python::new_none(*python::known_interpreter());
}

// fail(watch, text)
Object* fail(Object*, Object* arguments) {
  return with_arguments(arguments, 2, [&](const Gil& gil) {
    const auto watch = size_t(gil->PyLong_AsLongLong(gil->PyTuple_GetItem(arguments, 0)));
    const std::string text(python::text_of(gil, gil->PyTuple_GetItem(arguments, 1)));
    if (watch >= g_callbacks->called.size()) return;
    g_callbacks->called[watch].failure = strdup(text.c_str());
    say("%s: %s; its values are no longer recorded", g_callbacks->watches[watch].origin.c_str(), text.c_str());
  });
}

// Nothing is raised; an interrupt of the user is the program's, and comes again outside of the callback.
template <typename Call>
void call_python(const Gil& gil, Call call) {
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  gil->PyErr_Fetch(&type, &value, &traceback);
  const bool outer = std::exchange(t_in_callback, true);
  const torch::Unrecorded unrecorded;
  Object* const result = call();
  t_in_callback = outer;
  if (result) {
    gil->Py_DecRef(result);
  } else {
    Object *own = nullptr, *what = nullptr, *where = nullptr;
    gil->PyErr_Fetch(&own, &what, &where);
    if (own && gil->PyErr_SetInterrupt && strcmp(gil->PyExceptionClass_Name(own), "KeyboardInterrupt") == 0) {
      gil->PyErr_SetInterrupt();
    }
    gil->PyErr_Restore(own, what, where);
    gil->PyErr_Clear();
  }
  gil->PyErr_Restore(type, value, traceback);
}

Object* at_exit(Object*, Object*) {
  const Api& api = *python::known_interpreter();
  const Gil gil = Gil::held(api);
  if (g_callbacks && g_callbacks->end) {
    call_python(gil, [&] { return api.PyObject_CallFunctionObjArgs(g_callbacks->end, nullptr); });
  }
  return python::new_none(api);
}

python::MethodDefinition g_record = {"record", record, python::kArguments, nullptr};
python::MethodDefinition g_forget = {"forget", forget, python::kOneArgument, nullptr};
python::MethodDefinition g_lose = {"lose", lose, python::kOneArgument, nullptr};
python::MethodDefinition g_not_kept = {"not_kept", not_kept, python::kNoArguments, nullptr};
python::MethodDefinition g_fail = {"fail", fail, python::kArguments, nullptr};
python::MethodDefinition g_at_exit = {"at_exit", at_exit, python::kNoArguments, nullptr};

bool load(const Gil& gil, Callbacks& callbacks) {
  callbacks.loaded = true;
  const Owned settings(gil, gil->PyUnicode_DecodeFSDefault(callbacks.settings.c_str()));
  Object* const globals =
      python::run_own_source(gil, embedded::kCallbacks,
                             {&g_record, &g_forget, &g_lose, &g_not_kept, &g_fail, &g_at_exit, &python::g_file_bytes},
                             {{"settings", settings.get()}});  // kept
  if (!globals) return false;
  callbacks.take = python::entry(gil, globals, "take");
  callbacks.step_ends = python::entry(gil, globals, "step_ends");
  callbacks.end = python::entry(gil, globals, "end");
  return callbacks.take && callbacks.step_ends && callbacks.end;
}

void call_take(const Gil& gil, Callbacks& callbacks, const RememberedValue& value) {
  const long long token = callbacks.next_token++;
  g_given->given[token] = value;
  const torch_events::OptimizerStep& step = value.origin.step;
  const Owned number(gil, gil->PyLong_FromLongLong(value.watch));
  const Owned name(gil, gil->PyUnicode_DecodeFSDefault(text_of_id(value.name).c_str()));
  const Owned of_gradient(gil, gil->PyBool_FromLong(value.value.of_gradient));
  const Owned iteration(gil, gil->PyLong_FromLongLong(step.number));
  const Owned mode(gil, gil->PyLong_FromLongLong(int(step.mode)));
  const Owned key(gil, gil->PyLong_FromLongLong(token));
  if (number && name && of_gradient && iteration && mode && key) {
    call_python(gil, [&] {
      return gil->PyObject_CallFunctionObjArgs(callbacks.take, number.get(), name.get(), value.value.object,
                                               of_gradient.get(), iteration.get(), mode.get(), key.get(), nullptr);
    });
  }
}

}  // namespace

void start_callbacks(const std::vector<WatchSpec>& watches, std::string_view folder) {
  auto* made = new (std::nothrow) Callbacks;
  if (!made) return;
  made->watches = watches;
  made->called.resize(watches.size());
  for (size_t i = 0; i < watches.size(); ++i) {
    made->watches[i].dtype.clear();
    for (const rules::Callback& each : watches[i].callbacks) {
      made->called[i].any = true;
      const std::string file = each.file.front() == '/' ? each.file : std::string(folder) + "/" + each.file;
      made->settings += (made->settings.empty() ? "" : "\x1e") + std::to_string(i) + "\x1f" +
                        std::to_string(watches[i].gather) + "\x1f" + std::string(rules::kMoments[size_t(each.moment)]) +
                        "\x1f" + file + "\x1f" + each.function;
    }
  }
  g_given = new (std::nothrow) GivenValues;
  if (g_given && !made->settings.empty()) g_callbacks = made;
}

bool has_callbacks(uint32_t watch) {
  return g_callbacks && watch < g_callbacks->called.size() && g_callbacks->called[watch].any;
}

void remember_for_callbacks(const Gil& gil, uint32_t watch, uint32_t name, const CallbackValue& value, Origin origin) {
  if (g_callbacks->called[watch].failure) return count_lost(watch);
  origin.step = torch_events::current_step();
  origin.has_step = true;
  std::vector<RememberedValue>& all = remembered().values;
  make_room_for_one(all);
  gil->Py_IncRef(value.object);
  all.push_back({watch, name, origin, value});
}

void remember_step_end(uint32_t step) {
  if (!g_callbacks) return;
  remembered().step_ended = true;
  remembered().step = step;
}

void call_back(const Gil& gil) {
  if (!t_remembered || !g_callbacks || t_in_callback) return;
  Callbacks& callbacks = *g_callbacks;
  std::vector<RememberedValue> values;
  values.swap(t_remembered->values);
  const bool step_ended = std::exchange(t_remembered->step_ended, false);
  if (!values.empty() && !callbacks.loaded) {
    call_python(gil, [&]() -> Object* {
      if (!load(gil, callbacks)) count_loss("values", "callbacks could not be prepared");
      return python::new_none(*python::known_interpreter());
    });
  }
  for (const RememberedValue& value : values) {
    if (callbacks.take) call_take(gil, callbacks, value);
    gil->Py_DecRef(value.value.object);
  }
  if (!step_ended || !callbacks.step_ends) return;
  const Owned step(gil, gil->PyLong_FromLongLong(t_remembered->step));
  if (step) {
    call_python(gil, [&] { return gil->PyObject_CallFunctionObjArgs(callbacks.step_ends, step.get(), nullptr); });
  }
}

bool in_callback() { return t_in_callback; }

void finish_callbacks() {
  if (!g_callbacks) return;
  for (const auto& [token, value] : g_given->given) {
    ++g_given->lost_of(value.watch);
    count_loss("values", "the program ended before post_gather");
  }
  for (size_t i = 0; i < g_callbacks->called.size(); ++i) {
    const CalledWatch& called = g_callbacks->called[i];
    const uint64_t lost = g_given->lost_of(i);
    if (lost == 0 || options().quiet) continue;
    say("%s: %s: %llu values were not recorded", g_callbacks->watches[i].origin.c_str(),
        called.failure ? called.failure : "the program ended before post_gather",
        static_cast<unsigned long long>(lost));
  }
}

}  // namespace tensorscope::watch
