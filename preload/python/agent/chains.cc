#include "python/agent/chains.h"

#include <fmt/format.h>

#include <algorithm>

#include "python/agent/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {

using Place = Chain::Place;
using dump::ReferenceRole;
using dump::ReferenceRoot;

constexpr size_t kLongestText = 400;
constexpr size_t kKeptBytes = 160;  // of each end of a text that is longer

bool continues_character(char c) { return (uint8_t(c) & 0xc0) == 0x80; }

void shorten(std::string& text) {
  if (text.size() <= kLongestText) return;
  size_t head = kKeptBytes, tail = text.size() - kKeptBytes;
  while (head > 0 && continues_character(text[head])) --head;
  while (tail < text.size() && continues_character(text[tail])) ++tail;
  text = text.substr(0, head) + " ... " + text.substr(tail);
}

void add_attribute(std::string& text, std::string_view name) {
  if (!text.empty()) text += '.';
  text += name;
}

uint64_t pair_key(uint32_t from, uint32_t to) { return uint64_t(from) << 32 | to; }

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || uint8_t(c) >= 0x80;
  });
}

void Chains::add_question(uint32_t from, uint32_t to) { questions_.push_back({from, to, {}}); }

// Marks everything on the way. Where a preferred parent has led in a circle, it is given up.
void Chains::want(uint32_t object) {
  wanted_.resize(graph_.size());
  while (paths_.reached(object) && !wanted_[object]) {
    std::vector<uint32_t> way;
    uint32_t at = object;
    bool circle = false;
    while (!wanted_[at]) {
      wanted_[at] = true;
      way.push_back(at);
      if (!paths_.has_other_parent(at) && paths_.root(at)) break;
      at = paths_.parent(at);
      circle = wanted_[at] && std::find(way.begin(), way.end(), at) != way.end();
    }
    if (!circle) {
      for (const uint32_t each : way) {
        if (paths_.has_other_parent(each) || !paths_.root(each)) add_question(paths_.parent(each), each);
      }
      return;
    }
    for (const uint32_t each : way) wanted_[each] = false;
    for (size_t i = way.size(); i-- > 0;) {
      if (!paths_.has_other_parent(way[i])) continue;
      paths_.drop_other_parent(way[i]);
      break;
    }
  }
}

void Chains::find_steps() {
  std::sort(questions_.begin(), questions_.end(),
            [](const auto& a, const auto& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  const auto same = [](const auto& a, const auto& b) { return a.from == b.from && a.to == b.to; };
  questions_.erase(std::unique(questions_.begin(), questions_.end(), same), questions_.end());
  answers_.reserve(questions_.size());
  for (size_t i = 0; i < questions_.size();) {
    size_t end = i;
    while (end < questions_.size() && questions_[end].from == questions_[i].from) ++end;
    steps_.answer(&questions_[i], end - i);
    i = end;
  }
  for (uint32_t i = 0; i < questions_.size(); ++i) answers_[pair_key(questions_[i].from, questions_[i].to)] = i;
}

const Step& Chains::step(uint32_t from, uint32_t to) const {
  static constinit const Step none{};
  const auto found = answers_.find(pair_key(from, to));
  return found == answers_.end() ? none : questions_[found->second].answer;
}

Chain Chains::begin(uint32_t object, const Root& root) const {
  Chain chain;
  chain.text = root.name;
  chain.scope = root.scope;
  chain.root = root.kind;
  chain.node = root.node;
  chain.main = root.main;
  chain.root_object = object;
  const Kind kind = kinds_[object];
  if (root.kind == ReferenceRoot::global && root.name.empty()) {
    chain.place = Place::globals;
  } else if (kind != Kind::cell) {
    chain.steps = 1;
  }
  if (kind == Kind::traceback) chain.place = Place::traceback;
  if (const std::string* name = kind == Kind::tensor ? nullptr : called(object)) chain.text = *name;
  return chain;
}

const Chain& Chains::of(uint32_t object) {
  std::vector<uint32_t> way;
  uint32_t at = object;
  while (!built_.contains(at)) {
    if (!paths_.has_other_parent(at)) {
      if (const Root* root = paths_.root(at)) {
        built_.emplace(at, begin(at, *root));
        break;
      }
    }
    way.push_back(at);
    at = paths_.parent(at);
  }
  for (size_t i = way.size(); i-- > 0;) {
    const uint32_t from = paths_.parent(way[i]);
    built_.emplace(way[i], extend(built_.at(from), from, step(from, way[i]), way[i]));
  }
  return built_.at(object);
}

Chain Chains::of(uint32_t holder, uint32_t object) { return extend(of(holder), holder, step(holder, object), object); }

void Chains::enter_attribute(Chain& chain, uint32_t owner, const std::string& name) const {
  const Kind kind = owner == kNoObject ? Kind::other : kinds_[owner];
  chain.owner = owner;
  if (kind == Kind::nn_module) {
    chain.role = ReferenceRole::module_attribute;
    chain.place = name == "_parameters" ? Place::parameters
                  : name == "_buffers"  ? Place::buffers
                  : name == "_modules"  ? Place::modules
                                        : Place::plain;
    if (chain.place != Place::plain) return;
  } else if (kind == Kind::optimizer && name == "state") {
    chain.place = Place::optimizer_state;
    chain.in_optimizer_state = true;
  }
  add_attribute(chain.text, name);
}

void Chains::enter_function(Chain& chain, const Step& step) const {
  const Place place = chain.place;
  chain.place = Place::plain;
  Object* code = gil_->PyFunction_GetCode(graph_.object(chain.owner));
  const FunctionFacts* facts = functions_.of(code);
  std::string name = step.text.empty() ? "?" : step.text;
  if (facts && place == Place::closure && step.number < facts->free_variables.size()) {
    name = facts->free_variables[step.number];
  }
  if (facts && place == Place::defaults) {
    Object* defaults = gil_->PyFunction_GetDefaults(graph_.object(chain.owner));
    const size_t count = defaults ? size_t(gil_->PyTuple_Size(defaults)) : 0;
    const size_t at = facts->parameters - std::min(count, facts->parameters) + step.number;
    if (at < facts->variables.size()) name = facts->variables[at];
  }
  const std::string function = chain.text.empty() && facts ? facts->name : chain.text;
  chain.text = fmt::format("{} of {}: {}", place == Place::closure ? "closure" : "default", function, name);
}

std::string Chains::name_of_frame(uint32_t object) const {
  Frame frame;
  const bool found = kinds_[object] == Kind::frame ? frame_of_object(gil_, graph_.object(object), frame)
                                                   : frame_of_generator(gil_, graph_.object(object), frame);
  const FunctionFacts* facts = found ? functions_.of(frame.code) : nullptr;
  return facts ? facts->name : "?";
}

void Chains::enter_variable(Chain& chain, uint32_t from, const std::string& name) const {
  const std::string function = name_of_frame(from);
  // Who keeps the exception, the generator or the frame.
  std::string keeper = chain.text;
  if (!keeper.empty() && chain.root == ReferenceRoot::global) keeper = chain.scope + ": " + keeper;
  if (!keeper.empty()) keeper = " (" + keeper + ")";
  if (chain.place == Place::traceback_frame) {
    const char* exception = chain.owner == kNoObject ? "exception" : short_class_name(gil_, graph_.object(chain.owner));
    chain.root = ReferenceRoot::traceback;
    chain.scope = fmt::format("{} in {}{}", exception, function, keeper);
  } else {
    chain.root = ReferenceRoot::suspended;
    chain.scope = function + keeper;
  }
  chain.text = name;
  chain.place = Place::plain;
}

void Chains::enter_key(Chain& chain, const Step& step) const {
  const Place place = chain.place;
  chain.place = Place::plain;
  if (step.kind == StepKind::object_key) {
    const std::string* name = step.number == kNoObject ? nullptr : called(step.number);
    chain.text += name ? fmt::format("['{}']", *name) : step.text;
    if (place == Place::optimizer_state) chain.place = Place::parameter_state;
    return;
  }
  switch (place) {
    case Place::globals:
      chain.text = step.text;
      break;
    case Place::parameters:
    case Place::buffers:
    case Place::modules:
      add_attribute(chain.text, step.text);
      chain.role = place == Place::parameters ? ReferenceRole::parameter
                   : place == Place::buffers  ? ReferenceRole::buffer
                                              : ReferenceRole::plain;
      break;
    case Place::keyword_defaults:
      chain.place = place;
      enter_function(chain, step);
      break;
    case Place::parameter_state:
      if (is_identifier(step.text)) {
        add_attribute(chain.text, step.text);
        break;
      }
      [[fallthrough]];
    default:
      chain.text += fmt::format("['{}']", step.text);
  }
}

// What the way looks like at `to`, which `from` refers to; `chain` is the way to `from`.
Chain Chains::extend(const Chain& before, uint32_t from, const Step& step, uint32_t to) const {
  Chain chain = before;
  chain.role = ReferenceRole::plain;
  if (step.kind != StepKind::content) chain.place = Place::plain;
  bool counts = true;
  switch (step.kind) {
    case StepKind::own_dict:
      chain.place = kinds_[from] == Kind::module ? Place::globals : Place::attributes;
      chain.owner = from;
      counts = false;
      break;
    case StepKind::attribute:
      enter_attribute(chain, from, step.text);
      counts = chain.place == Place::plain || chain.place == Place::optimizer_state;
      break;
    case StepKind::text_key:
      if (before.place == Place::attributes) {
        enter_attribute(chain, before.owner, step.text);
        counts = chain.place == Place::plain || chain.place == Place::optimizer_state;
        break;
      }
      [[fallthrough]];
    case StepKind::object_key:
      chain.place = before.place;
      enter_key(chain, step);
      break;
    case StepKind::index:
      if (before.place == Place::closure || before.place == Place::defaults) {
        chain.place = before.place;
        enter_function(chain, step);
        counts = before.place == Place::defaults;
      } else {
        chain.text += fmt::format("[{}]", step.number);
      }
      break;
    case StepKind::member:
      chain.text += fmt::format("{{{}}}", short_class_name(gil_, graph_.object(to)));
      break;
    case StepKind::key_itself:
      chain.text += " (key)";
      chain.in_optimizer_state = false;
      break;
    case StepKind::content:
      counts = false;
      break;
    case StepKind::closure:
    case StepKind::defaults:
    case StepKind::keyword_defaults:
      chain.place = step.kind == StepKind::closure    ? Place::closure
                    : step.kind == StepKind::defaults ? Place::defaults
                                                      : Place::keyword_defaults;
      chain.owner = from;
      counts = false;
      break;
    case StepKind::variable:
      chain.place = before.place;
      enter_variable(chain, from, step.text);
      break;
    case StepKind::traceback:
      chain.place = Place::traceback;
      if (kinds_[from] == Kind::exception) chain.owner = from;
      break;
    case StepKind::frame:
      chain.place = before.place == Place::traceback || before.place == Place::traceback_frame ? Place::traceback_frame
                                                                                               : Place::suspended_frame;
      break;
    case StepKind::unknown:
      add_attribute(chain.text, fmt::format("<{}>", short_class_name(gil_, graph_.object(to))));
      break;
  }
  if (kinds_[to] == Kind::cell) counts = false;
  chain.steps += counts;
  if (chain.in_optimizer_state && kinds_[to] == Kind::tensor) chain.role = ReferenceRole::optimizer_state;
  if (const std::string* name = kinds_[to] == Kind::tensor ? nullptr : called(to)) chain.text = *name;
  shorten(chain.text);
  return chain;
}

}  // namespace tensorscope::python::agent
