// SPDX-License-Identifier: Apache-2.0
// What an object is to one that refers to it: the key, index, attribute, variable ... that leads from one to the other.
// tp_traverse does not report, so an object's contents are read once, for all questions about them.
//
// Context: heap inspector. Runs none of the program's code.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/heap_inspector/naming/thread_locals.h"
#include "python/objects.h"
#include "python/text_pool.h"

namespace tensorscope::python::heap_inspector {

enum class ReferenceKind : uint8_t {
  unknown,           // text: the class of what it leads to; `number`: which one of that class, where there are several
  own_dict,          // an object's attributes; text: of a threading.local, whose
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
  cache_entry,       // of a function with a cache; text: the key, with brackets
  cache_key,         // text: the key
};

// Eight bytes: there is one for each object of a chain and each row of a tensor.
struct ReferenceEdge {
  uint32_t kind_and_text = 0;
  uint32_t number = kNoObject;

  ReferenceEdge() = default;
  ReferenceEdge(ReferenceKind kind, uint32_t text, uint32_t number)
      : kind_and_text(text << 5 | uint32_t(kind)), number(number) {}
  ReferenceKind kind() const { return ReferenceKind(kind_and_text & 31); }
  uint32_t text() const { return kind_and_text >> 5; }
  static constexpr uint32_t kMaxTexts = 1u << 27;
};

class Steps {
 public:
  // `texts` has the texts of all steps.
  Steps(const Gil& gil, const ObjectGraph& graph, Functions& functions, Attributes& attributes, TextPool& texts,
        const KnownClasses& classes, LookLimits& limits)
      : gil_(gil),
        graph_(graph),
        functions_(functions),
        attributes_(attributes),
        texts_(texts),
        classes_(classes),
        limits_(limits),
        thread_locals_(gil, attributes),
        has_post_accumulate_hooks_(classes.tensor != nullptr &&
                                   entry(gil, class_dict_of(classes.tensor), "_post_accumulate_grad_hooks")) {}

  struct Question {
    uint32_t from, to;
    uint32_t answer;  // its place among the answers
  };
  // Answers questions that all have the same `from`, ordered by `to` and `answer`. False: a limit was reached before
  // the end.
  bool answer(std::span<const Question> questions, PageArray<ReferenceEdge>& answers);

 private:
  class Wanted;

  void describe(Object* object, Kind kind, Wanted& wanted);
  void describe_by_kind(Object* object, Kind kind, Wanted& wanted);
  void describe_rest(Object* object, Kind kind, Wanted& wanted);
  void describe_dict(Object* dict, Wanted& wanted);
  void describe_sequence(Object* sequence, Kind kind, Wanted& wanted);
  void describe_deque(Object* deque, Wanted& wanted);
  void describe_array(Object* array, Wanted& wanted);
  void describe_lru_cache(Object* function, Wanted& wanted);
  void describe_context_map(Object* map, Wanted& wanted);
  const char* hooks_attribute(const Object* hooks, const Object* tensor) const;
  bool told_by(Object* object, PageArray<Object*>& told);
  void describe_function(Object* function, Wanted& wanted);
  void describe_frame(const Frame& frame, Wanted& wanted);
  void describe_attributes(Object* object, Wanted& wanted);
  // `several`: the container has other keys, of which some may be written alike.
  std::string key_text(Object* key, bool several, int depth = 0);
  uint32_t number_among_alike(uint32_t from, uint32_t to) const;
  uint32_t number_of_member(uint32_t from, uint32_t to) const;

  const Gil& gil_;
  const ObjectGraph& graph_;
  Functions& functions_;
  Attributes& attributes_;
  TextPool& texts_;
  const KnownClasses& classes_;
  LookLimits& limits_;
  ThreadLocals thread_locals_;
  const bool has_post_accumulate_hooks_;  // a tensor, from torch 2.1 on
};

}  // namespace tensorscope::python::heap_inspector
