// SPDX-License-Identifier: Apache-2.0
// The unwind rules: the cache, the reader of .eh_frame, and a walk with rules that are all wrong.
// Covers: preload/stacks/native/{cfa_program,eh_frame,frame_walk,rule_table,loaded_code}.cc
// Covers: preload/stacks/native/{frame_cache,remembered_walks}.cc
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "stacks/native/cfa_program.h"
#include "stacks/native/eh_frame.h"
#include "stacks/native/frame_walk.h"
#include "stacks/native/rule_table.h"

namespace tensorscope::stacks {
namespace {

TEST(RuleTable, NeverTakesOneAddressForAnother) {
  static constinit RuleTable table;
  std::mt19937_64 random(3);
  std::map<uint64_t, UnwindRule> truth;
  size_t found = 0;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t address = 0x7f0000000000 + random() % 300'000;
    const auto rule = UnwindRule::relative(random() % 2, 1 + random() % 1000, random() % 64);
    if (i % 2 == 0) {
      table.put(address, rule);
      truth[address] = rule;
      ASSERT_EQ(table.find(address), rule);
    } else if (const UnwindRule known = table.find(address); known.known()) {
      ++found;
      ASSERT_TRUE(truth.contains(address));
      ASSERT_EQ(known, truth[address]);
    }
  }
  EXPECT_GT(found, 1000u);
  table.clear();
  for (const auto& [address, rule] : truth) ASSERT_FALSE(table.find(address).known());
}

TEST(RuleTable, AddressesBeyondUserSpaceAreNotKept) {
  static constinit RuleTable table;
  table.put(uint64_t{1} << 47 | 5, UnwindRule::special());
  EXPECT_FALSE(table.find(5).known());
}

UnwindRule run(std::initializer_list<uint8_t> own, uint64_t offset) {
  static const uint8_t kCommon[] = {0x0c, 7, 8, 0x90, 1};  // def_cfa rsp+8; return address at cfa-8
  std::vector<uint8_t> program(own);
  return run_cfa_programs(ByteReader(kCommon, sizeof kCommon), ByteReader(program.data(), program.size()), {1, -8},
                          offset);
}

TEST(CfaProgram, RowsOfAnOrdinaryFunction) {
  // push rbp at 1; mov rsp, rbp at 4; leave at 20
  const auto own = {uint8_t(0x41), uint8_t(0x0e), uint8_t(16),   uint8_t(0x86), uint8_t(2), uint8_t(0x43),
                    uint8_t(0x0d), uint8_t(6),    uint8_t(0x50), uint8_t(0x0c), uint8_t(7), uint8_t(8)};
  EXPECT_EQ(run(own, 0), UnwindRule::relative(false, 1, 0));
  EXPECT_EQ(run(own, 1), UnwindRule::relative(false, 2, 2));
  EXPECT_EQ(run(own, 3), UnwindRule::relative(false, 2, 2));
  EXPECT_EQ(run(own, 4), UnwindRule::relative(true, 2, 2));
  EXPECT_EQ(run(own, 19), UnwindRule::relative(true, 2, 2));
  EXPECT_EQ(run(own, 20), UnwindRule::relative(false, 1, 2));
}

TEST(CfaProgram, RememberedAndRestored) {
  const auto own = {uint8_t(0x0a), uint8_t(0x0e), uint8_t(64),   uint8_t(0x86), uint8_t(3),    uint8_t(0x44),
                    uint8_t(0x0b), uint8_t(0x44), uint8_t(0x86), uint8_t(2),    uint8_t(0x44), uint8_t(0xc6)};
  EXPECT_EQ(run(own, 0), UnwindRule::relative(false, 8, 3));
  EXPECT_EQ(run(own, 4), UnwindRule::relative(false, 1, 0));
  EXPECT_EQ(run(own, 8), UnwindRule::relative(false, 1, 2));
  EXPECT_EQ(run(own, 12), UnwindRule::relative(false, 1, 0));
}

TEST(CfaProgram, RealignedStack) {
  const auto own = {uint8_t(0x10), uint8_t(6), uint8_t(2),    uint8_t(0x76), uint8_t(0),
                    uint8_t(0x0f), uint8_t(3), uint8_t(0x76), uint8_t(0x58), uint8_t(0x06)};  // [rbp - 40]
  EXPECT_EQ(run(own, 0), UnwindRule::realigned(5));
}

TEST(CfaProgram, OddOnes) {
  EXPECT_EQ(run({0x07, 16}, 0), UnwindRule::outermost());
  EXPECT_EQ(run({0x0c, 10, 0}, 0), UnwindRule::special());       // another register
  EXPECT_EQ(run({0x0e, 12}, 0), UnwindRule::special());          // no multiple of 8
  EXPECT_EQ(run({0x0f, 2, 0x77, 8}, 0), UnwindRule::special());  // another expression
  EXPECT_EQ(run({0x09, 6, 3}, 0), UnwindRule::special());        // RBP in a register
  EXPECT_EQ(run({0x90, 3}, 0), UnwindRule::special());           // return address elsewhere
  EXPECT_EQ(run({0x0b}, 0), UnwindRule::special());              // nothing to restore
  EXPECT_EQ(run({0x3f}, 0), UnwindRule::special());              // unknown instruction
  EXPECT_EQ(run({0x0c, 7}, 0), UnwindRule::special());           // cut short
  EXPECT_EQ(run({0x0f, 200, 0x76}, 0), UnwindRule::special());   // an expression longer than the program
}

TEST(EhFrame, FindsFunctionsByBothWays) {
  const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "qsort")) + 1;
  UnwindSection by_lock, lock_free;
  ASSERT_TRUE(find_unwind_section_by_lock(address, by_lock));
  start_eh_frame();
  ASSERT_TRUE(find_unwind_section(address, lock_free));
  EXPECT_EQ(by_lock.header, lock_free.header);
  EXPECT_NE(read_unwind_rule(address), UnwindRule::special());
  EXPECT_EQ(read_unwind_rule(reinterpret_cast<uint64_t>(&address)), UnwindRule::guess());  // no code
  EXPECT_EQ(read_unwind_rule(0), UnwindRule::special());
}

// A thread's, as new, over these words.
std::unique_ptr<ThreadStack> stack_over(std::span<uint64_t> words) {
  auto stack = std::make_unique<ThreadStack>();
  std::memset(static_cast<void*>(stack.get()), 0, sizeof *stack);
  stack->low = reinterpret_cast<uint64_t>(words.data());
  stack->high = stack->low + words.size_bytes();
  return stack;
}

// One word changes at a time; the remembered frames must follow it.
class RememberedFrames : public testing::Test {
 protected:
  RememberedFrames() : stack_(stack_over(words_)) {
    for (uint64_t outermost : {8, 9}) rules_.put(outermost, UnwindRule::outermost());
  }
  uint64_t at(int word) const { return reinterpret_cast<uint64_t>(words_ + word); }
  std::vector<uint64_t> walk(uint64_t ip, int sp_word, uint64_t bp) {
    const FrameState innermost = {ip, at(sp_word), bp};
    const uint32_t depth = stack_->depth_words(innermost.sp);
    const StackId known = stack_->walks.find(innermost, depth, outside_);
    const Walk walk = walk_frames(*stack_, rules_, innermost);
    if (walk.end != Walk::complete || !give_nodes(*stack_, walk, trie_)) return {};
    const StackId node = stack_->cache[stack_->path[0]].node();
    if (known != 0) {
      EXPECT_EQ(known, node);
      ++known_walks_;
    }
    if (walk.frames > 1) {
      outside_.record = stack_->path[walk.frames - 1];
      outside_.tag = stack_->cache[outside_.record].tag;
      stack_->walks.remember(*stack_, walk, innermost, outside_);
      EXPECT_EQ(stack_->walks.find(innermost, depth, outside_), node);
    }
    std::vector<uint64_t> addresses;
    for (int i = 0; i < walk.frames; ++i) addresses.push_back(path_address(*stack_, i));
    std::vector<uint64_t> nodes;
    for (StackId id = stack_->cache[stack_->path[0]].node(); id != 0; id = trie_.frame(id).parent) {
      nodes.push_back(trie_.frame(id).address);
    }
    EXPECT_EQ(addresses, nodes);
    return addresses;
  }

  uint64_t words_[64] = {};
  static constinit RuleTable rules_;
  static constinit NativeTrie trie_;
  std::unique_ptr<ThreadStack> stack_;
  RememberedWalks::Outside outside_;  // of the last walk
  int known_walks_ = 0;               // that the one before it had been
};
constinit RuleTable RememberedFrames::rules_;
constinit NativeTrie RememberedFrames::trie_;

using Addresses = std::vector<uint64_t>;

TEST_F(RememberedFrames, ReturnAddress) {
  rules_.put(1, UnwindRule::relative(false, 4, 0));
  rules_.put(2, UnwindRule::relative(false, 4, 0));
  words_[3] = 2, words_[7] = 8;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 8}));
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 8}));
  EXPECT_EQ(known_walks_, 1);
  words_[7] = 9;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 9}));
  words_[7] = 8, words_[3] = 9;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 9}));
}

TEST_F(RememberedFrames, WhatIsFurtherOutComesToBeAnother) {
  rules_.put(1, UnwindRule::relative(false, 4, 0));
  words_[3] = 8;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 8}));
  const FrameState innermost = {1, at(0), 0};
  const uint32_t depth = stack_->depth_words(innermost.sp);
  const StackId node = stack_->cache[stack_->path[0]].node();
  const uint32_t number = stack_->walks.last(node);
  EXPECT_TRUE(stack_->walks.is_at(number, node, innermost, depth, stack_->cache));
  EXPECT_FALSE(stack_->walks.is_at(number, node + 1, innermost, depth, stack_->cache));
  EXPECT_FALSE(stack_->walks.is_at(number, node, innermost, depth + 1, stack_->cache));
  ++stack_->cache[outside_.record].tag;
  EXPECT_FALSE(stack_->walks.is_at(number, node, innermost, depth, stack_->cache));
}

TEST_F(RememberedFrames, SavedBasePointerOfAFrameThatNeedsIt) {
  rules_.put(1, UnwindRule::relative(false, 4, 2));  // saves RBP, does not need it
  rules_.put(2, UnwindRule::relative(false, 4, 0));  // leaves RBP alone
  rules_.put(3, UnwindRule::relative(true, 2, 2));   // needs it
  words_[2] = at(20), words_[3] = 2, words_[7] = 3, words_[21] = 8, words_[31] = 9;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 3, 8}));
  EXPECT_EQ(walk(1, 0, 12345), (Addresses{1, 2, 3, 8}));
  EXPECT_EQ(known_walks_, 1);
  words_[2] = at(30);
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 3, 9}));
  EXPECT_EQ(walk(2, 4, at(20)), (Addresses{2, 3, 8}));
  EXPECT_EQ(walk(3, 8, at(30)), (Addresses{3, 9}));
}

// What the innermost frame has in RBP is what the outer frame had there; in between it was saved and is now another.
TEST_F(RememberedFrames, SavedBasePointerIsNotTheInnermost) {
  rules_.put(1, UnwindRule::relative(false, 4, 2));
  rules_.put(2, UnwindRule::relative(false, 4, 0));
  rules_.put(3, UnwindRule::relative(true, 2, 2));
  words_[2] = at(20), words_[3] = 2, words_[7] = 3, words_[21] = 8, words_[31] = 9;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 3, 8}));
  words_[2] = at(30);
  EXPECT_EQ(walk(1, 0, at(20)), (Addresses{1, 2, 3, 9}));
}

// The frame in the middle comes to have a caller that needs RBP, seen by a capture that does not include the inner one.
TEST_F(RememberedFrames, BasePointerComesToBeNeeded) {
  rules_.put(1, UnwindRule::relative(false, 4, 2));
  rules_.put(2, UnwindRule::relative(false, 4, 0));
  rules_.put(3, UnwindRule::relative(true, 2, 2));
  words_[2] = at(20), words_[3] = 2, words_[7] = 8, words_[21] = 8, words_[31] = 9;
  EXPECT_EQ(walk(1, 0, 0), (Addresses{1, 2, 8}));
  words_[7] = 3;
  EXPECT_EQ(walk(2, 4, at(20)), (Addresses{2, 3, 8}));
  words_[2] = at(30);
  EXPECT_EQ(walk(1, 0, at(20)), (Addresses{1, 2, 3, 9}));
}

TEST_F(RememberedFrames, CfaOfARealignedFrame) {
  rules_.put(1, UnwindRule::realigned(2));
  words_[8] = at(20), words_[19] = 8, words_[29] = 9;
  EXPECT_EQ(walk(1, 0, at(10)), (Addresses{1, 8}));
  EXPECT_EQ(walk(1, 0, at(10)), (Addresses{1, 8}));
  words_[8] = at(30);
  EXPECT_EQ(walk(1, 0, at(10)), (Addresses{1, 9}));
}

TEST_F(RememberedFrames, NothingIsReadBeyondTheStack) {
  rules_.put(1, UnwindRule::relative(false, 65, 0));
  rules_.put(2, UnwindRule::relative(true, 1, 0));
  EXPECT_EQ(walk(1, 0, 0), Addresses{});
  EXPECT_EQ(walk(2, 8, at(64)), Addresses{});  // above
  EXPECT_EQ(walk(2, 8, at(4)), Addresses{});   // backwards
  EXPECT_EQ(walk(8, 64, 0), Addresses{});
}

// A word changes now and then; a remembered walk must be the one that the rules alone make.
TEST(RememberedWalks, AreWhatTheRulesSay) {
  static constinit RuleTable rules;
  static constinit NativeTrie trie;
  std::mt19937_64 random(5);
  uint64_t words[48];
  const auto stack = stack_over(words);
  const auto any_word = [&] { return stack->low + random() % 48 * 8; };
  std::vector<RememberedWalks::Outside> outsides;
  struct Remembered {
    uint32_t number;
    StackId node;
    RememberedWalks::Outside outside;
  };
  std::vector<Remembered> remembered;
  int known_walks = 0, unknown = 0, at_place = 0;
  for (int round = 0; round < 200'000; ++round) {
    if (round % 1000 == 0) {
      for (uint64_t address = 1; address < 12; ++address) {
        const auto kind = random() % 12;
        rules.put(address, kind < 2    ? UnwindRule::outermost()
                           : kind == 2 ? UnwindRule::realigned(1 + random() % 4)
                                       : UnwindRule::relative(random() % 3 == 0, 1 + random() % 6, random() % 4));
      }
      for (uint64_t& word : words) word = random() % 3 == 0 ? any_word() : random() % 12;
      stack->forget_frames();
      outsides.assign(1, {});
      remembered.clear();
    }
    if (random() % 4 == 0) words[random() % 48] = random() % 3 == 0 ? any_word() : random() % 12;
    const FrameState innermost{1 + random() % 2, stack->low + random() % 2 * 8, stack->low + (16 + random() % 3) * 8};
    const uint32_t depth = stack->depth_words(innermost.sp);
    const RememberedWalks::Outside outside = outsides[random() % outsides.size()];
    const StackId known = stack->walks.find(innermost, depth, outside);
    Walk walk = walk_frames(*stack, rules, innermost);
    // As far as the outside, which the caller trusts, the frames are those of the walk.
    const auto expect_same = [&](StackId node, const RememberedWalks::Outside& until) {
      const StackId end = until.tag & ~FrameRecord::kNeedsBp;
      int frames = 0;
      for (StackId id = node; id != end; id = trie.frame(id).parent, ++frames) {
        ASSERT_LT(frames, walk.frames);
        ASSERT_EQ(trie.frame(id).address, path_address(*stack, frames));
      }
      ASSERT_LT(frames, walk.frames);
      ASSERT_EQ(path_address(*stack, frames), stack->cache[until.record].ip);
    };
    for (const Remembered& any : remembered) {
      if (!stack->walks.is_at(any.number, any.node, innermost, depth, stack->cache)) continue;
      expect_same(any.node, any.outside);
      ++at_place;
    }
    if (known != 0) {
      expect_same(known, outside);
      ++known_walks;
      continue;
    }
    if (walk.end != Walk::complete || walk.frames < 2) continue;
    ASSERT_TRUE(give_nodes(*stack, walk, trie));
    ++unknown;
    walk.frames = 2 + int(random() % (walk.frames - 1));
    const uint32_t last = stack->path[walk.frames - 1];
    if (outsides.size() == 3) outsides.erase(outsides.begin());
    outsides.push_back({last, stack->cache[last].tag});
    stack->walks.remember(*stack, walk, innermost, outsides.back());
    const StackId node = stack->cache[stack->path[0]].node();
    if (stack->walks.find(innermost, depth, outsides.back()) != node) continue;  // the table refused it
    if (remembered.size() == 3) remembered.erase(remembered.begin());
    remembered.push_back({stack->walks.last(node), node, outsides.back()});
  }
  EXPECT_GT(at_place, 1000);
  EXPECT_GT(known_walks, 1000);
  EXPECT_GT(unknown, 1000);
}

// Whatever the rules say, a walk stays inside the stack: here every rule is random.
TEST(FrameWalk, WrongRulesAreHarmless) {
  static constinit RuleTable rules;
  static constinit NativeTrie trie;
  std::mt19937_64 random(9);
  uint64_t words[512];
  const auto stack = stack_over(words);
  int complete = 0, gave_up = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (round % 100 == 0) {
      for (uint64_t address = 1; address < 40; ++address) {
        const auto kind = random() % 12;
        rules.put(address, kind == 0   ? UnwindRule::special()
                           : kind == 1 ? UnwindRule::outermost()
                           : kind == 2 ? UnwindRule::realigned(1 + random() % 20)
                           : kind == 3 ? UnwindRule::guess()
                                       : UnwindRule::relative(random() % 2, 1 + random() % 60, random() % 8));
      }
      stack->cache.clear();
    }
    for (uint64_t& word : words) {
      if (random() % 8 != 0 && round % 5 != 0) continue;
      word = random() % 3 == 0 ? stack->low + random() % sizeof words : random() % 16 == 0 ? random() : random() % 40;
    }
    const FrameState innermost{1 + random() % 39, stack->low + random() % 64 * 8, stack->low + random() % 512 * 8};
    const Walk walk = walk_frames(*stack, rules, innermost);
    if (walk.end == Walk::complete) {
      ++complete;
      // The remembered frames must say what the rules alone say.
      std::vector<uint64_t> remembered;
      for (int i = 0; i < walk.frames; ++i) remembered.push_back(path_address(*stack, i));
      if (walk.changed_frames != 0) {
        ASSERT_TRUE(give_nodes(*stack, walk, trie));
      }
      const FrameCache keep = stack->cache;
      stack->cache.clear();
      const Walk fresh = walk_frames(*stack, rules, innermost);
      ASSERT_EQ(fresh.end, Walk::complete);
      std::vector<uint64_t> by_rules;
      for (int i = 0; i < fresh.frames; ++i) by_rules.push_back(path_address(*stack, i));
      ASSERT_EQ(remembered, by_rules);
      stack->cache = keep;
    } else {
      ++gave_up;
    }
  }
  EXPECT_GT(complete, 500);
  EXPECT_GT(gave_up, 500);
}

}  // namespace
}  // namespace tensorscope::stacks
