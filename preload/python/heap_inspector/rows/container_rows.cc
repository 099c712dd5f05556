// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/container_rows.h"

#include <algorithm>
#include <queue>
#include <span>
#include <unordered_map>
#include <utility>

#include "python/heap_inspector/foreign/numpy_arrays.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/objects.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::ReferenceRoot;

constexpr size_t kMostByBytes = 128, kMostByCppObjects = 64;
constexpr uint64_t kLeastBytes = 16 << 10, kLeastCppObjects = 4;
constexpr size_t kMostEntries = 8;  // of one container that have rows of their own
constexpr size_t kAskedEntries = 256;
constexpr int kDeepest = 8;

// Calls f(child) for what an object's tp_traverse reports until f returns false.
template <typename F>
void each_told(Object* object, F f) {
  const Traverse traverse = traverse_of(type_of(object));
  if (!traverse || !is_collected(object)) return;
  auto visit = [](Object* child, void* context) { return int(!(*static_cast<F*>(context))(child)); };
  traverse(object, visit, &f);
}

}  // namespace

// What a person puts many things into. What functions, modules and types have is no such thing, and a tensor's memory
// is told elsewhere.
bool ContainerRows::is_container(uint32_t object) const {
  switch (graph_.kind(object)) {
    case Kind::dict:
      return !is_namespace(object);
    case Kind::tensor:
    case Kind::type:
    case Kind::module:
    case Kind::exception:
    case Kind::traceback:
    case Kind::frame:
    case Kind::generator:
    case Kind::cell:
    case Kind::function:
    case Kind::method:
    case Kind::builtin_function:
    case Kind::mapping_proxy:
    case Kind::weak_reference:
    case Kind::buffer:
    case Kind::capsule:
    case Kind::thread_local_values:
    case Kind::context:
    case Kind::context_variable:
    case Kind::context_map:
      return false;
    default:
      return !is_exactly(graph_.object(object), gil_->PyCode_Type);
  }
}

// A module's globals, or a class's dict.
bool ContainerRows::is_namespace(uint32_t object) const {
  if (!paths_.is_root(object)) {
    const Kind parent = graph_.kind(paths_.nearest_parent(object));
    return parent == Kind::type || parent == Kind::module || parent == Kind::function;
  }
  const std::optional<Root> root = paths_.root(object);
  // C code holds the dicts of classes that it made.
  if (root->kind == ReferenceRoot::extension) return entry(gil_, graph_.object(object), "__doc__") != nullptr;
  return root->kind == ReferenceRoot::global && root->name.empty();
}

// The object whose attributes a dict has; else the container itself.
uint32_t ContainerRows::instance_of(uint32_t object) const {
  if (graph_.kind(object) != Kind::dict || paths_.is_root(object)) return object;
  const uint32_t parent = paths_.nearest_parent(object);
  return own_dict(gil_, graph_.object(parent)) == graph_.object(object) ? parent : object;
}

// What it owns and refers to directly, the largest first.
std::vector<uint32_t> ContainerRows::kept_by(uint32_t object, Amount amount, uint64_t least) const {
  std::vector<uint32_t> kept;
  for (const uint32_t child : graph_.references(object)) {
    if (keepers_.owner(child) == object && (this->*amount)(child) >= least) kept.push_back(child);
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::stable_sort(kept.begin(), kept.end(),
                   [&](uint32_t a, uint32_t b) { return (this->*amount)(a) > (this->*amount)(b); });
  return kept;
}

// From the roots on, always into the one with the most that is left.
void ContainerRows::choose(Amount amount, uint64_t least, size_t most, std::vector<uint32_t>& chosen) {
  std::priority_queue<std::pair<uint64_t, uint32_t>> open;
  for (uint32_t i = 0; i < graph_.size() && !limits_.reached(); ++i) {
    if (keepers_.owner(i) == kNoObject && paths_.reached(i) && (this->*amount)(i) >= least)
      open.push({(this->*amount)(i), i});
  }
  const size_t before = chosen.size();
  while (!open.empty() && chosen.size() - before < most && !limits_.reached()) {
    const auto [all, object] = open.top();
    open.pop();
    std::vector<uint32_t> entries = kept_by(object, amount, least);
    const bool many = entries.empty() || (this->*amount)(entries.front()) * 2 <= all;
    if (many && is_container(object)) {
      chosen.push_back(object);
      if (entries.size() > kMostEntries) entries.resize(kMostEntries);
    }
    for (const uint32_t entry : entries) open.push({(this->*amount)(entry), entry});
  }
}

uint64_t ContainerRows::entries_of(uint32_t object) const {
  Object* const container = graph_.object(object);
  switch (graph_.kind(object)) {
    case Kind::dict:
    case Kind::list:
    case Kind::tuple:
    case Kind::deque:
      return uint64_t(std::max<ptrdiff_t>(0, size_of_variable(container)));
    case Kind::set:
      return uint64_t(std::max<ptrdiff_t>(0, field<ptrdiff_t>(container, 24)));  // PySetObject.used
    case Kind::array:
      return elements_of(gil_, container, kinds_.classes()).count;
    default: {  // attributes; an object refers to its class, too
      const std::span<const uint32_t> all = graph_.references(object);
      return uint64_t(std::count_if(all.begin(), all.end(),
                                    [&](uint32_t child) { return graph_.object(child) != type_of(container); }));
    }
  }
}

const Object* ContainerRows::type_of_entries(uint32_t object) const {
  Object* const container = graph_.object(object);
  std::unordered_map<const Object*, size_t> counts;
  size_t asked = 0;
  const auto count = [&](Object* entry) {
    if (entry != type_of(container)) ++counts[type_of(entry)];
    return ++asked < kAskedEntries;
  };
  if (graph_.kind(object) == Kind::dict) {
    each_entry(gil_, container, [&](Object*, Object* value) { return count(value); });
  } else {
    each_told(container, count);
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? nullptr : most->first;
}

const Object* ContainerRows::type_of_cpp_objects(uint32_t object) const {
  for (int depth = 0; depth < kDeepest && keepers_.cpp_objects(object) > 0; ++depth) {
    if (is_cpp_kind(graph_.kind(object))) return type_of(graph_.object(object));
    const Object* found = nullptr;
    uint32_t next = kNoObject;
    each_told(graph_.object(object), [&](Object* child) {
      const uint32_t number = graph_.find(child);
      if (number == kNoObject && is_cpp_kind(kinds_.of_type(type_of(child)))) found = type_of(child);
      const bool leads = number != kNoObject && keepers_.owner(number) == object && keepers_.cpp_objects(number) > 0;
      if (leads) next = number;
      return !found && !leads;
    });
    if (found || next == kNoObject) return found;
    object = next;
  }
  return nullptr;
}

void ContainerRows::write_row(uint32_t object) {
  const Chain chain = chains_.of(object);
  if (!chains_.ready()) return;
  const auto name_of = [&](const Object* type) {
    return type ? out_.strings.intern(short_name_of_class(gil_, type)) : 0;
  };
  const uint32_t text = out_.strings.intern(chain.text), scope = out_.strings.intern(chain.scope);
  const uint32_t type = name_of(type_of(graph_.object(instance_of(object))));
  const uint32_t entry_type = name_of(type_of_entries(object)), cpp_type = name_of(type_of_cpp_objects(object));
  out_.containers.emplace_back(keepers_.bytes(object), entries_of(object), keepers_.cpp_objects(object), text, scope,
                               type, entry_type, cpp_type, beginnings_.row_of_call(chain.root, chain.call),
                               beginnings_.row_of_object(chain.begins_at), chain.root);
}

bool ContainerRows::write() {
  std::vector<uint32_t> chosen, with_cpp_objects;
  choose(&ContainerRows::bytes_of, kLeastBytes, kMostByBytes, chosen);
  if (!graph_.cpp_objects().empty()) {
    choose(&ContainerRows::cpp_objects_of, kLeastCppObjects, kMostByCppObjects, with_cpp_objects);
  }
  for (const uint32_t object : with_cpp_objects) {
    if (std::find(chosen.begin(), chosen.end(), object) == chosen.end()) chosen.push_back(object);
  }
  for (const uint32_t object : chosen) chains_.want(object);
  if (!chains_.find_steps()) return false;
  for (const uint32_t object : chosen) write_row(object);
  if (!limits_.reached()) return true;
  out_.containers.clear();
  return false;
}

}  // namespace tensorscope::python::heap_inspector
