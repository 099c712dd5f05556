// Ways through objects as a person would write them: `trainer.model.fc1.weight`, `history[1043]['loss']`,
// `closure of step: cache[3]`, `Adam.state['fc1.weight'].exp_avg`. Say first which are wanted, so that each object's
// contents are gone through once.
//
// Context: agent. Iterative: a chain may be as long as there are objects. What is long is cut in the middle.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/agent/object_paths.h"
#include "python/agent/steps.h"

namespace tensorscope::python::agent {

struct Chain {
  // What the object is on its way, where that decides how what it holds is written.
  enum class Place : uint8_t {
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
  dump::ReferenceRoot root = dump::ReferenceRoot::extension;
  dump::ReferenceRole role = dump::ReferenceRole::plain;  // of a tensor that this leads to
  Place place = Place::plain;
  bool in_optimizer_state = false;
  bool main = false;  // from the main script's globals
};

class Chains {
 public:
  Chains(const Gil& gil, const ObjectGraph& graph, const std::vector<Kind>& kinds, ObjectPaths& paths, Steps& steps,
         Functions& functions)
      : gil_(gil), graph_(graph), kinds_(kinds), paths_(paths), steps_(steps), functions_(functions) {}

  // An object that is named by its whole chain, or by what refers to it last.
  void want(uint32_t object);
  void want(uint32_t holder, uint32_t object) {
    want(holder);
    add_question(holder, object);
  }
  // Once, after all that is wanted is known.
  void find_steps();

  // How an optimizer, a module, or a tensor that is a key, is called. Chains that are built already keep what they say.
  void call(uint32_t object, std::string name) { names_[object] = std::move(name); }
  const std::string* called(uint32_t object) const {
    const auto found = names_.find(object);
    return found == names_.end() ? nullptr : &found->second;
  }

  const Chain& of(uint32_t object);
  Chain of(uint32_t holder, uint32_t object);

 private:
  void add_question(uint32_t from, uint32_t to);
  const Step& step(uint32_t from, uint32_t to) const;
  Chain begin(uint32_t object, const Root& root) const;
  Chain extend(const Chain& chain, uint32_t from, const Step& step, uint32_t to) const;
  void enter_attribute(Chain& chain, uint32_t owner, const std::string& name) const;
  void enter_function(Chain& chain, const Step& step) const;
  void enter_variable(Chain& chain, uint32_t from, const std::string& name) const;
  void enter_key(Chain& chain, const Step& step) const;
  std::string name_of_frame(uint32_t object) const;

  const Gil& gil_;
  const ObjectGraph& graph_;
  const std::vector<Kind>& kinds_;
  ObjectPaths& paths_;
  Steps& steps_;
  Functions& functions_;
  std::vector<bool> wanted_;
  std::vector<Steps::Question> questions_;
  std::unordered_map<uint64_t, uint32_t> answers_;  // (from, to) -> question
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_map<uint32_t, Chain> built_;
};

// "model.fc1", "['a b']": how a text key or attribute is added to what comes before it.
bool is_identifier(std::string_view text);

}  // namespace tensorscope::python::agent
