#include "torch/torch_package.h"

#include <limits.h>
#include <string.h>

#include "support/loaded_object.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::torch {

namespace {

// A copy: the path is the loader's.
constinit char g_package[PATH_MAX] = "";

bool look_for_package(const LoadedObject& object, void*) {
  const std::string_view package = code::torch_package_of(object.path != nullptr ? object.path : "");
  if (package.empty() || package.size() >= sizeof g_package) return true;
  memcpy(g_package, package.data(), package.size());
  return false;
}

}  // namespace

std::string_view torch_package() {
  if (g_package[0] == 0) visit_objects(look_for_package, nullptr);
  return g_package;
}

}  // namespace tensorscope::torch
