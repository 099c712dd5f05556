// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/frozen_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tensorscope::python::heap_inspector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// PyGC_Head, and the first word of what follows: an object's references, or the threshold and count of a generation.
struct Member {
  uintptr_t next, previous;
  uint64_t references;
  Object* address() { return reinterpret_cast<Object*>(&references); }
};

// Members 0 to n - 1 in a ring; the last is the head.
class Ring {
 public:
  explicit Ring(size_t objects) : members_(objects + 1) {
    for (size_t i = 0; i < members_.size(); ++i) link(i, (i + 1) % members_.size());
    for (size_t i = 0; i < objects; ++i) members_[i].references = 1;
  }
  void link(size_t from, size_t to, uintptr_t flags = 0) {
    members_[from].next = reinterpret_cast<uintptr_t>(&members_[to]) | flags;
    members_[to].previous = reinterpret_cast<uintptr_t>(&members_[from]) | flags;
  }
  Member& operator[](size_t i) { return members_[i]; }

  std::vector<size_t> listed(const FrozenObjects& frozen) {
    std::vector<size_t> found;
    frozen.each([&](Object* object) {
      for (size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].address() == object) found.push_back(i);
      }
      return true;
    });
    return found;
  }

 private:
  std::vector<Member> members_;
};

TEST(FrozenObjects, AreListedFromAnyOfThem) {
  Ring ring(3);
  const FrozenObjects frozen(ring[1].address(), 3);
  EXPECT_TRUE(frozen.known());
  EXPECT_THAT(ring.listed(frozen), ElementsAre(1, 2, 0));
}

// Of the two bits the collector notes what it knows of an object.
TEST(FrozenObjects, AreListedWhateverTheCollectorNotes) {
  Ring ring(2);
  ring.link(0, 1, 3);
  const FrozenObjects frozen(ring[0].address(), 2);
  EXPECT_TRUE(frozen.known());
  EXPECT_THAT(ring.listed(frozen), ElementsAre(0, 1));
}

TEST(FrozenObjects, OfAnotherNumberAreNotKnown) {
  Ring ring(3);
  for (const uint64_t count : {2u, 4u}) {
    const FrozenObjects frozen(ring[0].address(), count);
    EXPECT_FALSE(frozen.known());
    EXPECT_THAT(ring.listed(frozen), IsEmpty());
  }
}

// Another generation's head has a threshold behind it.
TEST(FrozenObjects, OfARingWithoutItsHeadAreNotKnown) {
  Ring ring(3);
  ring[3].references = 700;
  EXPECT_FALSE(FrozenObjects(ring[0].address(), 3).known());
}

TEST(FrozenObjects, OfARingThatDoesNotLeadBackAreNotKnown) {
  Ring ring(3);
  ring[2].previous = reinterpret_cast<uintptr_t>(&ring[0]);
  EXPECT_FALSE(FrozenObjects(ring[0].address(), 3).known());
}

TEST(FrozenObjects, AreNotKnownFromWhatTheCollectorDoesNotKnow) {
  Ring ring(3);
  ring[0].next = 0;
  EXPECT_FALSE(FrozenObjects(ring[0].address(), 3).known());
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
