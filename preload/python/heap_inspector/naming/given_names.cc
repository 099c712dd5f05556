// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/naming/given_names.h"

#include <unordered_map>
#include <utility>

#include "python/module_outputs.h"
#include "python/named_tensors.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::ReferenceRoot;

constexpr size_t kMaxOutputRows = 8;  // of one tensor: calls within calls that returned it

}  // namespace

void GivenNames::read(const std::vector<ModuleName>& modules) {
  each_named_tensor(gil_, [&](const NamedTensor& named) {
    if (named.serial > newest_ || limits_.reached()) return;
    names_[named.serial].push_back({ReferenceRoot::user, named.text});
  });
  read_outputs(modules);
}

void GivenNames::read_outputs(const std::vector<ModuleName>& modules) {
  struct Found {
    uint64_t serial;
    std::string text;
  };
  std::unordered_map<uint64_t, const std::string*> paths;  // by module
  for (const ModuleName& module : modules) paths[module.object] = &module.path;
  std::vector<Found> found;
  each_module_output(gil_, [&](const ModuleOutput& output, Object* module) {
    const auto path = paths.find(uint64_t(reinterpret_cast<uintptr_t>(module)));
    if (path == paths.end() || limits_.reached()) return;
    found.push_back({output.serial, *path->second + ".out" + output.way});
  });
  std::unordered_map<uint64_t, size_t> rows;
  for (size_t i = found.size(); i-- > 0 && !limits_.reached();) {
    Found& output = found[i];
    if (output.serial > newest_ || rows[output.serial]++ >= kMaxOutputRows) continue;
    names_[output.serial].push_back({ReferenceRoot::output, std::move(output.text)});
  }
}

std::vector<GivenName> GivenNames::take(uint64_t serial) {
  const auto found = names_.find(serial);
  if (found == names_.end()) return {};
  std::vector<GivenName> names = std::move(found->second);
  names_.erase(found);
  return names;
}

}  // namespace tensorscope::python::heap_inspector
