// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_graph.h"

#include <algorithm>
#include <utility>

#include "python/heap_inspector/foreign/dlpack_capsules.h"
#include "python/heap_inspector/foreign/numpy_arrays.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"
#include "support/enough_memory.h"
#include "support/probing.h"

namespace tensorscope::python::heap_inspector {

namespace {
constexpr size_t kFirstSlots = size_t{1} << 13;
constexpr size_t kAhead = 8;  // looks, each of which waits for memory
constexpr size_t kChecked = 64;
constexpr uint32_t kNoSlot = UINT32_MAX;
constexpr uint64_t kLarge = 4096;  // of what the collector does not know
constexpr uint64_t kUnit = 16;
constexpr uint64_t kHashBits = ~uint64_t{0} << 32;

size_t place_of(uint64_t hash) { return hash >> 20; }
uint32_t references_to(const Object* object) { return field<uint32_t>(object, 0); }

// What several of one container refer to counts as a whole with it. What very many refer to, as names and small
// numbers, is nobody's.
bool counts_in_parts(uint32_t references) {
  constexpr uint32_t kMost = 64;
  return references > 0 && references <= kMost;
}
// One of so many references has.
uint64_t part_of(uint64_t bytes, uint32_t references) { return counts_in_parts(references) ? bytes / references : 0; }
}  // namespace

// The low half counts in every series (3.12 on: Include/object.h, immortal objects); nobody has 2^31 references.
int64_t ObjectGraph::outside_references(uint32_t i) const {
  const Node& node = nodes_[i];
  const uint32_t count = i + 1 < first_.size() ? node.all : field<uint32_t>(node.object, 0);
  if (gil_->series >= 312 && int32_t(count) < 0) return INT32_MAX;
  const int64_t outside = int64_t(count) - node.inside;
  return outside > 0 ? outside : 0;
}

uint64_t ObjectGraph::hash(const Object* object) { return spread_bits(reinterpret_cast<uintptr_t>(object) >> 4); }

// Where the object's number stands or would stand.
uint32_t ObjectGraph::slot_of(const Object* object) const {
  const uint64_t mark = hash(object) << 32;
  return uint32_t(probe(slots_, place_of(hash(object)), [&](uint64_t slot) {
    return slot == 0 || ((slot & kHashBits) == mark && nodes_[uint32_t(slot) - 1].object == object);
  }));
}

uint32_t ObjectGraph::find(const Object* object) const {
  if (slots_.empty()) return kNoObject;
  return uint32_t(slots_[slot_of(object)]) - 1;  // 0 becomes kNoObject
}

bool ObjectGraph::grow() {
  PageArray<uint64_t> more;
  if (!more.resize(slots_.empty() ? kFirstSlots : slots_.size() * 2)) return false;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const uint64_t hashed = hash(nodes_[i].object);
    more[probe(more, place_of(hashed), [](uint64_t slot) { return slot == 0; })] = hashed << 32 | (i + 1);
  }
  slots_ = std::move(more);
  return true;
}

// May be called inside a walk of the collector's, which must end itself: what went wrong is only noted.
bool ObjectGraph::add(Object* object) {
  if (nodes_.size() >= slots_.size() / 4 * 3 && !grow()) return limits_.memory_ran_out(), false;
  uint64_t& slot = slots_[slot_of(object)];
  if (slot != 0) return true;
  if (nodes_.size() >= kNoSlot - 1 || !nodes_.push({object, 0, 0})) return limits_.memory_ran_out(), false;
  slot = hash(object) << 32 | nodes_.size();
  return true;
}

// The list of gc.get_objects is the interpreter's memory, which no limit of ours counts: about every second block of
// its allocator is an object that the collector knows.
bool ObjectGraph::list_fits() const {
  const MemoryLimit* limit = MemoryLimit::current();
  Object* get_blocks = limit ? builtin_function(gil_, "sys", "getallocatedblocks") : nullptr;
  if (get_blocks == nullptr) return true;
  const Owned blocks(gil_, gil_->PyObject_CallFunctionObjArgs(get_blocks, nullptr));
  const long long count = blocks ? gil_->PyLong_AsLongLong(blocks.get()) : 0;
  return count <= 0 || limit->has_room(uint64_t(count) / 2 * sizeof(Object*));
}

bool ObjectGraph::list(const char*& detail) {
  if (gil_->PyUnstable_GC_VisitObjects) {
    auto visit = [](Object* object, void* context) {
      auto* graph = static_cast<ObjectGraph*>(context);
      return int(!graph->limits_.reached() && graph->add_listed(object));
    };
    gil_->PyUnstable_GC_VisitObjects(visit, this);
  } else {
    if (!list_fits()) return limits_.memory_ran_out(), false;
    Object* get_objects = builtin_function(gil_, "gc", "get_objects");
    const Owned objects(gil_, get_objects ? gil_->PyObject_CallFunctionObjArgs(get_objects, nullptr) : nullptr);
    if (!objects || !has_flag(objects.get(), type_flags::kList)) {
      detail = "the program's gc module cannot be used";
      return false;
    }
    each_element(gil_, objects.get(),
                 [&](ptrdiff_t, Object* object) { return !limits_.reached() && add_listed(object); });
  }
  return limits_.part_stop() == LookLimits::Stop::none;
}

bool ObjectGraph::add_listed(Object* object) {
  member_is_listed_ |= frozen_ && object == frozen_->member();
  return add(object);
}

// What is hidden may refer to a tensor, or be garbage, with nothing visible that leads to it.
bool ObjectGraph::list_frozen(const char*& detail) {
  if (!frozen_ || member_is_listed_) return true;
  if (!frozen_->known()) {
    detail = "objects that gc.freeze() has hidden could not be listed";
    return false;
  }
  return frozen_->each([&](Object* object) { return !limits_.reached() && add(object); });
}

int ObjectGraph::told(Object* child) {
  if (limits_.reached()) return 1;
  __builtin_prefetch(child);
  if (told_.push(child)) return 0;
  limits_.memory_ran_out();
  return 1;
}

// What the collector does not know and may keep a tensor. (A capsule is collected from 3.13 on, but in no list.)
bool ObjectGraph::is_export(Object* object, Kind kind) const {
  if (kind == Kind::array) return arrays_;
  return kind == Kind::arrow || kind == Kind::script || (kind == Kind::capsule && exported_tensor(object) != nullptr);
}

// Of something that the collector has not listed.
bool ObjectGraph::counts(Object* object) const {
  if (is_export(object, kind_of(object)) || is_large(object)) return true;
  return is_collected(object) && tracking_is_known_ && (is_tracked(object) || leads_to_export(object, 0));
}

bool ObjectGraph::is_large(Object* object) const {
  return sizes_ && !is_collected(object) && sizes_->bytes(object) >= kLarge;
}

// What goes away with a reference to a tuple or a dict that is no object of the graph, and to what is in it, of which
// objects of C++ are counted. Such are small here (leads_to_export()).
uint64_t ObjectGraph::plain_bytes(Object* object, int depth, uint32_t& cpp_objects) const {
  constexpr int kDeepest = 4;
  const uint32_t references = references_to(object);
  if (!counts_in_parts(references)) return 0;
  uint64_t sum = sizes_->bytes(object) / references;
  uint32_t of_others = 0;
  uint32_t& counted = references == 1 ? cpp_objects : of_others;
  counted += kind_of(object) == Kind::cpp_object;
  if (!is_collected(object) || depth == kDeepest) return sum;
  const auto add = [&](Object* each) { sum += plain_bytes(each, depth + 1, counted) / references; };
  if (has_flag(object, type_flags::kTuple)) {
    each_element(gil_, object, [&](ptrdiff_t, Object* element) {
      add(element);
      return true;
    });
  } else {
    each_entry(gil_, object, [&](Object* key, Object* value) {
      for (Object* each : {key, value}) add(each);
      return true;
    });
  }
  return sum;
}

// Adds up what a tuple or a dict keeps that is no object of the graph. One that keeps much is an object, so that it has
// its own name as long as it has few entries, too.
bool ObjectGraph::is_small(Object* container, uint64_t& own, uint32_t& cpp_objects) const {
  if (!sizes_) return true;
  uint32_t inside = 0;
  const uint64_t bytes = plain_bytes(container, 0, inside);
  if (bytes >= kLarge) return false;
  own += bytes;
  cpp_objects += inside;
  return true;
}

void ObjectGraph::add_own(uint32_t i, uint64_t bytes) {
  if (i < units_.size()) units_[i] = uint32_t(std::min<uint64_t>(units_[i] + bytes / kUnit, UINT32_MAX));
}

// Most of what objects refer to: a text of Python's own is no object of the graph unless it is large.
bool ObjectGraph::note_text(Object* text, uint64_t& own) const {
  if (!sizes_) return false;
  const uint64_t bytes = sizes_->bytes_of_text(text);
  if (bytes >= kLarge) return true;
  own += part_of(bytes, references_to(text));
  return false;
}

// A dict whose keys are all texts does not show them to the collector (dict_traverse, Objects/dictobject.c, 3.8 to
// 3.15): it has told of as many objects as it has entries; one of a class of its own of that class and of its
// attributes, too. `told_` has what it told of.
bool ObjectGraph::has_only_text_keys(const Object* dict) const {
  constexpr ptrdiff_t kOfClass = 2;
  const ptrdiff_t entries = size_of_variable(dict);  // ma_used stands at that place
  const ptrdiff_t others = ptrdiff_t(told_.size()) - entries;
  return entries > 0 && (others == 0 || (others > 0 && others <= kOfClass && entries > kOfClass));
}

uint64_t ObjectGraph::bytes_of_text_keys(Object* dict) const {
  uint64_t sum = 0;
  each_entry(gil_, dict, [&](Object* key, Object*) {
    const uint32_t references = references_to(key);
    const bool counts = type_of(key) == gil_->PyUnicode_Type && counts_in_parts(references);
    if (counts) sum += sizes_->bytes_of_text(key) / references;
    return true;
  });
  return sum;
}

// Of what the collector does not know: whether it is an object of the graph. Adds up what is not.
bool ObjectGraph::note_plain(Object* child, uint64_t& own, uint32_t& cpp_objects) {
  const Kind kind = kind_of(child);
  if (is_export(child, kind)) return true;
  if (!sizes_) return false;
  const uint64_t bytes = sizes_->bytes(child);
  if (bytes >= kLarge) return true;
  own += part_of(bytes, references_to(child));
  cpp_objects += is_cpp_kind(kind);
  return false;
}

bool ObjectGraph::note_own(uint32_t i, uint64_t bytes, uint32_t cpp_objects) {
  if (!sizes_) return true;
  if (cpp_objects > 0 && !cpp_objects_.push({i, cpp_objects})) return false;
  return units_.push(uint32_t(std::min<uint64_t>(bytes / kUnit, UINT32_MAX)));
}

// The collector leaves a tuple or a dict out while nothing in it is of a kind that it knows. A large one counts unseen:
// it is then looked through once, and not for each reference to it.
bool ObjectGraph::leads_to_export(Object* container, int depth) const {
  constexpr ptrdiff_t kSmall = 32;
  constexpr int kDeepest = 3;
  const bool tuple = has_flag(container, type_flags::kTuple);
  const bool dict = has_flag(container, type_flags::kDict) ||
                    (gil_->PyFrozenDict_Type && is_a(gil_, container, gil_->PyFrozenDict_Type));
  if (!tuple && !dict) return false;
  if (size_of_variable(container) > kSmall) return true;  // ma_used of a dict stands at the same place
  bool found = false;
  const auto look = [&](Object* element) {
    found = is_export(element, kind_of(element)) ||
            (depth < kDeepest && is_collected(element) && leads_to_export(element, depth + 1));
    return !found;
  };
  if (tuple) {
    each_element(gil_, container, [&](ptrdiff_t, Object* element) { return look(element); });
  } else {
    each_entry(gil_, container, [&](Object*, Object* value) { return look(value); });
  }
  return found;
}

// Objects may be added while this goes on. A reference to what the collector does not know is passed over.
bool ObjectGraph::look_into(uint32_t i) {
  Object* const object = nodes_[i].object;
  Object* const type = type_of(object);
  auto visit = [](Object* child, void* context) { return static_cast<ObjectGraph*>(context)->told(child); };
  told_.clear();
  const Traverse traverse = traverse_of(type);
  const Kind kind = kind_of(object);
  if (traverse && is_collected(object) && kind != Kind::capsule) traverse(object, visit, this);
  if (kind == Kind::array && arrays_) {
    each_referent_of_array(gil_, object, kinds_->classes(), [&](Object* child) { return told(child) == 0; });
  }
  if (limits_.reached()) return false;
  size_t known = 0;
  const Object* const text_type = gil_->PyUnicode_Type;
  uint64_t own = sizes_ ? sizes_->bytes(object) : 0;
  uint32_t cpp_objects = is_cpp_kind(kind);
  for (Object* child : told_) {
    if (type_of(child) == text_type) {
      if (!note_text(child, own)) continue;
    } else if (!is_collected(child) && !note_plain(child, own, cpp_objects)) {
      continue;
    }
    told_[known++] = child;
    __builtin_prefetch(&slots_[place_of(hash(child)) & (slots_.size() - 1)]);
  }
  if (kind == Kind::dict && sizes_ && has_only_text_keys(object)) {
    own += bytes_of_text_keys(object) - std::min(own, sizes_->less_with_text_keys(object));
  }
  const size_t first = references_.size();
  for (size_t j = 0; j < known; ++j) {
    Object* child = told_[j];
    uint32_t index = find(child);
    if (index == kNoObject) {
      if (!counts(child) && is_small(child, own, cpp_objects)) continue;
      if (!add(child)) return false;
      index = uint32_t(nodes_.size() - 1);
    }
    if (!references_.push(index)) return limits_.memory_ran_out(), false;
  }
  for (size_t j = first; j < references_.size(); ++j) ++nodes_[references_[j]].inside;
  nodes_[i].all = field<uint32_t>(object, 0);
  const bool noted =
      note_own(i, own, cpp_objects) && first_.push(uint32_t(references_.size())) && (!kinds_ || kind_.push(kind));
  if (!noted || references_.size() >= UINT32_MAX - 1) limits_.memory_ran_out();
  return noted;
}

bool ObjectGraph::look_into_all() {
  for (uint32_t i = uint32_t(first_.size() - 1); i < nodes_.size(); ++i) {
    if (i + kAhead < nodes_.size()) __builtin_prefetch(nodes_[i + kAhead].object);
    if (limits_.reached() || !look_into(i)) return false;
  }
  return true;
}

void ObjectGraph::tell_other_kinds() {
  for (uint32_t i = uint32_t(kind_.size()); kinds_ && i < nodes_.size(); ++i) {
    if (limits_.reached() || !kind_.push(kinds_->of_type(type_of(nodes_[i].object)))) return;
  }
}

bool ObjectGraph::read(const std::vector<Object*>& first, const char*& detail) {
  if (!first_.push(0) || !grow()) return limits_.memory_ran_out(), false;
  tracking_is_known_ = first.empty() || is_tracked(first[0]);
  arrays_ = kinds_ && array_layout_is_known(gil_, kinds_->classes());
  for (Object* object : first) {
    if (counts(object) && !add(object)) return false;
  }
  if (!look_into_all()) return false;
  const size_t listed = nodes_.size();
  if (!list(detail)) return false;
  for (size_t i = listed; i < nodes_.size() && i < listed + kChecked; ++i) {
    tracking_is_known_ &= is_tracked(nodes_[i].object);
  }
  const bool frozen = list_frozen(detail);
  return complete_ = look_into_all() && frozen;
}

std::vector<bool> reachable_objects(const ObjectGraph& graph) {
  std::vector<bool> reached(graph.size());
  PageArray<uint32_t> open;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.outside_references(i) == 0) continue;
    reached[i] = true;
    if (!open.push(i)) return {};
  }
  while (!open.empty()) {
    const uint32_t next = open.back();
    open.pop();
    for (const uint32_t child : graph.references(next)) {
      if (reached[child]) continue;
      reached[child] = true;
      if (!open.push(child)) return {};
    }
  }
  return reached;
}

}  // namespace tensorscope::python::heap_inspector
