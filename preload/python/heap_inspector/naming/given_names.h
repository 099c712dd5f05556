// SPDX-License-Identifier: Apache-2.0
// Names of tensors that rest on no reference: those that the program gave, and those of what modules returned.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "python/heap_inspector/graph/look_limits.h"
#include "python/interpreter.h"
#include "python/program_facts.h"

namespace tensorscope::python::heap_inspector {

struct GivenName {
  format::ReferenceRoot root;
  std::string text;
};

class GivenNames {
 public:
  // `newest`: serial of the newest tensor of the dump.
  GivenNames(const Gil& gil, uint64_t newest, LookLimits& limits) : gil_(gil), newest_(newest), limits_(limits) {}

  // Those that the program gave come first. Of outputs, inner calls end first, and the outermost is wanted first.
  void read(const std::vector<ModuleName>& modules);

  // What is left after take(), by serial: names of tensors that have no Python object any more.
  const std::map<uint64_t, std::vector<GivenName>>& left() const { return names_; }
  std::vector<GivenName> take(uint64_t serial);

 private:
  void read_outputs(const std::vector<ModuleName>& modules);

  const Gil& gil_;
  const uint64_t newest_;
  LookLimits& limits_;
  std::map<uint64_t, std::vector<GivenName>> names_;
};

}  // namespace tensorscope::python::heap_inspector
