#include "python/agent/holder_search.h"

#include <utility>

#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {
constexpr size_t kReferencesPerClockReading = 4096;
}  // namespace

HolderSearch::HolderSearch(const Gil& gil, Deadline deadline) : gil_(gil), deadline_(deadline) {}

void HolderSearch::add_seed(std::string name, Object* object) {
  if (!can_hold(object) || !seen_.insert(object).second) return;
  nodes_.push_back({object, seeds_.size(), 0});
  seeds_.push_back(std::move(name));
}

void HolderSearch::add(Object* object, size_t parent) {
  if (!can_hold(object) || !seen_.insert(object).second) return;
  nodes_.push_back({object, parent, nodes_[parent].depth + 1});
}

bool HolderSearch::can_hold(Object* object) const {
  if (left_out_ && is_a(gil_, object, left_out_)) return false;
  return is_a(gil_, object, gil_->PyDict_Type) || is_a(gil_, object, gil_->PyList_Type) ||
         is_a(gil_, object, gil_->PyTuple_Type) || is_plain_instance(gil_, object);
}

bool HolderSearch::count() {
  if (++references_ == kMaxReferences) exhausted_ = true;
  if (references_ % kReferencesPerClockReading == 0 && deadline_.passed()) exhausted_ = true;
  return !exhausted_;
}

void HolderSearch::expand(Object* object) {
  each_entry(gil_, object, [&](Object*, Object* value) {
    children_.push_back(value);
    return count();
  });
  each_element(gil_, object, [&](ptrdiff_t, Object* value) {
    children_.push_back(value);
    return count();
  });
  if (!is_plain_instance(gil_, object)) return;
  auto visit = [](Object* child, void* context) {
    auto* search = static_cast<HolderSearch*>(context);
    search->children_.push_back(child);
    return int(!search->count());
  };
  each_referent(gil_, object, visit, this);
}

// Borrowed: the instance keeps it.
Object* HolderSearch::own_dict(Object* instance) {
  const Owned dict(gil_, gil_->PyObject_GenericGetDict(instance, nullptr));
  return dict.get();
}

std::string HolderSearch::name_of(size_t node) {
  if (nodes_[node].depth == 0) return seeds_[nodes_[node].parent];
  return name_of(nodes_[node].parent) + label(nodes_[node].parent, nodes_[node].object);
}

// How the child is written after the name of its parent: "[3]", "['key']", ".attribute"; "" for an instance's own dict.
std::string HolderSearch::label(size_t parent, Object* child) {
  Object* holder = nodes_[parent].object;
  std::string text;
  if (is_plain_instance(gil_, holder)) {
    Object* dict = own_dict(holder);
    if (dict == child) return "";
    each_entry(gil_, dict, [&](Object* key, Object* value) {
      if (value == child) text = "." + std::string(text_of(gil_, key));
      return text.empty();
    });
    if (!text.empty()) return text;
  }
  const bool attributes = nodes_[parent].depth > 0 && is_plain_instance(gil_, nodes_[nodes_[parent].parent].object) &&
                          own_dict(nodes_[nodes_[parent].parent].object) == holder;
  each_entry(gil_, holder, [&](Object* key, Object* value) {
    if (value != child) return true;
    const std::string name(text_of(gil_, key));
    if (attributes) {
      text = "." + name;
    } else if (is_a(gil_, key, gil_->PyUnicode_Type)) {
      text = "['" + name + "']";
    } else if (is_exactly(key, gil_->PyLong_Type)) {
      text = "[" + std::to_string(gil_->PyLong_AsLongLong(key)) + "]";
      gil_->PyErr_Clear();
    } else {
      text = "[...]";
    }
    return false;
  });
  each_element(gil_, holder, [&](ptrdiff_t i, Object* element) {
    if (element == child) text = "[" + std::to_string(i) + "]";
    return text.empty();
  });
  return text.empty() ? ".?" : text;
}

}  // namespace tensorscope::python::agent
