#include "python/agent/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "python/agent/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {
constexpr size_t kLongestKey = 60;
constexpr size_t kFewWanted = 8;
constexpr ptrdiff_t kLongestTupleKey = 4;

// The longest beginning of a UTF-8 text that is not longer than this.
std::string_view beginning(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (uint8_t(text[longest]) & 0xc0) == 0x80) --longest;
  return text.substr(0, longest);
}
}  // namespace

// The questions about one object, found by what they ask for.
class Steps::Wanted {
 public:
  Wanted(const ObjectGraph& graph, Question* questions, size_t count) : left_(count) {
    asked_.reserve(count);
    for (size_t i = 0; i < count; ++i) asked_.push_back({graph.object(questions[i].to), &questions[i].answer});
    if (count > kFewWanted)
      std::sort(asked_.begin(), asked_.end(), [](auto& a, auto& b) { return a.object < b.object; });
  }

  // The answer to fill in for this object; null where nobody asks, or who asked knows.
  Step* find(const Object* object) {
    if (asked_.size() <= kFewWanted) {
      for (const Asked& asked : asked_) {
        if (asked.object == object && asked.answer->kind == StepKind::unknown) return asked.answer;
      }
      return nullptr;
    }
    const auto found = std::lower_bound(asked_.begin(), asked_.end(), object,
                                        [](const Asked& asked, const Object* o) { return asked.object < o; });
    const bool open = found != asked_.end() && found->object == object && found->answer->kind == StepKind::unknown;
    return open ? found->answer : nullptr;
  }
  void fill(Step* step, StepKind kind, std::string text = {}, uint32_t number = kNoObject) {
    step->kind = kind;
    step->text = std::move(text);
    step->number = number;
    --left_;
  }
  void offer(const Object* object, StepKind kind) {
    if (Step* step = object ? find(object) : nullptr) fill(step, kind);
  }
  bool done() const { return left_ == 0; }

 private:
  struct Asked {
    const Object* object;
    Step* answer;
  };
  std::vector<Asked> asked_;
  size_t left_;
};

void Steps::answer(Question* questions, size_t count) {
  Wanted wanted(graph_, questions, count);
  describe(graph_.object(questions->from), kinds_[questions->from], wanted);
}

// How a key that is no str is written in brackets.
std::string Steps::key_text(Object* key, int depth) {
  if (has_flag(key, type_flags::kText)) return fmt::format("'{}'", beginning(text_of(gil_, key), kLongestKey));
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
      text += (i > 0 ? ", " : "(") + key_text(element, depth + 1);
      return true;
    });
    return text.empty() ? "()" : text + ")";
  }
  return short_class_name(gil_, key);
}

void Steps::describe_dict(Object* dict, Wanted& wanted) {
  each_entry(gil_, dict, [&](Object* key, Object* value) {
    if (Step* step = wanted.find(value)) {
      if (has_flag(key, type_flags::kText)) {
        wanted.fill(step, StepKind::text_key, std::string(beginning(text_of(gil_, key), kLongestKey)));
      } else {
        const uint32_t number = is_collected(key) ? graph_.find(key) : kNoObject;
        const bool tensor = number != kNoObject && kinds_[number] == Kind::tensor;
        wanted.fill(step, StepKind::object_key, "[" + key_text(key, 0) + "]", tensor ? number : kNoObject);
      }
    }
    wanted.offer(key, StepKind::key_itself);
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
    Step* step = wanted.find(element);
    if (!step) return true;
    const bool named = fields && i < gil_->PyTuple_Size(fields);
    if (named) {
      wanted.fill(step, StepKind::attribute, std::string(text_of(gil_, gil_->PyTuple_GetItem(fields, i))));
    } else {
      wanted.fill(step, StepKind::index, {}, uint32_t(i));
    }
    return !wanted.done();
  });
}

// tp_traverse tells a deque's elements from left to right, after whatever else it tells.
void Steps::describe_deque(Object* deque, Wanted& wanted) {
  struct Walk {
    std::vector<Object*> told;
    Wanted& wanted;
  } walk{{}, wanted};
  auto visit = [](Object* child, void* context) {
    static_cast<Walk*>(context)->told.push_back(child);
    return 0;
  };
  traverse_of(type_of(deque))(deque, visit, &walk);
  const auto size = size_t(size_of_variable(deque));
  if (size > walk.told.size()) return;
  const size_t first = walk.told.size() - size;
  for (size_t i = first; i < walk.told.size() && !wanted.done(); ++i) {
    if (Step* step = wanted.find(walk.told[i])) wanted.fill(step, StepKind::index, {}, uint32_t(i - first));
  }
}

void Steps::describe_function(Object* function, Wanted& wanted) {
  wanted.offer(gil_->PyFunction_GetClosure(function), StepKind::closure);
  wanted.offer(gil_->PyFunction_GetDefaults(function), StepKind::defaults);
  wanted.offer(gil_->PyFunction_GetKwDefaults(function), StepKind::keyword_defaults);
}

void Steps::describe_frame(const Frame& frame, Wanted& wanted) {
  const FunctionFacts* facts = functions_.of(frame.code);
  for (size_t i = 0; facts && i < facts->variables.size() && !wanted.done(); ++i) {
    Object* value = slot_of(gil_, frame, i);
    if (Step* step = value ? wanted.find(value) : nullptr) wanted.fill(step, StepKind::variable, facts->variables[i]);
  }
}

void Steps::describe_attributes(Object* object, Wanted& wanted) {
  wanted.offer(own_dict(gil_, object), StepKind::own_dict);
  attributes_.each_outside_dict(object, [&](std::string_view name, Object* value) {
    if (Step* step = wanted.find(value)) wanted.fill(step, StepKind::attribute, std::string(name));
    return !wanted.done();
  });
}

void Steps::describe(Object* object, Kind kind, Wanted& wanted) {
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
    case Kind::frame:
      if (frame_of_object(gil_, object, frame)) describe_frame(frame, wanted);
      break;
    case Kind::generator:
      if (frame_of_generator(gil_, object, frame)) describe_frame(frame, wanted);
      break;
    case Kind::module:
      wanted.offer(gil_->PyModule_GetDict(object), StepKind::own_dict);
      break;
    case Kind::type:
      if (flags_of(object) & type_flags::kHeapType) wanted.offer(class_dict_of(object), StepKind::own_dict);
      break;
    default:
      break;
  }
  const bool told_by_kind =
      kind == Kind::frame || kind == Kind::generator || kind == Kind::traceback || kind == Kind::type;
  if (wanted.done() || told_by_kind) {
  } else if (kind == Kind::builtin_function) {
    wanted.offer(field<Object*>(object, 24), StepKind::content);  // m_self (Include/cpython/methodobject.h)
  } else {
    describe_attributes(object, wanted);
  }
  if (wanted.done()) return;
  // What is left is what the object is a shell of, or known by its kind alone.
  for (const uint32_t child : graph_.references(graph_.find(object))) {
    Step* step = wanted.find(graph_.object(child));
    if (!step) continue;
    const Kind to = kinds_[child];
    if (kind == Kind::cell || kind == Kind::mapping_proxy) {
      wanted.fill(step, StepKind::content);
    } else if (to == Kind::traceback && (kind == Kind::exception || kind == Kind::traceback)) {
      wanted.fill(step, StepKind::traceback);
    } else if (to == Kind::frame && (kind == Kind::traceback || kind == Kind::generator || kind == Kind::frame)) {
      wanted.fill(step, StepKind::frame);
    } else if (kind == Kind::exception && to == Kind::exception) {
      wanted.fill(step, StepKind::attribute, "__context__");
    } else if (kind == Kind::weak_reference) {
      wanted.fill(step, StepKind::attribute, "__callback__");
    } else if (kind == Kind::tensor) {  // THPVariable_traverse (torch/csrc/autograd/python_variable.cpp)
      wanted.fill(step, StepKind::attribute, to == Kind::dict ? "_backward_hooks" : "grad_fn");
    } else if (kind == Kind::set) {
      wanted.fill(step, StepKind::member);
    }
  }
}

}  // namespace tensorscope::python::agent
