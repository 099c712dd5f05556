// SPDX-License-Identifier: Apache-2.0
// Objects of the classes that torch has, with its names and fields and without its library.
#include "torch/ivalues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/tracker.h"
#include "support/state.h"
#include "torch/metadata/shared_object_map.h"

namespace c10 {

struct Target {
  virtual ~Target() = default;
  uint64_t counts = uint64_t{1} << 32 | 1;
};
struct IValue {
  const void* payload = nullptr;
  uint64_t tag = 0;
};
struct ClassAttribute {
  uint64_t kind = 2;
  void* type[2] = {};
  std::string name;
};
struct ClassType {
  virtual ~ClassType() = default;
  uint64_t others[9] = {};
  std::vector<ClassAttribute> attributes;
};

namespace detail {
struct ListImpl : Target {
  std::vector<IValue> list;
};
struct Entry {
  void *previous = nullptr, *next = nullptr;
  int8_t distance = -1;
  IValue key, value;
};
struct DictImpl : Target {
  Entry* entries = nullptr;
  uint64_t slots_minus_one = 0;
  int8_t shift = 63, max_lookups = 4;
  float load = 0.5f;
  uint64_t count = 0;
  Entry *sentinel_owner = nullptr, *sentinel = nullptr;
};
}  // namespace detail

namespace ivalue {
struct ConstantString : Target {
  std::string text;
};
struct Tuple : Target {
  uint64_t inline_size = 0;
  IValue elements[3];
};
struct Object : Target {
  uint64_t unit[6] = {};
  ClassType* type = nullptr;
  void* type_owner = nullptr;
  std::vector<IValue> slots;
};
struct Future : Target {
  uint64_t locks[12] = {};
  IValue value;
};
}  // namespace ivalue

}  // namespace c10

namespace tensorscope::torch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kTensor = 1, kInt = 5, kOther = 14;

class IValuesTest : public ::testing::Test {
 protected:
  IValuesTest() {
    EXPECT_TRUE(objects_.refresh());
    classes_.start(&objects_);
    EXPECT_TRUE(live::start());
    g_state.store(State::recording);
    const InsideScope inside;
    for (const uint64_t& each : tensors_) live::tensor_constructed(&each);
  }
  ~IValuesTest() override {
    const InsideScope inside;
    for (const uint64_t& each : tensors_) live::tensor_destroyed(&each);
  }

  c10::IValue tensor(size_t number) { return {&tensors_[number], kTensor}; }
  static c10::IValue of(const void* object) { return {object, kOther}; }

  // Which tensor under which text.
  std::map<std::string, size_t> found(const void* container, IValues& values) {
    std::map<std::string, size_t> all;
    EXPECT_TRUE(values.walk(
        reinterpret_cast<uint64_t>(container), [] { return true; },
        [&](const IValues::Held& held) {
          all[held.text] = size_t(reinterpret_cast<const uint64_t*>(held.tensor) - tensors_);
          role_ = held.role;
        }));
    return all;
  }
  std::map<std::string, size_t> found(const void* container) {
    IValues values(classes_);
    return found(container, values);
  }

  SharedObjectMap objects_;
  ObjectClasses classes_;
  uint64_t tensors_[8] = {};
  IValues::Role role_ = IValues::Role::plain;
};

TEST_F(IValuesTest, AListHasItsTensors) {
  c10::detail::ListImpl list;
  const uint64_t no_tensor = 0;
  list.list = {tensor(0), {&no_tensor, kTensor}, {&tensors_[1], kInt}, tensor(2)};
  EXPECT_THAT(found(&list), ElementsAre(Pair("[0]", 0), Pair("[3]", 2)));
}

// In torch 2.2 the two counts have a word each.
TEST_F(IValuesTest, AListOfAnOlderTorchHasThemToo) {
  const c10::detail::ListImpl list;
  const c10::IValue elements[] = {tensor(6), tensor(7)};
  uint64_t older[8] = {0,
                       1,
                       1,
                       reinterpret_cast<uint64_t>(elements),
                       reinterpret_cast<uint64_t>(elements + 2),
                       reinterpret_cast<uint64_t>(elements + 2)};
  memcpy(older, static_cast<const void*>(&list), sizeof(uint64_t));
  EXPECT_THAT(found(older), ElementsAre(Pair("[0]", 6), Pair("[1]", 7)));
}

TEST_F(IValuesTest, AnObjectHasTheNamesOfItsAttributes) {
  c10::detail::ListImpl list;
  list.list = {tensor(0)};
  c10::ClassType type;
  type.attributes = {{1, {}, "weight"}, {2, {}, "a_history_with_a_long_name"}};
  c10::ivalue::Object object;
  object.type = &type;
  object.slots = {tensor(1), of(&list)};
  EXPECT_THAT(found(&object), ElementsAre(Pair(".a_history_with_a_long_name[0]", 0), Pair(".weight", 1)));
  type.attributes.pop_back();
  EXPECT_THAT(found(&object), ElementsAre(Pair(".<slot 0>", 1), Pair(".<slot 1>[0]", 0))) << "the names of others";
  c10::ivalue::Object parameter;
  parameter.type = &type;
  parameter.slots = {tensor(1)};
  EXPECT_THAT(found(&parameter), ElementsAre(Pair(".weight", 1)));
  EXPECT_EQ(role_, IValues::Role::parameter);
}

TEST_F(IValuesTest, ADictIsKnownByItsKeys) {
  c10::ivalue::ConstantString key;
  key.text = "k3";
  c10::detail::Entry entries[6], sentinel;
  for (size_t i : {1, 2}) entries[i].distance = 0;
  entries[1].key = of(&key);
  entries[1].value = tensor(3);
  entries[2].key = {reinterpret_cast<const void*>(7), kInt};
  entries[2].value = tensor(4);
  c10::detail::DictImpl dict;
  dict.entries = entries;
  dict.slots_minus_one = 1;
  dict.count = 2;
  dict.sentinel = dict.sentinel_owner = &sentinel;
  EXPECT_THAT(found(&dict), ElementsAre(Pair("['k3']", 3), Pair("[7]", 4)));
  dict.count = 1;
  EXPECT_THAT(found(&dict), IsEmpty()) << "it says that it has another number of them";
}

// The text of libstdc++'s older kind: length, capacity, count of users, characters. What follows it is the next
// attribute.
TEST_F(IValuesTest, ANameMayBeAnOlderText) {
  struct OlderAttribute {
    uint64_t kind;
    const void* type[2];
    const char* name;
  };
  struct OlderText {
    uint64_t length, capacity, users;
    char characters[8];
  };
  OlderText texts[] = {{5, 5, 0, "cache"}, {3, 7, 0, "sub"}};
  OlderAttribute attributes[] = {{2, {texts, texts}, texts[0].characters}, {2, {texts, texts}, texts[1].characters}};
  c10::ClassType type;
  c10::ivalue::Object object;
  object.type = &type;
  object.slots = {tensor(0), tensor(1)};
  const uint64_t begin = reinterpret_cast<uint64_t>(attributes);
  type.others[4] = begin;
  type.others[5] = type.others[6] = begin + sizeof attributes;
  EXPECT_THAT(found(&object), ElementsAre(Pair(".cache", 0), Pair(".sub", 1)));
}

TEST_F(IValuesTest, ContainersAreLookedIntoOnce) {
  c10::ivalue::Tuple tuple;
  tuple.inline_size = 2;
  c10::ivalue::Future future;
  future.value = of(&tuple);
  tuple.elements[0] = tensor(5);
  tuple.elements[1] = of(&future);  // a cycle
  IValues values(classes_);
  EXPECT_THAT(found(&future, values), ElementsAre(Pair(".value()[0]", 5)));
  EXPECT_THAT(found(&tuple, values), IsEmpty());
}

TEST_F(IValuesTest, WhatIsNoneOfTheseHasNothing) {
  c10::ivalue::ConstantString text;
  EXPECT_THAT(found(&text), IsEmpty());
  EXPECT_THAT(found(reinterpret_cast<const void*>(0x1000)), IsEmpty());
  c10::detail::ListImpl list;
  list.list = {tensor(0)};
  const void* wrapped[4] = {nullptr, &text, &list, nullptr};
  IValues values(classes_);
  EXPECT_EQ(values.container_in(reinterpret_cast<uint64_t>(wrapped)), reinterpret_cast<uint64_t>(&list));
  wrapped[2] = nullptr;
  EXPECT_EQ(values.container_in(reinterpret_cast<uint64_t>(wrapped)), 0u);
}

}  // namespace
}  // namespace tensorscope::torch
