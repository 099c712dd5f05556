// SPDX-License-Identifier: Apache-2.0
// Which of several holders of one printed name a reference begins at: variables of one name in several running calls of
// a function, in several waiting generators, in several objects that C code holds. They are different things, so that
// their names must differ, and nothing may be concluded of them together.
//
// Context: any that may allocate. No exceptions. Not thread-safe. Time: n log n in the references.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "tensorscope/rules/reference_text.h"

namespace tensorscope::rules {

// Where a reference chain begins: in a running call, which is the same in all dumps of a process where thread and depth
// are, or at an object.
struct Beginning {
  uint64_t thread = 0;  // Python's number of it
  uint32_t depth = 0;   // 1 is the function's outermost call there; 0: not a running call
  uint64_t object = 0;  // Python's id() of it; 0: not known, or a running call
  bool known() const { return depth != 0 || object != 0; }
  auto operator<=>(const Beginning&) const = default;
};

// Requires that all threads and references are added first, dump by dump: holders that differ in one dump have the
// same names in all.
class SameNames {
 public:
  void next_dump() { now_.clear(); }
  void add_thread(std::string_view name, uint64_t number) { threads_[std::string(name)].insert(number); }
  void add(const Reference& row, const Beginning& begin) {
    if (!begin.known()) return;
    const Key key = key_of(row);
    Names& names = all_[key];
    names.objects.try_emplace(begin.object, names.objects.size() + 1);
    InOneDump& now = now_[key];
    if (!now.begins.insert(begin).second) return;
    now.threads.insert(begin.thread);
    if (now.begins.size() < 2) return;
    names.several = true;
    names.threads |= now.threads.size() > 1;
    names.depths |= now.begins.size() > now.threads.size();
  }

  // "thread loader, call 2", "#3"; "" where this name has one holder in each dump.
  std::string which(const Reference& row, const Beginning& begin) const {
    const auto found = begin.known() ? all_.find(key_of(row)) : all_.end();
    if (found == all_.end() || !found->second.several) return "";
    const Names& names = found->second;
    if (begin.depth == 0) {
      const auto number = names.objects.find(begin.object);
      return number == names.objects.end() ? std::string() : numbered("", number->second);
    }
    std::string text = names.threads ? thread_label(begin.thread) : "";
    if (names.depths) text += (text.empty() ? "call " : ", call ") + std::to_string(begin.depth);
    return text;
  }

 private:
  using Key = std::tuple<format::ReferenceRoot, std::string, std::string>;
  struct Names {
    bool several = false, threads = false, depths = false;
    std::map<uint64_t, size_t> objects;  // from 1, in the order of adding
  };

  struct InOneDump {
    std::set<Beginning> begins;
    std::set<uint64_t> threads;
  };

  // All variables of a call have its label; of other roots the name is what the text begins with.
  static Key key_of(const Reference& row) {
    const bool local = row.root == format::ReferenceRoot::local;
    const std::string_view head = local ? std::string_view() : variable_of(row.text);
    return {row.root, std::string(row.scope), std::string(head)};
  }

  static std::string numbered(std::string text, uint64_t number) {
    return text.append("#").append(std::to_string(number));
  }

  // Threads by their names; by their numbers too, where several have one name or none.
  std::string thread_label(uint64_t thread) const {
    for (const auto& [name, numbers] : threads_) {
      if (!numbers.contains(thread)) continue;
      const bool alone = !name.empty() && numbers.size() == 1;
      const std::string text = name.empty() ? "thread" : "thread " + name;
      return alone ? text : numbered(text + " ", thread);
    }
    return numbered("thread ", thread);
  }

  std::map<Key, Names> all_;
  std::map<Key, InOneDump> now_;
  std::map<std::string, std::set<uint64_t>> threads_;
};

}  // namespace tensorscope::rules
