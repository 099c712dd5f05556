// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/frame_walk.h"

#include "stacks/native/eh_frame.h"

namespace tensorscope::stacks {

namespace {

uint64_t word_at(uint64_t address) { return *reinterpret_cast<const volatile uint64_t*>(address); }

__attribute__((noinline)) UnwindRule learn(ThreadStack& stack, RuleTable& rules, uint64_t ip) {
  const UnwindRule rule = read_unwind_rule(ip);
  if (!rule.is_guess()) rules.put(ip, rule);  // an object may be loaded there at any time
  stack.learnt = true;
  return rule;
}

enum class Step : uint8_t { caller, outermost, lost };

Step step_realigned(const ThreadStack& stack, uint32_t slot_words, FrameState& state, ThreadStack::FreshFrame& frame) {
  const uint64_t slot = state.bp - 8 * uint64_t{slot_words};
  if (slot < state.sp || slot > state.bp || state.bp >= stack.high || (state.bp & 7) != 0) return Step::lost;
  const uint64_t cfa = word_at(slot);
  if (cfa <= state.bp + 8 || cfa > stack.high || (cfa & 7) != 0) return Step::lost;
  frame.bp_words = uint8_t(slot_words);
  frame.from_bp = frame.realigned = true;
  state = {word_at(cfa - 8), cfa, word_at(state.bp)};
  return state.ip != 0 ? Step::caller : Step::lost;
}

// As libunwind guesses: RBP is the frame pointer if it is above the stack pointer, but not far. Otherwise the stack
// ends here.
Step step_guessed(const ThreadStack& stack, FrameState& state, ThreadStack::FreshFrame& frame) {
  constexpr uint64_t kMaxBytes = 0x4000;
  frame.from_bp = frame.guessed = true;
  const uint64_t cfa = state.bp + 16;
  if (state.bp < state.sp || state.bp - state.sp > kMaxBytes || cfa > stack.high || (cfa & 7) != 0) {
    return Step::outermost;
  }
  frame.bp_words = 2;
  state = {word_at(cfa - 8), cfa, word_at(cfa - 16)};
  return state.ip != 0 ? Step::caller : Step::outermost;
}

// Turns `state` into its caller's by the rule, and says in `frame` how.
Step step(ThreadStack& stack, RuleTable& rules, FrameState& state, ThreadStack::FreshFrame& frame) {
  frame = {state, 0, false, false, false};
  UnwindRule rule = rules.find(state.ip);
  if (__builtin_expect(!rule.known(), false)) rule = learn(stack, rules, state.ip);
  if (!rule.is_relative()) {
    if (rule.is_guess()) return step_guessed(stack, state, frame);
    if (rule.is_realigned()) return step_realigned(stack, rule.cfa_slot_words(), state, frame);
    return rule.is_outermost() ? Step::outermost : Step::lost;
  }
  const uint64_t cfa = (rule.from_bp() ? state.bp : state.sp) + 8 * uint64_t{rule.cfa_words()};
  const uint64_t bp_slot = cfa - 8 * uint64_t{rule.bp_words()};
  if (cfa <= state.sp || cfa > stack.high || (cfa & 7) != 0 || bp_slot < state.sp) return Step::lost;
  frame.bp_words = uint8_t(rule.bp_words());
  frame.from_bp = rule.from_bp();
  if (frame.bp_words != 0) state.bp = word_at(bp_slot);
  state.ip = word_at(cfa - 8);
  state.sp = cfa;
  return state.ip != 0 ? Step::caller : Step::lost;
}

enum class Followed : uint8_t {
  whole,    // to the outermost frame
  differs,  // `state` is a frame that is not as recorded
  unclear,  // `state` is a frame whose caller must be found by its rule
  full,
};

// RBP in the caller of `frame`, where RBP is `bp` in the frame.
uint64_t caller_bp(const FrameRecord& frame, uint64_t bp) {
  if (frame.realigned != 0) return word_at(bp);
  return frame.bp_words == 0 ? bp : word_at(frame.return_slot + 8 - 8 * uint64_t{frame.bp_words});
}

// RBP in frame `end` of the path, where it is `bp` in frame `begin`; all between are records.
uint64_t bp_along(ThreadStack& stack, int begin, int end, uint64_t bp) {
  for (int i = begin; i < end; ++i) bp = caller_bp(stack.cache[stack.path[i]], bp);
  return bp;
}

// Follows the recorded callers from record `at`, whose state is `state`, as long as the stack's words are theirs.
//
// The hot loop: for most frames one load from the stack and two comparisons. RBP is looked at only where a frame
// further out depends on it, which the records say (watches_bp); where the walk must go on by rules it is found again.
Followed follow(ThreadStack& stack, uint32_t at, uint32_t trusted, FrameState& state, Walk& walk) {
  FrameCache& cache = stack.cache;
  const FrameRecord* frame = &cache[at];
  const int begin = walk.frames;
  int changed_frames = walk.changed_frames;
  uint64_t bp = state.bp;
  int count = begin;
  Followed followed = Followed::full;
  while (count < ThreadStack::kMaxFrames) {
    stack.path[count++] = at;
    // Records of one capture lie side by side. As a predicted branch (the asm statements keep the compiler from making
    // one assignment of the two) the next frame's loads need not wait for this one's: a fifth of the whole cost.
    const uint32_t next = frame->caller;
    if (__builtin_expect(next == at - 1, true)) {
      --at;
      asm volatile("" : "+r"(at));
    } else {
      at = next;
      asm volatile("" : "+r"(at));
    }
    if (at == 0) {
      if (frame->caller_tag != 0) changed_frames = count;
      followed = Followed::whole;
      break;
    }
    const FrameRecord* caller = &cache[at];
    if (__builtin_expect(frame->caller_tag != caller->tag, false)) {
      changed_frames = count;
      if (((frame->caller_tag ^ caller->tag) & FrameRecord::kNeedsBp) != 0) {
        followed = Followed::unclear;
        break;
      }
    }
    if (__builtin_expect(frame->watches_bp != 0, false)) {
      if (frame->realigned != 0 && word_at(bp - 8 * uint64_t{frame->bp_words}) != frame->return_slot + 8) {
        followed = Followed::unclear;
        break;
      }
      bp = caller_bp(*frame, bp);
      if (caller->from_bp != 0 && bp != cache.bp(at)) {
        followed = Followed::differs;
        break;
      }
    }
    if (__builtin_expect(word_at(frame->return_slot) != caller->ip, false)) {
      followed = Followed::differs;
      break;
    }
    if (at == trusted && count < ThreadStack::kMaxFrames) {
      stack.path[count++] = at;
      walk.trusted = true;
      followed = Followed::whole;
      break;
    }
    frame = caller;
  }
  if (followed == Followed::differs) {
    state = {word_at(frame->return_slot), frame->return_slot + 8, bp_along(stack, begin, count, state.bp)};
  } else if (followed == Followed::unclear) {
    --count;
    state = {frame->ip, stack.high - 8 * uint64_t{frame->depth_words}, bp_along(stack, begin, count, state.bp)};
  }
  walk.frames = count;
  walk.changed_frames = followed == Followed::whole ? changed_frames : count;
  return followed;
}

}  // namespace

Walk walk_frames(ThreadStack& stack, RuleTable& rules, FrameState innermost, uint32_t trusted) {
  Walk walk;
  if (!stack.holds(innermost.sp) || (innermost.sp & 7) != 0) return walk;
  if ((stack.high - innermost.sp) / 8 > UINT32_MAX) return walk;
  FrameState state = innermost;
  bool by_rule = false;  // the next step
  while (walk.frames < ThreadStack::kMaxFrames) {
    const uint32_t known = stack.cache.find(state.ip, stack.depth_words(state.sp));
    if (!by_rule && known != 0 && (stack.cache[known].from_bp == 0 || stack.cache.bp(known) == state.bp)) {
      const Followed followed = follow(stack, known, trusted, state, walk);
      if (followed == Followed::whole) {
        walk.end = Walk::complete;
        return walk;
      }
      if (state.ip == 0) return walk;
      by_rule = followed == Followed::unclear;
      continue;
    }
    by_rule = false;
    stack.path[walk.frames] = ThreadStack::kFresh;
    const Step stepped = step(stack, rules, state, stack.fresh[walk.frames++]);
    walk.changed_frames = walk.frames;
    if (stepped == Step::caller) continue;
    if (stepped == Step::outermost) walk.end = Walk::complete;
    return walk;
  }
  walk.end = Walk::cut;
  return walk;
}

namespace {

// The record of frame `index` of the path, made where the frame is fresh.
uint32_t record_of(ThreadStack& stack, int index) {
  if (stack.path[index] != ThreadStack::kFresh) return stack.path[index];
  FrameCache& cache = stack.cache;
  const ThreadStack::FreshFrame& fresh = stack.fresh[index];
  const uint32_t depth_words = stack.depth_words(fresh.state.sp);
  uint32_t record = cache.find(fresh.state.ip, depth_words);
  if (record == 0) record = cache.add(fresh.state.ip, depth_words);
  cache[record].bp_words = fresh.bp_words;
  cache[record].from_bp = fresh.from_bp;
  cache[record].realigned = fresh.realigned;
  cache[record].guessed = fresh.guessed;
  cache.bp(record) = fresh.state.bp;
  return stack.path[index] = record;
}

}  // namespace

bool give_nodes(ThreadStack& stack, const Walk& walk, NativeTrie& trie, const InterpreterCode* interpreter) {
  FrameCache& cache = stack.cache;
  if (!cache.has_room(uint32_t(walk.frames))) {
    stack.forget_frames();
    return false;
  }
  uint32_t caller = walk.changed_frames < walk.frames ? stack.path[walk.changed_frames] : 0;
  for (int i = walk.changed_frames - 1; i >= 0; --i) {
    const uint32_t record = record_of(stack, i);
    FrameRecord& frame = cache[record];
    const FrameRecord& outer = cache[caller];  // record 0 is empty
    StackId node = frame.node();
    if (caller != 0 && outer.node() == 0) {
      node = 0;  // the trie is full: no node, rather than one of a shorter stack
    } else if (node == 0 || (frame.caller_tag ^ outer.tag) << 1 != 0) {
      node = trie.child(outer.node(), frame.ip);
    }
    const bool keeps_bp = frame.bp_words == 0;
    const bool needs_bp = frame.from_bp != 0 || (keeps_bp && outer.needs_bp());
    frame.watches_bp = frame.realigned != 0 || outer.from_bp != 0 || (!keeps_bp && outer.needs_bp());
    frame.interpreter = interpreter != nullptr && (caller == 0 || outer.interpreter) && interpreter->is_own(frame.ip);
    frame.evaluates = frame.interpreter && interpreter->evaluates(frame.ip);
    frame.return_slot = stack.high - 8 * uint64_t{outer.depth_words} - 8;
    frame.tag = node | (needs_bp ? FrameRecord::kNeedsBp : 0);
    frame.caller_tag = outer.tag;
    frame.caller = uint16_t(caller);
    caller = record;
  }
  return true;
}

bool is_guessed(ThreadStack& stack, const Walk& walk) {
  for (int i = 0; i < walk.frames; ++i) {
    const uint32_t record = stack.path[i];
    if (record == ThreadStack::kFresh ? stack.fresh[i].guessed : stack.cache[record].guessed != 0) return true;
  }
  return false;
}

uint64_t path_address(ThreadStack& stack, int index) {
  const uint32_t record = stack.path[index];
  return record == ThreadStack::kFresh ? stack.fresh[index].state.ip : stack.cache[record].ip;
}

}  // namespace tensorscope::stacks
