// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/rows/shared_rows.h"

namespace tensorscope::python::heap_inspector {

void SharedRows::write(const PageArray<uint32_t>& holders) {
  if (write_all(holders) && chains_.ready() && !out_.strings.full()) return;
  out_.shared_of.clear();
  out_.shared.clear();
  out_.other_ways.clear();
}

bool SharedRows::write_all(const PageArray<uint32_t>& holders) {
  for (const uint32_t holder : holders) {
    const uint32_t shared = holder == kNoObject ? OtherWays::kNone : ways_.nearest(holder);
    if (limits_.reached()) return false;
    if (!out_.shared_of.push(shared == OtherWays::kNone ? 0 : shared + 1)) return limits_.memory_ran_out(), false;
  }
  if (!ways_.find()) return false;
  PageArray<uint32_t> answers;
  for (const OtherWays::Shared& shared : ways_.all()) {
    chains_.want(shared.object);
    for (const uint32_t parent : ways_.parents(shared)) {
      if (!answers.push(chains_.want(parent, shared.object))) return limits_.memory_ran_out(), false;
    }
  }
  if (!chains_.find_steps()) return false;
  const uint32_t* next = answers.begin();
  for (const OtherWays::Shared& shared : ways_.all()) {
    if (limits_.reached() || !write_row(shared, next)) return false;
    next += shared.listed;
  }
  return true;
}

bool SharedRows::write_row(const OtherWays::Shared& shared, const uint32_t* answers) {
  bool room = out_.shared.emplace_back(out_.strings.intern(chains_.of(shared.object).text),
                                       shared.above == OtherWays::kNone ? 0 : shared.above + 1,
                                       uint32_t(out_.other_ways.size()), shared.listed);
  for (const uint32_t parent : ways_.parents(shared)) {
    Chain chain = chains_.of(parent);
    chains_.extend_to_held(chain, parent, shared.object, *answers++);
    room = room && out_.other_ways.emplace_back(out_.strings.intern(chain.text), out_.strings.intern(chain.scope),
                                                beginnings_.row_of_call(chain.root, chain.call),
                                                beginnings_.row_of_object(chain.begins_at), chain.root);
  }
  if (!room) limits_.memory_ran_out();
  return room;
}

}  // namespace tensorscope::python::heap_inspector
