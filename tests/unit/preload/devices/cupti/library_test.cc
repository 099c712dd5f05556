// SPDX-License-Identifier: Apache-2.0
// Where CUPTI is looked for. Each case runs in a process of its own (a death test), since what is loaded stays loaded.
// Covers: preload/devices/cupti/cupti_library.cc
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "devices/cupti/cupti_library.h"

namespace tensorscope::cupti {
namespace {

namespace fs = std::filesystem;

// A tree with a "libcudart.so.99" that is loaded, and perhaps a "libcupti.so.99".
class LibraryDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const char* made = getenv("CUPTI_TEST_TREE");
    root_ = made ? made : fs::temp_directory_path() / ("cupti" + std::to_string(getpid()));
    setenv("CUPTI_TEST_TREE", root_.c_str(), 1);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const char* what = "STAND_IN") {
    fs::create_directories((root_ / path).parent_path());
    fs::copy_file(getenv(what), root_ / path, fs::copy_options::skip_existing);
  }
  // 0: found in `wanted`; 1: found elsewhere; 2: not found.
  [[noreturn]] void look(const std::string& runtime, const std::string& wanted) {
    if (!runtime.empty()) dlopen((root_ / runtime).c_str(), RTLD_NOW);
    Functions functions{};
    if (const Status opened = open_library(functions); !opened) {
      fprintf(stderr, "%s\n", opened.why());
      _exit(2);
    }
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(functions.ActivityFlushAll), &info);
    std::error_code error;
    _exit(fs::equivalent(info.dli_fname, root_ / wanted, error) ? 0 : 1);
  }

  fs::path root_;
};

TEST_F(LibraryDeathTest, IsBesideTheRuntime) {
  put("cu/lib/libcudart.so.99");
  put("cu/lib/libcupti.so.99");
  EXPECT_EXIT(look("cu/lib/libcudart.so.99", "cu/lib/libcupti.so.99"), ::testing::ExitedWithCode(0), "");
}

TEST_F(LibraryDeathTest, IsInNvidiasPackageBesideTheRuntimes) {
  put("nvidia/cuda_runtime/lib/libcudart.so.99");
  put("nvidia/cuda_cupti/lib/libcupti.so.99");
  EXPECT_EXIT(look("nvidia/cuda_runtime/lib/libcudart.so.99", "nvidia/cuda_cupti/lib/libcupti.so.99"),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(LibraryDeathTest, IsInTheToolkit) {
  put("cuda/lib64/libcudart.so.99");
  put("cuda/extras/CUPTI/lib64/libcupti.so.99");
  EXPECT_EXIT(look("cuda/lib64/libcudart.so.99", "cuda/extras/CUPTI/lib64/libcupti.so.99"),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(LibraryDeathTest, IsOfTheRuntimesVersion) {
  put("cu/lib/libcudart.so.99");
  put("cu/lib/libcupti.so.98");
  EXPECT_EXIT(look("cu/lib/libcudart.so.99", ""), ::testing::ExitedWithCode(2), "libcupti was not found");
}

TEST_F(LibraryDeathTest, MustHaveAllFunctions) {
  put("cu/lib/libcudart.so.99");
  put("cu/lib/libcupti.so.99", "EMPTY");
  EXPECT_EXIT(look("cu/lib/libcudart.so.99", ""), ::testing::ExitedWithCode(2), "lacks a required function");
}

}  // namespace
}  // namespace tensorscope::cupti
