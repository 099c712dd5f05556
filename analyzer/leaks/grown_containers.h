// SPDX-License-Identifier: Apache-2.0
// Containers of plain Python objects, compared from dump to dump: which grew in every interval, and which got more
// objects of C++ in step with something else that grew; and which objects have memory that nobody knows.
//
// Context: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "leaks/finding.h"
#include "memory/grouping.h"

namespace tensorscope::analyzer {

// By how much what containers have has to grow in an interval, which is counted object by object, that it is a finding.
inline constexpr int64_t kMinExact = 64 << 10;

// One container in every dump; 0 where a dump has no row of it, since it was small then.
struct ContainerGrowth {
  std::string name;        // "train.py: rows (list of dict)"
  std::string short_name;  // "train.py: rows"
  HolderPlace place;
  std::vector<uint64_t> bytes, entries, cpp_objects;
  std::string cpp_type;

  // "train.py: pending (Future)"
  std::string name_with_cpp_type() const { return cpp_type.empty() ? short_name : short_name + " (" + cpp_type + ")"; }
  // In a cycle that nothing refers to.
  bool waits_for_collector() const { return format::ReferenceRoot(place.root) == format::ReferenceRoot::cycle; }
  int64_t added_bytes() const { return int64_t(bytes.back() - bytes.front()); }
};

// Those that became larger in every interval, the largest growth first. None is part of another: of a container and
// what it has inside, it is the inner ones where these are a few, have three quarters of the growth or more, and
// kMinExact each. Empty where a dump has no rows of containers, or not those of all of Python.
std::vector<ContainerGrowth> grown_containers(const std::vector<View>& views);

// Those whose objects of C++ became more in every interval by as many as `counts` did, or by a multiple or a fraction
// that is the same in each, up to one of them more or less; at most three, and the innermost of those
// that have each other inside.
std::vector<ContainerGrowth> containers_in_step(const std::vector<View>& views, const std::vector<uint64_t>& counts);

// Whether things became more in each of several intervals, with about as many bytes for each of them.
bool in_proportion(const std::vector<uint64_t>& things, const std::vector<uint64_t>& bytes);
// Whether a container's objects of C++ became more in each of several intervals, with about as many of `bytes` for each
// of them.
bool grows_in_proportion(const ContainerGrowth& container, const std::vector<uint64_t>& bytes);
// Those that do; at most three, likewise.
std::vector<ContainerGrowth> containers_in_proportion(const std::vector<View>& views,
                                                      const std::vector<uint64_t>& bytes);

// Objects of extensions' code that a variable of the program led to in every dump, "train.py: db (Connection)": what
// they have of memory Python does not know. Where a dump has more than a few, nothing follows: empty.
std::vector<std::string> opaque_objects(const std::vector<View>& views);

}  // namespace tensorscope::analyzer
