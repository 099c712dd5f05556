// SPDX-License-Identifier: Apache-2.0
#include "torch/torch_package.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tensorscope::torch {
namespace {

// A source build: PyTorch's own library is loaded from where it was built.
TEST(TorchPackage, IsWhereItsLibraryWasLoadedFrom) {
  EXPECT_EQ(torch_package(), "");
  std::string folder = (std::filesystem::temp_directory_path() / "tensorscope-test-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path package = folder + "/pytorch/torch";
  std::filesystem::create_directories(package / "lib");
  std::filesystem::copy(STAND_IN_LIBRARY, package / "lib/libtorch_python.so");
  void* library = dlopen((package / "lib/libtorch_python.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_EQ(torch_package(), package.string());
  dlclose(library);
  EXPECT_EQ(torch_package(), package.string()) << "once found it stays";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tensorscope::torch
