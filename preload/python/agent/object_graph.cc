#include "python/agent/object_graph.h"

#include <utility>

#include "python/agent/type_fields.h"
#include "python/objects.h"
#include "support/enough_memory.h"

namespace tensorscope::python::agent {

namespace {
constexpr size_t kObjectsPerClockReading = 4096;
constexpr size_t kAhead = 8;  // looks, each of which waits for memory
constexpr char kNoMemory[] = "there was not enough memory";
constexpr char kNoTimeToLook[] = "the time was up before all objects were looked at";
}  // namespace

// The low half counts in every series (3.12 on: Include/object.h, immortal objects); nobody has 2^31 references.
int64_t ObjectGraph::outside_references(uint32_t i) const {
  const auto count = field<uint32_t>(objects_[i], 0);
  if (gil_->series >= 312 && int32_t(count) < 0) return INT32_MAX;
  const int64_t outside = int64_t(count) - inside_[i];
  return outside > 0 ? outside : 0;
}

uint64_t ObjectGraph::hash(const Object* object) {
  return (reinterpret_cast<uintptr_t>(object) >> 4) * 0x9e3779b97f4a7c15u >> 20;
}

ObjectGraph::Slot& ObjectGraph::slot_of(const Object* object) {
  size_t at = hash(object) & mask_;
  while (slots_[at].object && slots_[at].object != object) at = (at + 1) & mask_;
  return slots_[at];
}

uint32_t ObjectGraph::find(const Object* object) const {
  if (slots_.empty()) return kNoObject;
  for (size_t at = hash(object) & mask_; slots_[at].object; at = (at + 1) & mask_) {
    if (slots_[at].object == object) return slots_[at].index;
  }
  return kNoObject;
}

bool ObjectGraph::grow() {
  return run_if_memory_lasts([&] {
    std::vector<Slot> more(slots_.empty() ? 1024 : slots_.size() * 2);
    mask_ = more.size() - 1;
    slots_ = std::move(more);
    for (uint32_t i = 0; i < objects_.size(); ++i) slot_of(objects_[i]) = {objects_[i], i};
    objects_.reserve(slots_.size() / 2);
    inside_.reserve(slots_.size() / 2);
  });
}

// May be called inside a walk of the collector's, which must end itself: memory that runs out is only noted.
bool ObjectGraph::add(Object* object) {
  if (objects_.size() >= slots_.size() / 2 && !grow()) return memory_lasted_ = false;
  Slot& slot = slot_of(object);
  if (slot.object) return true;
  slot = {object, uint32_t(objects_.size())};
  objects_.push_back(object);
  inside_.push_back(0);
  return true;
}

bool ObjectGraph::list(const char*& detail) {
  if (gil_->PyUnstable_GC_VisitObjects) {
    auto visit = [](Object* object, void* context) { return int(static_cast<ObjectGraph*>(context)->add(object)); };
    gil_->PyUnstable_GC_VisitObjects(visit, this);
  } else {
    Object* get_objects = builtin_function(gil_, "gc", "get_objects");
    const Owned objects(gil_, get_objects ? gil_->PyObject_CallFunctionObjArgs(get_objects, nullptr) : nullptr);
    if (!objects || !has_flag(objects.get(), type_flags::kList)) {
      detail = "the program's gc module cannot be used";
      return false;
    }
    each_element(gil_, objects.get(), [&](ptrdiff_t, Object* object) { return add(object); });
  }
  if (!memory_lasted_) detail = kNoMemory;
  for (size_t i = 0; i < objects_.size() && i < 64; ++i) tracking_is_known_ &= is_tracked(objects_[i]);
  return memory_lasted_;
}

int ObjectGraph::told(Object* child) {
  if (told_.size() == told_.capacity() && !run_if_memory_lasts([&] { told_.reserve(told_.size() * 2 + 1024); })) {
    memory_lasted_ = false;
    return 1;
  }
  __builtin_prefetch(child);
  told_.push_back(child);
  return 0;
}

// Objects may be added while this goes on. A reference to what the collector does not know is passed over.
bool ObjectGraph::look_into(const char*& detail) {
  first_.reserve(objects_.size() + 1);
  references_.reserve(objects_.size() * 4);
  first_.push_back(0);
  auto visit = [](Object* child, void* context) { return static_cast<ObjectGraph*>(context)->told(child); };
  for (uint32_t i = 0; i < objects_.size(); ++i) {
    if (i % kObjectsPerClockReading == 0 && deadline_.passed()) {
      detail = kNoTimeToLook;
      return false;
    }
    if (i + kAhead < objects_.size()) __builtin_prefetch(objects_[i + kAhead]);
    told_.clear();
    if (const Traverse traverse = traverse_of(type_of(objects_[i]))) traverse(objects_[i], visit, this);
    size_t known = 0;
    for (Object* child : told_) {
      if (!is_collected(child)) continue;
      told_[known++] = child;
      __builtin_prefetch(&slots_[hash(child) & mask_]);
    }
    for (size_t j = 0; j < known && memory_lasted_; ++j) {
      Object* child = told_[j];
      uint32_t index = find(child);
      if (index == kNoObject) {
        if (!tracking_is_known_ || !is_tracked(child) || !add(child)) continue;
        index = uint32_t(objects_.size() - 1);
      }
      ++inside_[index];
      references_.push_back(index);
    }
    if (!memory_lasted_) {
      detail = kNoMemory;
      return false;
    }
    first_.push_back(references_.size());
  }
  return true;
}

bool ObjectGraph::read(const std::vector<Object*>& also, const char*& detail) {
  if (!list(detail)) return false;
  for (Object* object : also) {
    if (tracking_is_known_ && is_collected(object) && is_tracked(object) && !add(object)) detail = kNoMemory;
  }
  return memory_lasted_ && look_into(detail);
}

std::vector<bool> reachable_objects(const ObjectGraph& graph) {
  std::vector<bool> reached(graph.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.outside_references(i) == 0) continue;
    reached[i] = true;
    open.push_back(i);
  }
  while (!open.empty()) {
    const uint32_t next = open.back();
    open.pop_back();
    for (const uint32_t child : graph.references(next)) {
      if (reached[child]) continue;
      reached[child] = true;
      open.push_back(child);
    }
  }
  return reached;
}

}  // namespace tensorscope::python::agent
