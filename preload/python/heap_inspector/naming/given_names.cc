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
  auto remember = [](const NamedTensor& named, void* context) {
    auto* into = static_cast<GivenNames*>(context);
    if (named.serial > into->newest_ || into->limits_.reached()) return;
    into->names_[named.serial].push_back({ReferenceRoot::user, named.text});
  };
  each_named_tensor(gil_, remember, this);
  read_outputs(modules);
}

void GivenNames::read_outputs(const std::vector<ModuleName>& modules) {
  struct Found {
    uint64_t serial;
    std::string text;
  };
  struct Search {
    LookLimits& limits;
    std::unordered_map<uint64_t, const std::string*> paths;  // by module
    std::vector<Found> found;
  } search = {limits_, {}, {}};
  auto remember = [](const ModuleOutput& output, Object* module, void* context) {
    auto* into = static_cast<Search*>(context);
    const auto path = into->paths.find(uint64_t(reinterpret_cast<uintptr_t>(module)));
    if (path == into->paths.end() || into->limits.reached()) return;
    into->found.push_back({output.serial, *path->second + ".out" + output.way});
  };
  for (const ModuleName& module : modules) search.paths[module.object] = &module.path;
  each_module_output(gil_, remember, &search);
  std::unordered_map<uint64_t, size_t> rows;
  for (size_t i = search.found.size(); i-- > 0 && !limits_.reached();) {
    Found& output = search.found[i];
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
