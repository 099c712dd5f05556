// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python::heap_inspector {

namespace {

using Position = Chain::Position;
using format::ReferenceRole;
using format::ReferenceRoot;
using format::ReferenceWithin;

constexpr size_t kLongestText = 400;
constexpr size_t kKeptBytes = 160;  // of each end of a text that is longer

void shorten(std::string& text) {
  if (text.size() <= kLongestText) return;
  text = std::string(text_beginning(text, kKeptBytes)) + " ... " + std::string(text_end(text, kKeptBytes));
}

void add_attribute(std::string& text, std::string_view name) {
  if (!text.empty()) text += '.';
  text += name;
}

// Whether two roots with the same texts may be two objects that a person would take for one.
bool named_by_object(const Root& root) {
  return !root.main && root.kind != ReferenceRoot::local && root.kind != ReferenceRoot::node &&
         root.kind != ReferenceRoot::cycle;
}

// In Chains::way_.
constexpr uint32_t kOnWay = 1, kFirstAnswer = 2;
constexpr uint32_t kNoAnswer = UINT32_MAX;

constexpr size_t kManyQuestions = 4096;

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || uint8_t(c) >= 0x80;
  });
}

Chains::Chains(const Gil& gil, const ObjectGraph& graph, ObjectPaths& paths, Functions& functions,
               Attributes& attributes, const KnownClasses& classes, LookLimits& limits)
    : gil_(gil),
      graph_(graph),
      paths_(paths),
      functions_(functions),
      limits_(limits),
      steps_(gil, graph, functions, attributes, texts_, classes, limits) {
  if (!way_.resize(graph.size()) || !number_.resize(graph.size())) limits_.memory_ran_out();
}

uint32_t Chains::add_question(uint32_t from, uint32_t to) {
  const auto answer = uint32_t(answers_.size());
  if (answers_.push({}) && questions_.push({from, to, answer})) return answer;
  limits_.memory_ran_out();
  return kNoAnswer;
}

// Marks every object of the chain. A preferred parent that forms a cycle is dropped.
void Chains::want(uint32_t object) {
  if (number_.size() < graph_.size()) return;
  while (paths_.reached(object) && way_[object] == 0 && !limits_.reached()) {
    scratch_.clear();
    uint32_t at = object;
    bool circle = false, room = true;
    while (way_[at] == 0 && (room = scratch_.push(at))) {
      way_[at] = kOnWay;
      if (begins_at(at)) break;
      at = paths_.parent(at);
      circle = way_[at] == kOnWay && std::find(scratch_.begin(), scratch_.end(), at) != scratch_.end();
    }
    for (const uint32_t each : scratch_) {
      const bool asked = room && !circle && !begins_at(each);
      const uint32_t answer = asked ? add_question(paths_.parent(each), each) : kNoAnswer;
      way_[each] = answer != kNoAnswer ? kFirstAnswer + answer : room && !circle && begins_at(each) ? kOnWay : 0;
    }
    if (!room) limits_.memory_ran_out();
    if (!circle) return;
    for (size_t i = scratch_.size(); i-- > 0;) {
      if (!paths_.has_other_parent(scratch_[i])) continue;
      paths_.drop_other_parent(scratch_[i]);
      break;
    }
  }
}

// By `from`, then by `to`, then in the order in which they came.
void Chains::sort_questions() {
  if (questions_.size() >= kManyQuestions && sort_by(&Steps::Question::to) && sort_by(&Steps::Question::from)) return;
  std::sort(questions_.begin(), questions_.end(), [](const Steps::Question& a, const Steps::Question& b) {
    return std::tie(a.from, a.to, a.answer) < std::tie(b.from, b.to, b.answer);
  });
}

// Stable, and linear. False: no memory; the order is any.
bool Chains::sort_by(uint32_t Steps::Question::*field) {
  constexpr unsigned kBits = 11;
  PageArray<Steps::Question> sorted;
  if (!sorted.resize(questions_.size())) return false;
  for (unsigned shift = 0; shift < 32 && graph_.size() >> shift != 0; shift += kBits) {
    uint32_t places[1 << kBits] = {};
    const auto digit = [&](const Steps::Question& question) { return question.*field >> shift & ((1 << kBits) - 1); };
    for (const Steps::Question& question : questions_) ++places[digit(question)];
    uint32_t position = 0;
    for (uint32_t& each : places) position += std::exchange(each, position);
    for (const Steps::Question& question : questions_) sorted[places[digit(question)]++] = question;
    std::swap(questions_, sorted);
  }
  return true;
}

bool Chains::find_steps() {
  sort_questions();
  const Steps::Question* first = questions_.begin();
  while (first != questions_.end() && !limits_.reached()) {
    const Steps::Question* last = first;
    while (last != questions_.end() && last->from == first->from) ++last;
    if (!steps_.answer({first, last}, answers_)) break;
    first = last;
  }
  const bool answered = first == questions_.end();
  for (const Steps::Question& question : questions_) {  // a later batch may ask again
    if (!answered && way_[question.to] == kFirstAnswer + question.answer) way_[question.to] = 0;
  }
  questions_.clear();
  return answered && ready();
}

Chain Chains::begin(uint32_t object) const {
  Root root = *paths_.root(object);
  Chain chain;
  chain.text = std::move(root.name);
  chain.scope = std::move(root.scope);
  chain.root = root.kind;
  chain.node = root.node;
  chain.main = root.main;
  chain.call = root.call;
  chain.root_object = object;
  if (named_by_object(root)) chain.begins_at = object;
  const Kind kind = graph_.kind(object);
  if (root.kind == ReferenceRoot::global && chain.text.empty()) {
    chain.position = Position::globals;
  } else if (kind == Kind::context) {
    chain.position = Position::globals;
  } else if (kind != Kind::cell) {
    chain.steps = 1;
  }
  if (kind == Kind::traceback) chain.position = Position::traceback;
  if (const std::string* name = kind == Kind::tensor ? nullptr : called(object)) chain.text = *name;
  return chain;
}

void Chains::keep(uint32_t object, const Chain& chain) {
  const Kept kept = {texts_.intern(chain.text),
                     texts_.intern(chain.scope),
                     chain.root_object,
                     chain.owner,
                     chain.node,
                     chain.steps,
                     chain.root,
                     chain.role,
                     chain.position,
                     chain.within,
                     chain.in_optimizer_state,
                     chain.main,
                     chain.call,
                     chain.begins_at};
  if (texts_.full() || !kept_.push(kept)) return limits_.memory_ran_out();
  number_[object] = uint32_t(kept_.size());
}

Chain Chains::kept(uint32_t object) const {
  const Kept& kept = kept_[number_[object] - 1];
  return {std::string(texts_[kept.text]),
          std::string(texts_[kept.scope]),
          kept.root_object,
          kept.owner,
          kept.node,
          kept.steps,
          kept.root,
          kept.role,
          kept.position,
          kept.in_optimizer_state,
          kept.within,
          kept.main,
          kept.call,
          kept.begins_at};
}

Chain Chains::of(uint32_t object) {
  if (number_.size() < graph_.size()) return {};
  scratch_.clear();
  uint32_t at = object;
  while (number_[at] == 0 && !begins_at(at)) {
    if (way_[at] < kFirstAnswer || !scratch_.push(at)) return limits_.memory_ran_out(), Chain();
    at = paths_.parent(at);
  }
  Chain chain = number_[at] != 0 ? kept(at) : begin(at);
  if (number_[at] == 0) keep(at, chain);
  for (size_t i = scratch_.size(); i-- > 0 && !limits_.reached();) {
    const uint32_t to = scratch_[i];
    extend(chain, at, answers_[way_[to] - kFirstAnswer], to);
    keep(to, chain);
    at = to;
  }
  return chain;
}

void Chains::enter_attribute(Chain& chain, uint32_t owner, std::string_view name) const {
  const Kind kind = owner == kNoObject ? Kind::other : graph_.kind(owner);
  chain.owner = owner;
  if (kind == Kind::nn_module) {
    chain.role = ReferenceRole::module_attribute;
    chain.position = name == "_parameters" ? Position::parameters
                     : name == "_buffers"  ? Position::buffers
                     : name == "_modules"  ? Position::modules
                                           : Position::plain;
    if (chain.position != Position::plain) return;
  } else if (kind == Kind::optimizer && name == "state") {
    chain.position = Position::optimizer_state;
    chain.in_optimizer_state = true;
  }
  add_attribute(chain.text, name);
}

void Chains::enter_function(Chain& chain, const ReferenceEdge& step) const {
  const Position position = chain.position;
  chain.position = Position::plain;
  Object* code = gil_->PyFunction_GetCode(graph_.object(chain.owner));
  const FunctionFacts* facts = functions_.of(code);
  std::string name = step.text() == 0 ? "?" : std::string(texts_[step.text()]);
  if (facts && position == Position::closure && step.number < facts->free_variables.size()) {
    name = facts->free_variables[step.number];
  }
  if (facts && position == Position::defaults) {
    Object* defaults = gil_->PyFunction_GetDefaults(graph_.object(chain.owner));
    const size_t count = defaults ? size_t(gil_->PyTuple_Size(defaults)) : 0;
    const size_t at = facts->parameters - std::min(count, facts->parameters) + step.number;
    if (at < facts->variables.size()) name = facts->variables[at];
  }
  const std::string function = chain.text.empty() && facts ? facts->name : chain.text;
  chain.text = fmt::format("{} of {}: {}", position == Position::closure ? "closure" : "default", function, name);
}

std::string Chains::name_of_frame(uint32_t object) const {
  Frame frame;
  const bool found = graph_.kind(object) == Kind::frame ? frame_of_object(gil_, graph_.object(object), frame)
                                                        : frame_of_generator(gil_, graph_.object(object), frame);
  const FunctionFacts* facts = found ? functions_.of(frame.code) : nullptr;
  return facts ? facts->name : "?";
}

void Chains::enter_variable(Chain& chain, uint32_t from, std::string_view name) const {
  const std::string function = name_of_frame(from);
  // Who keeps the exception, the generator or the frame.
  std::string keeper = chain.text;
  if (!keeper.empty() && chain.root == ReferenceRoot::global) keeper = chain.scope + ": " + keeper;
  if (!keeper.empty()) keeper = " (" + keeper + ")";
  if (chain.position == Position::traceback_frame) {
    const char* exception = chain.owner == kNoObject ? "exception" : short_class_name(gil_, graph_.object(chain.owner));
    chain.root = ReferenceRoot::traceback;
    chain.scope = fmt::format("{} in {}{}", exception, function, keeper);
  } else {
    chain.root = ReferenceRoot::suspended;
    chain.scope = function + keeper;
  }
  chain.text = name;
  chain.begins_at = from;
  chain.position = Position::plain;
}

void Chains::enter_key(Chain& chain, const ReferenceEdge& step) const {
  const Position position = chain.position;
  const std::string_view text = texts_[step.text()];
  chain.position = Position::plain;
  if (step.kind() == ReferenceKind::object_key) {
    const std::string* name = step.number == kNoObject ? nullptr : called(step.number);
    chain.text += name ? fmt::format("['{}']", *name) : std::string(text);
    if (position == Position::optimizer_state) chain.position = Position::parameter_state;
    return;
  }
  switch (position) {
    case Position::globals:
      chain.text = text;
      break;
    case Position::parameters:
    case Position::buffers:
    case Position::modules:
      add_attribute(chain.text, text);
      chain.role = position == Position::parameters ? ReferenceRole::parameter
                   : position == Position::buffers  ? ReferenceRole::buffer
                                                    : ReferenceRole::plain;
      break;
    case Position::keyword_defaults:
      chain.position = position;
      enter_function(chain, step);
      break;
    case Position::parameter_state:
      if (is_identifier(text)) {
        add_attribute(chain.text, text);
        break;
      }
      [[fallthrough]];
    default:
      chain.text += fmt::format("['{}']", text);
  }
}

// Whether the step is one that a person would count.
bool Chains::enter_object(Chain& chain, uint32_t from, const ReferenceEdge& step, Position position) const {
  switch (step.kind()) {
    case ReferenceKind::own_dict:
      chain.position = graph_.kind(from) == Kind::module ? Position::globals : Position::attributes;
      chain.owner = from;
      if (step.text() != 0)
        chain.scope += fmt::format("{}thread {}", chain.scope.empty() ? "" : ", ", texts_[step.text()]);
      return false;
    case ReferenceKind::closure:
    case ReferenceKind::defaults:
    case ReferenceKind::keyword_defaults:
      chain.position = step.kind() == ReferenceKind::closure    ? Position::closure
                       : step.kind() == ReferenceKind::defaults ? Position::defaults
                                                                : Position::keyword_defaults;
      chain.owner = from;
      return false;
    case ReferenceKind::traceback:
      chain.position = Position::traceback;
      if (graph_.kind(from) == Kind::exception) chain.owner = from;
      return true;
    case ReferenceKind::frame:
      chain.position = position == Position::traceback || position == Position::traceback_frame
                           ? Position::traceback_frame
                           : Position::suspended_frame;
      return true;
    case ReferenceKind::variable:
      chain.position = position;
      enter_variable(chain, from, texts_[step.text()]);
      return true;
    default:
      return false;  // the content of a shell
  }
}

// The same of a step to an element of a container.
bool Chains::enter_element(Chain& chain, const ReferenceEdge& step, Position position) const {
  const std::string_view text = texts_[step.text()];
  switch (step.kind()) {
    case ReferenceKind::text_key:
    case ReferenceKind::object_key:
      chain.position = position;
      enter_key(chain, step);
      return true;
    case ReferenceKind::index:
      if (position == Position::closure || position == Position::defaults) {
        chain.position = position;
        enter_function(chain, step);
        return position == Position::defaults;
      }
      fmt::format_to(std::back_inserter(chain.text), "[{}]", step.number);
      return true;
    case ReferenceKind::member:
      chain.text += fmt::format(
          "{{{}}}", step.number == kNoObject ? std::string(text) : object_text(text, graph_.object(step.number)));
      return true;
    case ReferenceKind::key_itself:
      chain.text += " (key)";
      chain.in_optimizer_state = false;
      return true;
    case ReferenceKind::cache_entry:
      chain.text = fmt::format("lru_cache of {}{}", chain.text, text);
      return !text.empty();
    case ReferenceKind::cache_key:
      chain.text = fmt::format("lru_cache of {} (key {})", chain.text, text);
      return true;
    default:
      add_attribute(chain.text,
                    step.number == kNoObject ? fmt::format("<{}>", text) : fmt::format("<{} {}>", text, step.number));
      return true;
  }
}

// The step after `position`. Whether it is one that a person would count.
bool Chains::enter(Chain& chain, uint32_t from, const ReferenceEdge& step, Position position) const {
  const bool key_of_attributes = step.kind() == ReferenceKind::text_key && position == Position::attributes;
  if (step.kind() == ReferenceKind::attribute || key_of_attributes) {
    enter_attribute(chain, key_of_attributes ? chain.owner : from, texts_[step.text()]);
    return chain.position == Position::plain || chain.position == Position::optimizer_state;
  }
  switch (step.kind()) {
    case ReferenceKind::text_key:
    case ReferenceKind::object_key:
    case ReferenceKind::index:
    case ReferenceKind::member:
    case ReferenceKind::key_itself:
    case ReferenceKind::cache_entry:
    case ReferenceKind::cache_key:
    case ReferenceKind::unknown:
      return enter_element(chain, step, position);
    default:
      return enter_object(chain, from, step, position);
  }
}

// Extends the reference chain of `from` to `to`, which `from` refers to.
void Chains::extend(Chain& chain, uint32_t from, const ReferenceEdge& step, uint32_t to) const {
  const Position position = chain.position;
  chain.role = ReferenceRole::plain;
  if (step.kind() != ReferenceKind::content) chain.position = Position::plain;
  if (graph_.kind(from) == Kind::dataset) chain.within = ReferenceWithin::dataset;
  if (graph_.kind(from) == Kind::kv_cache) chain.within = ReferenceWithin::kv_cache;
  const bool counts = enter(chain, from, step, position);
  chain.steps += counts && graph_.kind(to) != Kind::cell;
  if (chain.in_optimizer_state && graph_.kind(to) == Kind::tensor) chain.role = ReferenceRole::optimizer_state;
  if (const std::string* name = graph_.kind(to) == Kind::tensor ? nullptr : called(to)) chain.text = *name;
  shorten(chain.text);
}

}  // namespace tensorscope::python::heap_inspector
