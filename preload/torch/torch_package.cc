// SPDX-License-Identifier: Apache-2.0
#include "torch/torch_package.h"

#include <limits.h>
#include <string.h>

#include <atomic>

#include "support/loaded_object.h"
#include "tensorscope/rules/user_code.h"

namespace tensorscope::torch {

namespace {

// A copy: the path is the loader's. Its length is known once the copy is whole.
constinit char g_package[PATH_MAX] = "";
constinit std::atomic<size_t> g_package_length{0};

bool look_for_package(const LoadedObject& object) {
  const std::string_view package = code::torch_package_of(object.path != nullptr ? object.path : "");
  if (package.empty() || package.size() >= sizeof g_package) return true;
  memcpy(g_package, package.data(), package.size());
  g_package_length.store(package.size(), std::memory_order_release);
  return false;
}

}  // namespace

std::string_view torch_package() {
  if (g_package_length.load(std::memory_order_acquire) == 0) visit_objects(look_for_package);
  return {g_package, g_package_length.load(std::memory_order_acquire)};
}

}  // namespace tensorscope::torch
