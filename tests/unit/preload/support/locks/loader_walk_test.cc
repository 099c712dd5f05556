// SPDX-License-Identifier: Apache-2.0
// Walks over the loaded objects and forks keep out of each other's way, for a time.
#include "support/locks/loader_walk.h"

#include <gtest/gtest.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "support/fresh_in_child.h"

namespace tensorscope {
namespace {

using Objects = std::set<std::pair<std::string, std::pair<uint64_t, const void*>>>;

// Names, places and program headers: the latter by their address, or a count where a copy may be shown.
int add(Objects& objects, const dl_phdr_info& info) {
  objects.insert({info.dlpi_name, {info.dlpi_addr, info.dlpi_phdr}});
  return 0;
}

Objects walked_objects() {
  Objects objects;
  walk_loaded_objects([&](const dl_phdr_info& info) { return add(objects, info); });
  return objects;
}

Objects objects_of_the_loader() {
  Objects objects;
  dl_iterate_phdr([](dl_phdr_info* info, size_t, void* objects) { return add(*static_cast<Objects*>(objects), *info); },
                  &objects);
  return objects;
}

int exit_status(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

pid_t fork_as_the_hooks_do() {
  hold_loader_walks();
  const pid_t child = fork();
  if (child == 0) {
    FreshInChild::make_all_anew();
  } else {
    release_loader_walks();
  }
  return child;
}

TEST(LoaderWalk, AForkWaitsForTheEndOfAWalk) {
  static sem_t inside;
  static std::atomic<bool> ended;
  sem_init(&inside, 0, 0);
  std::thread walker([] {
    walk_loaded_objects([](const dl_phdr_info&) {
      sem_post(&inside);
      usleep(100'000);
      ended = true;
      return 1;
    });
  });
  sem_wait(&inside);
  const pid_t child = fork_as_the_hooks_do();
  if (child == 0) {
    alarm(60);
    const bool whole = walked_objects() == objects_of_the_loader();
    _exit(ended && LoaderWalk() && whole ? 0 : 1);
  }
  walker.join();
  EXPECT_EQ(exit_status(child), 0);
}

TEST(LoaderWalk, AWalkWaitsForTheEndOfAFork) {
  hold_loader_walks();
  EXPECT_FALSE(walked_objects().empty());  // the forking thread's own need not
  std::atomic<bool> released{false};
  std::atomic<bool> begun{false};
  std::thread walker([&] {
    begun = true;
    const LoaderWalk outer;
    const LoaderWalk inner;
    EXPECT_TRUE(released);
  });
  while (!begun) std::this_thread::yield();
  usleep(20'000);
  released = true;
  release_loader_walks();
  walker.join();
}

// As a library's constructor may.
TEST(LoaderWalk, AThreadThatForksInItsOwnWalkKeepsTheLock) {
  const LoaderWalk walk;
  const pid_t child = fork_as_the_hooks_do();
  if (child == 0) {
    alarm(60);
    _exit(walk && !walked_objects().empty() ? 0 : 1);
  }
  EXPECT_EQ(exit_status(child), 0);
}

// The loader's lock is held for ever in that child: glibc does not free it.
TEST(LoaderWalk, AWalkThatDoesNotEndCostsTheChildTheLockAlone) {
  static sem_t inside, go;
  sem_init(&inside, 0, 0);
  sem_init(&go, 0, 0);
  const Objects before = objects_of_the_loader();
  std::thread walker([] {
    walk_loaded_objects([](const dl_phdr_info&) {
      sem_post(&inside);
      sem_wait(&go);
      return 1;
    });
  });
  sem_wait(&inside);
  const pid_t child = fork_as_the_hooks_do();
  if (child == 0) {
    alarm(60);
    size_t known = 0;
    for (const auto& object : walked_objects()) known += before.contains(object);
    // The vdso is not in the debuggers' list of every glibc.
    _exit(!LoaderWalk() && known + 1 >= before.size() ? 0 : 1);
  }
  EXPECT_EQ(exit_status(child), 0);
  sem_post(&go);
  walker.join();
}

}  // namespace
}  // namespace tensorscope
