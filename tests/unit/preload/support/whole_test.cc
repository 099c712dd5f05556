// SPDX-License-Identifier: Apache-2.0
#include "support/whole.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tensorscope {
namespace {

// Forks in the middle of an assignment, as another thread's fork may: the child says by its status what it finds there.
struct Layout {
  int edges = 0, size = 0;
  static inline void (*in_the_middle)() = nullptr;

  Layout() = default;
  Layout(int edges, int size) : edges(edges), size(size) {}
  Layout(const Layout&) = default;
  Layout& operator=(const Layout& other) {
    edges = other.edges;
    if (in_the_middle) in_the_middle();
    size = other.size;
    return *this;
  }
};

Whole<Layout> g_layout;
int g_status = 0;

void fork_and_look() {
  const pid_t child = fork();
  if (child == 0) {
    const Layout& layout = g_layout.get();
    Layout::in_the_middle = nullptr;
    const bool as_before = layout.edges == 1 && layout.size == 2;
    g_layout.set({5, 6});
    _exit(as_before && g_layout.get().edges == 5 && g_layout.get().size == 6 ? 0 : 1);
  }
  waitpid(child, &g_status, 0);
}

TEST(Whole, AChildForkedInTheMiddleOfSetHasTheValueBeforeAndCanSetAnother) {
  g_layout.set({1, 2});
  Layout::in_the_middle = fork_and_look;
  g_status = -1;
  g_layout.set({3, 4});
  EXPECT_TRUE(WIFEXITED(g_status));
  EXPECT_EQ(WEXITSTATUS(g_status), 0);
  EXPECT_EQ(g_layout.get().edges, 3);
  EXPECT_EQ(g_layout.get().size, 4);
  Layout::in_the_middle = nullptr;
}

}  // namespace
}  // namespace tensorscope
