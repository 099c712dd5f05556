// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "python/heap_inspector/foreign/numpy_arrays.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python::heap_inspector {

namespace {
constexpr size_t kLongestKey = 60;
constexpr size_t kFewWanted = 8;
constexpr ptrdiff_t kLongestTupleKey = 4;
constexpr uint32_t kMaxAlike = 8;

// What stands for what is in it.
bool is_shell(Kind kind) {
  return kind == Kind::cell || kind == Kind::mapping_proxy || kind == Kind::buffer || kind == Kind::context ||
         kind == Kind::context_map || kind == Kind::thread_local_values;
}
}  // namespace

// The questions about one object, found by what they ask for. Those that ask the same have an answer each, in the order
// in which the object is gone through; where it has fewer, the rest have the one before.
class Steps::Wanted {
 public:
  Wanted(const Steps& steps, std::span<const Question> questions, PageArray<ReferenceEdge>& answers)
      : steps_(steps), questions_(questions), answers_(answers), left_(questions.size()) {
    if (questions.size() <= kFewWanted) return;
    for (const Question& question : questions) {
      if (!by_address_.push({steps_.graph_.object(question.to), question.answer})) {
        steps_.limits_.memory_ran_out();
        return;
      }
    }
    std::sort(by_address_.begin(), by_address_.end(), [](const Asked& a, const Asked& b) {
      return a.object != b.object ? a.object < b.object : a.answer < b.answer;
    });
  }

  // The answer to fill in for this object; null if not asked for, or already answered.
  ReferenceEdge* find(const Object* object) {
    if (by_address_.empty()) {
      for (const Question& question : questions_) {
        if (steps_.graph_.object(question.to) != object) continue;
        if (ReferenceEdge* step = open(question.answer)) return step;
      }
      return nullptr;
    }
    const Asked* found = std::lower_bound(by_address_.begin(), by_address_.end(), object,
                                          [](const Asked& asked, const Object* o) { return asked.object < o; });
    for (; found != by_address_.end() && found->object == object; ++found) {
      if (ReferenceEdge* step = open(found->answer)) return step;
    }
    return nullptr;
  }
  void fill(ReferenceEdge* step, ReferenceKind kind, std::string_view text = {}, uint32_t number = kNoObject) {
    *step = ReferenceEdge(kind, steps_.texts_.intern(text), number);
    --left_;
  }
  void offer(const Object* object, ReferenceKind kind) {
    if (ReferenceEdge* step = object ? find(object) : nullptr) fill(step, kind);
  }
  void fill_all(ReferenceKind kind) {
    for (const Question& question : questions_) {
      if (ReferenceEdge* step = open(question.answer)) fill(step, kind);
    }
  }
  // Whether there is nothing more to look for; or no more time.
  bool done() const { return left_ == 0 || steps_.limits_.reached(); }

  void answer_repeated() {
    for (size_t i = 1; i < questions_.size(); ++i) {
      const bool same = questions_[i].to == questions_[i - 1].to;
      if (ReferenceEdge* step = same ? open(questions_[i].answer) : nullptr) *step = answers_[questions_[i - 1].answer];
    }
  }

 private:
  struct Asked {
    const Object* object;
    uint32_t answer;
  };
  ReferenceEdge* open(uint32_t answer) {
    return answers_[answer].kind() == ReferenceKind::unknown ? &answers_[answer] : nullptr;
  }

  const Steps& steps_;
  std::span<const Question> questions_;
  PageArray<ReferenceEdge>& answers_;
  PageArray<Asked> by_address_;  // empty where there are few
  size_t left_;
};

bool Steps::answer(std::span<const Question> questions, PageArray<ReferenceEdge>& answers) {
  Wanted wanted(*this, questions, answers);
  const uint32_t from = questions[0].from;
  describe(graph_.object(from), graph_.kind(from), wanted);
  wanted.answer_repeated();
  for (const Question& question : questions) {  // without other evidence, by its class
    ReferenceEdge& step = answers[question.answer];
    if (step.kind() != ReferenceKind::unknown && step.kind() != ReferenceKind::member) continue;
    const uint32_t number = step.kind() == ReferenceKind::unknown ? number_among_alike(from, question.to)
                                                                  : number_of_member(from, question.to);
    step = ReferenceEdge(step.kind(), texts_.intern(short_class_name(gil_, graph_.object(question.to))), number);
  }
  if (texts_.full() || texts_.size() >= ReferenceEdge::kMaxTexts) limits_.memory_ran_out();
  return !limits_.reached();
}

// Returns the member itself if others of its set have its class; kNoObject for a tensor, which has a number of its
// own, and for the only member.
uint32_t Steps::number_of_member(uint32_t from, uint32_t to) const {
  const bool alone = graph_.kind(to) == Kind::tensor || graph_.references(from).size() < 2;
  return alone ? kNoObject : to;
}

// Which of the objects of its class it is that the holder refers to, from 1, so that two are not called alike;
// kNoObject: the only one, a tensor, or one of so many that they are entries.
uint32_t Steps::number_among_alike(uint32_t from, uint32_t to) const {
  if (graph_.kind(to) == Kind::tensor) return kNoObject;
  uint32_t alike[kMaxAlike], count = 0;
  for (const uint32_t child : graph_.references(from)) {
    if (type_of(graph_.object(child)) != type_of(graph_.object(to))) continue;
    if (std::find(alike, alike + count, child) != alike + count) continue;
    if (count == kMaxAlike) return kNoObject;
    alike[count++] = child;
  }
  return count < 2 ? kNoObject : uint32_t(std::find(alike, alike + count, to) - alike) + 1;
}

// How a key that is no str is written in brackets.
std::string Steps::key_text(Object* key, bool several, int depth) {
  if (has_flag(key, type_flags::kText)) return fmt::format("'{}'", text_beginning(text_of(gil_, key), kLongestKey));
  if (key == gil_->_Py_NoneStruct) return "None";
  if (is_exactly(key, gil_->PyBool_Type)) return gil_->PyObject_IsTrue(key) == 1 ? "True" : "False";
  if (is_exactly(key, gil_->PyLong_Type)) {
    const long long value = gil_->PyLong_AsLongLong(key);
    gil_->PyErr_Clear();
    return std::to_string(value);
  }
  if (is_exactly(key, gil_->PyFloat_Type)) return fmt::format("{}", gil_->PyFloat_AsDouble(key));
  if (is_exactly(key, gil_->PyTuple_Type) && depth == 0 && gil_->PyTuple_Size(key) <= kLongestTupleKey) {
    std::string text;
    each_element(gil_, key, [&](ptrdiff_t i, Object* element) {
      text += (i > 0 ? ", " : "(") + key_text(element, several, depth + 1);
      return true;
    });
    return text.empty() ? "()" : text + ")";
  }
  const char* name = short_class_name(gil_, key);
  return several ? object_text(name, key) : name;
}

void Steps::describe_dict(Object* dict, Wanted& wanted) {
  size_t entries = 0;
  each_entry(gil_, dict, [&](Object*, Object*) { return ++entries < 2; });
  const bool several = entries > 1;
  each_entry(gil_, dict, [&](Object* key, Object* value) {
    if (ReferenceEdge* step = wanted.find(value)) {
      if (has_flag(key, type_flags::kText)) {
        wanted.fill(step, ReferenceKind::text_key, text_beginning(text_of(gil_, key), kLongestKey));
      } else if (const std::optional<std::string> thread = thread_locals_.thread_of(key)) {
        wanted.fill(step, ReferenceKind::own_dict, *thread);
      } else {
        const uint32_t number = is_collected(key) ? graph_.find(key) : kNoObject;
        const bool tensor = number != kNoObject && graph_.kind(number) == Kind::tensor;
        wanted.fill(step, ReferenceKind::object_key, "[" + key_text(key, several) + "]", tensor ? number : kNoObject);
      }
    }
    wanted.offer(key, ReferenceKind::key_itself);
    return !wanted.done();
  });
}

void Steps::describe_sequence(Object* sequence, Kind kind, Wanted& wanted) {
  // The names of a namedtuple's fields stand in its class (collections/__init__.py).
  Object* fields = nullptr;
  if (kind == Kind::tuple && !is_exactly(sequence, gil_->PyTuple_Type)) {
    for (const Object* type = type_of(sequence); type && !fields; type = base_of(type)) {
      if (flags_of(type) & type_flags::kHeapType) fields = entry(gil_, class_dict_of(type), "_fields");
    }
  }
  if (fields && !is_exactly(fields, gil_->PyTuple_Type)) fields = nullptr;
  each_element(gil_, sequence, [&](ptrdiff_t i, Object* element) {
    ReferenceEdge* step = wanted.find(element);
    if (!step) return !wanted.done();
    const bool named = fields && i < gil_->PyTuple_Size(fields);
    if (named) {
      wanted.fill(step, ReferenceKind::attribute, text_of(gil_, gil_->PyTuple_GetItem(fields, i)));
    } else {
      wanted.fill(step, ReferenceKind::index, {}, uint32_t(i));
    }
    return !wanted.done();
  });
}

// Everything that tp_traverse reports, in its order. False: a limit was reached.
bool Steps::told_by(Object* object, PageArray<Object*>& told) {
  struct Walk {
    PageArray<Object*>& told;
    LookLimits& limits;
  } walk{told, limits_};
  auto visit = [](Object* child, void* context) {
    auto* walk = static_cast<Walk*>(context);
    if (!walk->told.push(child)) walk->limits.memory_ran_out();
    return int(walk->limits.reached());
  };
  traverse_of(type_of(object))(object, visit, &walk);
  return !limits_.reached();
}

// tp_traverse reports a deque's elements from left to right, after whatever else it reports.
void Steps::describe_deque(Object* deque, Wanted& wanted) {
  PageArray<Object*> told;
  const auto size = size_t(size_of_variable(deque));
  if (!told_by(deque, told) || size > told.size()) return;
  const size_t first = told.size() - size;
  for (size_t i = first; i < told.size() && !wanted.done(); ++i) {
    if (ReferenceEdge* step = wanted.find(told[i])) wanted.fill(step, ReferenceKind::index, {}, uint32_t(i - first));
  }
}

void Steps::describe_array(Object* array, Wanted& wanted) {
  wanted.offer(owner_of_memory(array), ReferenceKind::content);
  const ObjectElements elements = elements_of(gil_, array, classes_);
  for (size_t i = 0; i < elements.count && !wanted.done(); ++i) {
    Object* element = elements.first[i];
    if (ReferenceEdge* step = element ? wanted.find(element) : nullptr) {
      wanted.fill(step, ReferenceKind::object_key, "[" + element_index(array, i) + "]");
    }
  }
  const ObjectFields structured = object_fields_of(gil_, array, classes_);
  for (size_t i = 0; i < structured.count && !wanted.done(); ++i) {
    for (const ObjectFields::Field& field : structured.fields) {
      Object* object = structured.at(i, field);
      ReferenceEdge* step = object ? wanted.find(object) : nullptr;
      if (!step) continue;
      const std::string index = element_index(array, i, structured.bytes_each);
      wanted.fill(step, ReferenceKind::object_key,
                  fmt::format("[{}]['{}']", index, text_beginning(field.name, kLongestKey)));
    }
  }
}

// lru_cache_tp_traverse (Modules/_functoolsmodule.c) reports each link's key and result, then the dictionary. From 3.10
// on the function's own type comes first of all, and each link's after its result.
void Steps::describe_lru_cache(Object* function, Wanted& wanted) {
  PageArray<Object*> told;
  if (!told_by(function, told)) return;
  const auto is_type = [&](size_t i) { return i < told.size() && has_flag(told[i], type_flags::kType); };
  size_t i = !told.empty() && told[0] == type_of(function) ? 1 : 0;
  const size_t stride = i == 1 ? 3 : 2;
  const bool several = told.size() > i + 2 * stride;
  for (; i + 1 < told.size() && !wanted.done() && !is_exactly(told[i], gil_->PyDict_Type); i += stride) {
    if (stride == 3 && !is_type(i + 2)) break;
    if (ReferenceEdge* step = wanted.find(told[i]))
      wanted.fill(step, ReferenceKind::cache_key, key_text(told[i], several));
    if (ReferenceEdge* step = wanted.find(told[i + 1])) {
      wanted.fill(step, ReferenceKind::cache_entry, "[" + key_text(told[i], several) + "]");
    }
  }
  if (i < told.size() && is_exactly(told[i], gil_->PyDict_Type)) wanted.offer(told[i], ReferenceKind::cache_entry);
}

// hamt_node_bitmap_traverse and its relatives (Python/hamt.c) tell a value right before its key.
void Steps::describe_context_map(Object* map, Wanted& wanted) {
  PageArray<Object*> told;
  if (!told_by(map, told)) return;
  for (size_t i = 0; i + 1 < told.size() && !wanted.done(); ++i) {
    if (type_of(told[i + 1]) != classes_.context_variable) continue;
    ReferenceEdge* step = wanted.find(told[i]);
    if (!step) continue;
    attributes_.each_outside_dict(told[i + 1], [&](std::string_view name, Object* value) {
      if (name == "name") wanted.fill(step, ReferenceKind::text_key, text_beginning(text_of(gil_, value), kLongestKey));
      return name != "name";
    });
  }
}

void Steps::describe_function(Object* function, Wanted& wanted) {
  wanted.offer(gil_->PyFunction_GetClosure(function), ReferenceKind::closure);
  wanted.offer(gil_->PyFunction_GetDefaults(function), ReferenceKind::defaults);
  wanted.offer(gil_->PyFunction_GetKwDefaults(function), ReferenceKind::keyword_defaults);
}

void Steps::describe_frame(const Frame& frame, Wanted& wanted) {
  const FunctionFacts* facts = functions_.of(frame.code);
  for (size_t i = 0; facts && i < facts->variables.size() && !wanted.done(); ++i) {
    Object* value = slot_of(gil_, frame, i);
    if (ReferenceEdge* step = value ? wanted.find(value) : nullptr)
      wanted.fill(step, ReferenceKind::variable, facts->variables[i]);
  }
}

void Steps::describe_attributes(Object* object, Wanted& wanted) {
  wanted.offer(own_dict(gil_, object), ReferenceKind::own_dict);
  attributes_.each_outside_dict(object, [&](std::string_view name, Object* value) {
    if (ReferenceEdge* step = wanted.find(value)) wanted.fill(step, ReferenceKind::attribute, name);
    return !wanted.done();
  });
}

// By what the object's kind has of its own.
void Steps::describe_by_kind(Object* object, Kind kind, Wanted& wanted) {
  Frame frame;
  switch (kind) {
    case Kind::dict:
      describe_dict(object, wanted);
      break;
    case Kind::list:
    case Kind::tuple:
      describe_sequence(object, kind, wanted);
      break;
    case Kind::deque:
      describe_deque(object, wanted);
      break;
    case Kind::function:
      describe_function(object, wanted);
      break;
    case Kind::array:
      describe_array(object, wanted);
      break;
    case Kind::arrow:
      wanted.fill_all(ReferenceKind::content);
      break;
    case Kind::lru_cache:
      describe_lru_cache(object, wanted);
      break;
    case Kind::context_map:
      describe_context_map(object, wanted);
      break;
    case Kind::frame:
      if (frame_of_object(gil_, object, frame)) describe_frame(frame, wanted);
      break;
    case Kind::generator:
      if (frame_of_generator(gil_, object, frame)) describe_frame(frame, wanted);
      break;
    case Kind::module:
      wanted.offer(gil_->PyModule_GetDict(object), ReferenceKind::own_dict);
      break;
    case Kind::type:
      if (flags_of(object) & type_flags::kHeapType) wanted.offer(class_dict_of(object), ReferenceKind::own_dict);
      break;
    default:
      break;
  }
}

// Of a dict among a tensor's own fields (THPVariable, torch/csrc/autograd/python_variable.h): from torch 2.1 on the
// last of these is post_accumulate_grad_hooks, and the one before backward_hooks, which is the last in older ones.
const char* Steps::hooks_attribute(const Object* hooks, const Object* tensor) const {
  const ptrdiff_t last = basic_size_of(classes_.tensor) - ptrdiff_t(sizeof(void*));
  return has_post_accumulate_hooks_ && field<const Object*>(tensor, last) == hooks ? "_post_accumulate_grad_hooks"
                                                                                   : "_backward_hooks";
}

// What is left is what the object is a shell of, or known by its kind alone.
void Steps::describe_rest(Object* object, Kind kind, Wanted& wanted) {
  for (const uint32_t child : graph_.references(graph_.find(object))) {
    ReferenceEdge* step = wanted.find(graph_.object(child));
    if (!step) continue;
    const Kind to = graph_.kind(child);
    if (graph_.object(child) == type_of(object)) {
      wanted.fill(step, ReferenceKind::attribute, "__class__");
    } else if (is_shell(kind) && to != Kind::context) {
      wanted.fill(step, ReferenceKind::content);
    } else if (to == Kind::traceback && (kind == Kind::exception || kind == Kind::traceback)) {
      wanted.fill(step, ReferenceKind::traceback);
    } else if (to == Kind::frame && (kind == Kind::traceback || kind == Kind::generator || kind == Kind::frame)) {
      wanted.fill(step, ReferenceKind::frame);
    } else if (kind == Kind::exception && to == Kind::exception) {
      wanted.fill(step, ReferenceKind::attribute, "__context__");
    } else if (kind == Kind::weak_reference) {
      wanted.fill(step, ReferenceKind::attribute, "__callback__");
    } else if (kind == Kind::tensor) {  // THPVariable_traverse (torch/csrc/autograd/python_variable.cpp)
      const bool hooks = to == Kind::dict;
      wanted.fill(step, ReferenceKind::attribute, hooks ? hooks_attribute(graph_.object(child), object) : "grad_fn");
    } else if (kind == Kind::set) {
      wanted.fill(step, ReferenceKind::member);
    }
  }
}

void Steps::describe(Object* object, Kind kind, Wanted& wanted) {
  describe_by_kind(object, kind, wanted);
  if (wanted.done()) return;
  if (kind == Kind::builtin_function) {
    wanted.offer(field<Object*>(object, 24), ReferenceKind::content);  // m_self (Include/cpython/methodobject.h)
  } else if (kind != Kind::frame && kind != Kind::generator && kind != Kind::traceback && kind != Kind::type) {
    describe_attributes(object, wanted);
  }
  if (!wanted.done()) describe_rest(object, kind, wanted);
}

}  // namespace tensorscope::python::heap_inspector
