// SPDX-License-Identifier: Apache-2.0
#include "process/call_site.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace tensorscope::process {
namespace {

#if defined(__x86_64__)

using Bytes = std::vector<uint8_t>;

// Memory of another process, a piece of it at each address.
class Memory {
 public:
  Memory& put(uint64_t at, const Bytes& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes_[at + i] = bytes[i];
    return *this;
  }
  Memory& put_address(uint64_t at, uint64_t address) {
    Bytes bytes(sizeof address);
    memcpy(bytes.data(), &address, sizeof address);
    return put(at, bytes);
  }
  uint64_t called(uint64_t return_address) const {
    return called_function(return_address, [this](uint64_t address, void* bytes, size_t size) {
      for (size_t i = 0; i < size; ++i) {
        const auto found = bytes_.find(address + i);
        if (found == bytes_.end()) return false;
        static_cast<uint8_t*>(bytes)[i] = found->second;
      }
      return true;
    });
  }

 private:
  std::map<uint64_t, uint8_t> bytes_;
};

constexpr uint64_t kReturn = 0x1006, kStub = 0x2000, kTable = 0x3000, kFunction = 0x7f0012345678;
const Bytes kCallStub = {0x90, 0xe8, 0xfa, 0x0f, 0x00, 0x00};  // call kStub
const Bytes kRoom(16, 0xcc);

TEST(CallSite, AFunctionIsFoundThroughTheStubsOfAllLinkers) {
  const Bytes stubs[] = {
      {0xff, 0x25, 0xfa, 0x0f, 0x00, 0x00},                                                              // jmp *table
      {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0x0f, 0x00, 0x00},                                      // endbr64
      {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xf5, 0x0f, 0x00, 0x00},                                // bnd jmp
      {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 0x07, 0x00, 0x00, 0x00, 0xff, 0x25, 0xf0, 0x0f, 0x00, 0x00},  // mold
  };
  for (const Bytes& stub : stubs) {
    Memory memory;
    memory.put(kReturn - 6, kCallStub).put(kStub, kRoom).put(kStub, stub).put_address(kTable, kFunction);
    EXPECT_EQ(memory.called(kReturn), kFunction) << stub.size();
  }
}

TEST(CallSite, AFunctionIsFoundWithoutAStub) {
  Memory through_table;
  through_table.put(kReturn - 6, {0xff, 0x15, 0xfa, 0x1f, 0x00, 0x00}).put_address(kTable, kFunction);
  EXPECT_EQ(through_table.called(kReturn), kFunction);

  Memory direct;
  direct.put(kReturn - 6, kCallStub).put(kStub, {0x55, 0x48, 0x89, 0xe5}).put(kStub + 4, kRoom);
  EXPECT_EQ(direct.called(kReturn), kStub);

  // What begins like a stub and jumps elsewhere: push *table, and a jump that would lie behind what was read.
  for (const Bytes& code :
       {Bytes{0xff, 0x35, 0xfa, 0x0f, 0x00, 0x00},
        Bytes{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 0x07, 0x00, 0x00, 0x00, 0xf2, 0xff, 0x25, 0xef, 0x0f, 0x00}}) {
    Memory no_stub;
    no_stub.put(kReturn - 6, kCallStub).put(kStub, kRoom).put(kStub, code).put_address(kTable, kFunction);
    EXPECT_EQ(no_stub.called(kReturn), kStub) << code.size();
  }

  Memory backwards;
  backwards.put(0x5000 - 6, {0x90, 0xe8, 0x00, 0xd0, 0xff, 0xff}).put(kStub, kRoom);
  EXPECT_EQ(backwards.called(0x5000), kStub);
}

TEST(CallSite, WhatIsNoSuchCallIsNotKnown) {
  Memory by_register;
  by_register.put(kReturn - 6, {0x48, 0x89, 0xdf, 0x90, 0xff, 0xd0});
  EXPECT_EQ(by_register.called(kReturn), 0u);
  EXPECT_EQ(Memory().called(kReturn), 0u);

  Memory no_call;  // whose last bytes would lead to the table
  no_call.put(kReturn - 6, {0x00, 0x15, 0xfa, 0x1f, 0x00, 0x00}).put_address(kTable, kFunction);
  EXPECT_EQ(no_call.called(kReturn), 0u);

  Memory table_is_gone;
  table_is_gone.put(kReturn - 6, {0xff, 0x15, 0xfa, 0x1f, 0x00, 0x00});
  EXPECT_EQ(table_is_gone.called(kReturn), 0u);
}

#else

TEST(CallSite, IsNotKnownOnOtherMachines) {
  EXPECT_EQ(called_function(0x1000, [](uint64_t, void*, size_t) { return true; }), 0u);
}

#endif

}  // namespace
}  // namespace tensorscope::process
