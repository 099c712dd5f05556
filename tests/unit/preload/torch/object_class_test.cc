// SPDX-License-Identifier: Apache-2.0
#include "torch/metadata/object_class.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "support/under_qemu.h"
#include "torch/metadata/safe_reads.h"
#include "torch/metadata/shared_object_map.h"

namespace animals {
struct Animal {
  virtual ~Animal() = default;
};
struct Dog : Animal {
  int legs = 4;
};
}  // namespace animals

static const int g_marker = 4;

namespace tensorscope::torch {
namespace {

class ObjectClassTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(objects_.refresh());
    classes_ = std::make_unique<ObjectClasses>();
    classes_->start(&objects_);
  }
  SharedObjectMap objects_;
  std::unique_ptr<ObjectClasses> classes_;
};

TEST_F(ObjectClassTest, NamesTheDynamicClass) {
  animals::Dog dog;
  const animals::Animal* animal = &dog;
  EXPECT_STREQ(classes_->of(animal), "N7animals3DogE");
  EXPECT_STREQ(classes_->of(animal), "N7animals3DogE") << "and again, from the cache";
  const animals::Animal plain;
  EXPECT_STREQ(classes_->of(&plain), "N7animals6AnimalE");
}

TEST_F(ObjectClassTest, AnythingElseHasNoName) {
  EXPECT_STREQ(classes_->of(nullptr), "");
  uint64_t heap[4] = {0, 1, 2, 3};
  for (uint64_t word : {uint64_t{0}, uint64_t{8}, uint64_t{12345}, ~uint64_t{0}, uint64_t{0xDEADBEEF000},
                        reinterpret_cast<uint64_t>(heap)}) {
    heap[0] = word;
    EXPECT_STREQ(classes_->of(heap), "") << std::hex << word;
  }
  // Words inside a module that are no vtable: code, and a text.
  EXPECT_STREQ(classes_->by_vtable(reinterpret_cast<uint64_t>(&strlen) & ~uint64_t{7}), "");
  alignas(8) static const char text[] = "some text that is long enough to be looked at as if it were a vtable";
  EXPECT_STREQ(classes_->by_vtable(reinterpret_cast<uint64_t>(text) + 16), "");
}

TEST_F(ObjectClassTest, ManyForeignWordsDoNotFillTheCache) {
  for (uint64_t word = 8; word < 8 * 100'000; word += 8) classes_->by_vtable(word);
  animals::Dog dog;
  EXPECT_STREQ(classes_->of(&dog), "N7animals3DogE");
}

TEST(ReadWordsSafely, UnmappedWordsAreZero) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  munmap(memory + page, page);
  const uint64_t value = 42;
  memcpy(memory, &value, sizeof(value));
  std::vector<uint64_t> addresses;
  for (int i = 0; i < 2000; ++i) {
    addresses.push_back(reinterpret_cast<uint64_t>(i % 3 == 1 ? memory + page : memory));
  }
  std::vector<uint64_t> words(addresses.size(), 7);
  ASSERT_TRUE(read_words_safely(addresses.data(), words.data(), words.size()));
  for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], i % 3 == 1 ? 0u : 42u) << i;
  munmap(memory, page);
}

TEST(ReadWordsSafely, EachWordHasItsOwnPlaceWhateverTheOrder) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  constexpr size_t kWords = 100'000;  // many pages, more than one call reads
  std::vector<uint64_t> values(kWords);
  std::vector<uint64_t> addresses(kWords), words(kWords);
  for (size_t i = 0; i < kWords; ++i) {
    values[i] = i + 1;
    addresses[i] = reinterpret_cast<uint64_t>(&values[i * 7919 % kWords]);
  }
  ASSERT_TRUE(read_words_safely(addresses.data(), words.data(), kWords));
  for (size_t i = 0; i < kWords; ++i) ASSERT_EQ(words[i], i * 7919 % kWords + 1) << i;
}

TEST(SharedObjectMap, KnowsThisProgram) {
  SharedObjectMap objects;
  ASSERT_TRUE(objects.refresh());
  ASSERT_FALSE(objects.objects().empty());
  const MappedObject& program = objects.objects()[0];
  EXPECT_NE(program.path.find("torch_object_class_test"), std::string::npos) << program.path;
  EXPECT_FALSE(program.build_id.empty());
  const auto here = reinterpret_cast<uint64_t>(&g_marker);
  EXPECT_GE(here, program.begin);
  EXPECT_LT(here, program.end);
  EXPECT_TRUE(objects.readable(here, 8));
  EXPECT_FALSE(objects.readable(program.end + (uint64_t{1} << 46), 8));
  EXPECT_FALSE(objects.readable(here, size_t{1} << 40)) << "not beyond its segment";
  EXPECT_FALSE(objects.readable(0, 8));
}

}  // namespace
}  // namespace tensorscope::torch
