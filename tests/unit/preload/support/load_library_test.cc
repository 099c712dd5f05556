// SPDX-License-Identifier: Apache-2.0
#include "support/load_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "support/fresh_in_child.h"
#include "support/locks/loader_walk.h"

namespace tensorscope {
namespace {

TEST(LoadLibrary, AForkWaitsUntilAnotherThreadHasLoadedOne) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  setenv("SLOW_LIBRARY_PIPE", std::to_string(ends[1]).c_str(), 1);
  void* library = nullptr;
  std::thread loader([&] {
    library = load_library(getenv("SLOW_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr && write(ends[1], "n", 1) != 1) abort();
  });
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');  // its constructor runs
  hold_loader_walks();
  const pid_t child = fork();
  if (child == 0) {
    FreshInChild::make_all_anew();
    pollfd ended = {ends[0], POLLIN, 0};
    _exit(poll(&ended, 1, 0) == 1 && LoaderWalk() ? 0 : 1);
  }
  release_loader_walks();
  loader.join();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(library, nullptr);
  unload_library(library);
  close(ends[0]);
  close(ends[1]);
}

TEST(LoadLibrary, WhatIsNotThereIsNull) { EXPECT_EQ(load_library("libno_such_library.so.9", RTLD_NOW), nullptr); }

}  // namespace
}  // namespace tensorscope
