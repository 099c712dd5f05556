// SPDX-License-Identifier: Apache-2.0
// Reference chains as a person would write them: `trainer.model.fc1.weight`, `history[1043]['loss']`,
// `closure of step: cache[3]`, `Adam.state['fc1.weight'].exp_avg`. Say first which are wanted, in as many batches as
// there are, so that each object's contents are gone through once a batch.
//
// Context: heap inspector. Iterative: a chain may be as long as there are objects. What is long is cut in the middle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/graph/steps.h"

namespace tensorscope::python::heap_inspector {

struct Chain {
  // The object's role in its chain, where that decides how what it holds is written.
  enum class Position : uint8_t {
    plain,
    globals,     // a module's
    attributes,  // the __dict__ of `owner`
    parameters,  // an nn.Module's registers
    buffers,
    modules,
    closure,   // of the function `owner`
    defaults,  // the same
    keyword_defaults,
    traceback,        // of the exception `owner`
    traceback_frame,  // the same
    suspended_frame,
    optimizer_state,  // Optimizer.state
    parameter_state,  // one parameter's entry there
  };

  std::string text;
  std::string scope;
  uint32_t root_object = kNoObject;
  uint32_t owner = kNoObject;
  uint32_t node = UINT32_MAX;
  uint32_t steps = 0;
  format::ReferenceRoot root = format::ReferenceRoot::extension;
  format::ReferenceRole role = format::ReferenceRole::plain;  // of a tensor that this leads to
  Position position = Position::plain;
  bool in_optimizer_state = false;
  format::ReferenceWithin within = format::ReferenceWithin::nothing;  // what the chain contains
  bool main = false;                                                  // from the main script's globals
  uint32_t call = 0;                                                  // as Root::call
  // The object that the text begins at: the root, or the generator or frame whose variable it is. kNoObject: a variable
  // of a running call or of the main script, or something whose text is unique already.
  uint32_t begins_at = kNoObject;
};

class Chains {
 public:
  Chains(const Gil& gil, const ObjectGraph& graph, ObjectPaths& paths, Functions& functions, Attributes& attributes,
         const KnownClasses& classes, LookLimits& limits);

  // An object that is named by its whole chain, or by what refers to it last: the number is for extend_to_held().
  void want(uint32_t object);
  uint32_t want(uint32_t holder, uint32_t object) {
    want(holder);
    return add_question(holder, object);
  }
  // How much the present batch wants.
  size_t questions() const { return questions_.size(); }
  // Call when all that a batch wants is known. Returns false if a limit was reached: then this batch has no answers.
  bool find_steps();

  // How an optimizer, a module, or a tensor that is a key, is called. Chains that are built already keep what they say.
  void call(uint32_t object, std::string name) { names_[object] = std::move(name); }
  const std::string* called(uint32_t object) const {
    const auto found = names_.find(object);
    return found == names_.end() ? nullptr : &found->second;
  }

  // False after a limit was reached: the chain is not what it should be.
  bool ready() const { return !texts_.full() && !limits_.reached(); }
  Chain of(uint32_t object);
  // Extends the reference chain of a holder to what it holds. `answer`: what want(holder, object) said.
  void extend_to_held(Chain& chain, uint32_t holder, uint32_t object, uint32_t answer) const {
    if (answer < answers_.size()) extend(chain, holder, answers_[answer], object);
  }

 private:
  // A chain as it is kept: one for each object of a chain.
  struct Kept {
    uint32_t text, scope, root_object, owner, node, steps;
    format::ReferenceRoot root;
    format::ReferenceRole role;
    Chain::Position position;
    format::ReferenceWithin within;
    bool in_optimizer_state, main;
    uint32_t call, begins_at;
  };

  void sort_questions();
  bool sort_by(uint32_t Steps::Question::*field);
  uint32_t add_question(uint32_t from, uint32_t to);
  bool begins_at(uint32_t object) const { return !paths_.has_other_parent(object) && paths_.is_root(object); }
  void keep(uint32_t object, const Chain& chain);
  Chain kept(uint32_t object) const;
  Chain begin(uint32_t object) const;
  void extend(Chain& chain, uint32_t from, const ReferenceEdge& step, uint32_t to) const;
  bool enter(Chain& chain, uint32_t from, const ReferenceEdge& step, Chain::Position position) const;
  bool enter_object(Chain& chain, uint32_t from, const ReferenceEdge& step, Chain::Position position) const;
  bool enter_element(Chain& chain, const ReferenceEdge& step, Chain::Position position) const;
  void enter_attribute(Chain& chain, uint32_t owner, std::string_view name) const;
  void enter_function(Chain& chain, const ReferenceEdge& step) const;
  void enter_variable(Chain& chain, uint32_t from, std::string_view name) const;
  void enter_key(Chain& chain, const ReferenceEdge& step) const;
  std::string name_of_frame(uint32_t object) const;

  const Gil& gil_;
  const ObjectGraph& graph_;
  ObjectPaths& paths_;
  Functions& functions_;
  LookLimits& limits_;
  TextPool texts_;  // of steps and of chains that are kept
  Steps steps_;
  PageArray<uint32_t> way_;               // of each object: 0, kOnWay, or kFirstAnswer + how its parent leads to it
  PageArray<Steps::Question> questions_;  // of this batch
  PageArray<ReferenceEdge> answers_;      // of all
  PageArray<uint32_t> number_;            // of each object: its position among kept_ plus 1
  PageArray<Kept> kept_;
  PageArray<uint32_t> scratch_;  // a chain
  std::unordered_map<uint32_t, std::string> names_;
};

// "model.fc1", "['a b']": how a text key or attribute is added to what comes before it.
bool is_identifier(std::string_view text);

}  // namespace tensorscope::python::heap_inspector
