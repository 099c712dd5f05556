// What an object is to one that refers to it: the key, index, attribute, variable ... that leads from one to the other.
// tp_traverse does not tell, so an object's contents are gone through once, for all that is asked about them.
//
// Context: agent. Runs none of the program's code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/agent/attributes.h"
#include "python/agent/frame_locals.h"
#include "python/agent/object_graph.h"
#include "python/agent/object_kinds.h"

namespace tensorscope::python::agent {

enum class StepKind : uint8_t {
  unknown,
  own_dict,          // an object's attributes
  attribute,         // text: its name
  text_key,          // of a dict; text: the key
  object_key,        // of a dict; text: how it is written, with brackets; `number`: the key, where it is a tensor
  index,             // of a list, tuple, deque; `number`
  member,            // of a set
  key_itself,        // it is a key of the dict
  content,           // of a cell or another shell
  closure,           // a function's cells
  defaults,          // a function's default arguments
  keyword_defaults,  // the same for keyword arguments
  variable,          // of a function's frame; text: its name
  traceback,         // of an exception; and the next one of a traceback
  frame,             // of a traceback or a generator
};

struct Step {
  StepKind kind = StepKind::unknown;
  uint32_t number = kNoObject;
  std::string text;
};

class Steps {
 public:
  Steps(const Gil& gil, const ObjectGraph& graph, const std::vector<Kind>& kinds, Functions& functions,
        Attributes& attributes)
      : gil_(gil), graph_(graph), kinds_(kinds), functions_(functions), attributes_(attributes) {}

  struct Question {
    uint32_t from, to;
    Step answer;
  };
  // Answers questions that all have the same `from`.
  void answer(Question* questions, size_t count);

 private:
  class Wanted;

  void describe(Object* object, Kind kind, Wanted& wanted);
  void describe_dict(Object* dict, Wanted& wanted);
  void describe_sequence(Object* sequence, Kind kind, Wanted& wanted);
  void describe_deque(Object* deque, Wanted& wanted);
  void describe_function(Object* function, Wanted& wanted);
  void describe_frame(const Frame& frame, Wanted& wanted);
  void describe_attributes(Object* object, Wanted& wanted);
  std::string key_text(Object* key, int depth);

  const Gil& gil_;
  const ObjectGraph& graph_;
  const std::vector<Kind>& kinds_;
  Functions& functions_;
  Attributes& attributes_;
};

}  // namespace tensorscope::python::agent
