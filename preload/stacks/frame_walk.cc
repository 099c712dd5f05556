#include "stacks/frame_walk.h"

#include "stacks/eh_frame.h"

namespace tensorscope::stacks {

namespace {

uint64_t word_at(uint64_t address) { return *reinterpret_cast<const volatile uint64_t*>(address); }

__attribute__((noinline)) UnwindRule learn(ThreadStack& stack, RuleTable& rules, uint64_t ip) {
  const UnwindRule rule = read_unwind_rule(ip);
  rules.put(ip, rule);
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

// Turns `state` into its caller's by the rule, and says in `frame` how.
Step step(ThreadStack& stack, RuleTable& rules, FrameState& state, ThreadStack::FreshFrame& frame) {
  frame = {state, 0, false, false};
  UnwindRule rule = rules.find(state.ip);
  if (__builtin_expect(!rule.known(), false)) rule = learn(stack, rules, state.ip);
  if (!rule.is_relative()) {
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

// Follows the recorded callers from record `at`, whose state is `state`, as long as the stack's words are theirs.
//
// The hot loop: for every frame two loads from the stack, and no branch that depends on the frame but those that fail.
Followed follow(ThreadStack& stack, uint32_t at, FrameState& state, Walk& walk) {
  FrameCache& cache = stack.cache;
  const uint64_t high = stack.high;
  const FrameRecord* frame = &cache[at];
  int changed_frames = walk.changed_frames;
  uint64_t bp = state.bp;
  int count = walk.frames;
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
      if (frame->caller_node != 0) changed_frames = count;
      followed = Followed::whole;
      break;
    }
    const FrameRecord* caller = &cache[at];
    const uint64_t sp = high - 8 * uint64_t{caller->depth_words};
    const uint64_t ip = word_at(sp - 8);
    if (__builtin_expect(frame->realigned != 0, false)) {
      if (word_at(bp - 8 * uint64_t{frame->bp_words}) != sp) {
        state = {frame->ip, high - 8 * uint64_t{frame->depth_words}, bp};
        followed = Followed::unclear;
        --count;
        break;
      }
      bp = word_at(bp);
    } else {
      const uint64_t saved_bp = word_at(sp - 8 * uint64_t{frame->bp_words});
      bp ^= (bp ^ saved_bp) & -uint64_t{frame->bp_words != FrameRecord::kBpKept};
    }
    if (__builtin_expect(((ip ^ caller->ip) | ((bp ^ caller->bp) & -uint64_t{caller->from_bp})) != 0, false)) {
      state = {ip, sp, bp};
      followed = Followed::differs;
      break;
    }
    changed_frames = frame->caller_node != caller->node ? count : changed_frames;
    frame = caller;
  }
  walk.frames = count;
  walk.changed_frames = followed == Followed::whole ? changed_frames : count;
  return followed;
}

}  // namespace

Walk walk_frames(ThreadStack& stack, RuleTable& rules, FrameState innermost) {
  Walk walk;
  if (!stack.holds(innermost.sp) || (innermost.sp & 7) != 0) return walk;
  if ((stack.high - innermost.sp) / 8 > UINT32_MAX) return walk;
  FrameState state = innermost;
  bool by_rule = false;  // the next step
  while (walk.frames < ThreadStack::kMaxFrames) {
    const uint32_t known = stack.cache.find(state.ip, stack.depth_words(state.sp));
    if (!by_rule && known != 0 && (stack.cache[known].from_bp == 0 || stack.cache[known].bp == state.bp)) {
      const Followed followed = follow(stack, known, state, walk);
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

bool give_nodes(ThreadStack& stack, const Walk& walk, NativeTrie& trie) {
  FrameCache& cache = stack.cache;
  if (!cache.has_room(uint32_t(walk.frames))) {
    cache.clear();
    return false;
  }
  uint32_t caller = walk.changed_frames < walk.frames ? stack.path[walk.changed_frames] : 0;
  StackId caller_node = caller == 0 ? 0 : cache[caller].node;
  for (int i = walk.changed_frames - 1; i >= 0; --i) {
    if (stack.path[i] == ThreadStack::kFresh) {
      const ThreadStack::FreshFrame& fresh = stack.fresh[i];
      const uint32_t depth_words = stack.depth_words(fresh.state.sp);
      uint32_t index = cache.find(fresh.state.ip, depth_words);
      if (index == 0) index = cache.add(fresh.state.ip, depth_words);
      FrameRecord& frame = cache[index];
      frame.bp = fresh.state.bp;
      frame.bp_words = fresh.bp_words == 0 ? FrameRecord::kBpKept : fresh.bp_words;
      frame.from_bp = fresh.from_bp;
      frame.realigned = fresh.realigned;
      stack.path[i] = index;
    }
    FrameRecord& frame = cache[stack.path[i]];
    const bool lost = caller != 0 && caller_node == 0;  // the trie is full: no node, rather than one of a shorter stack
    if (lost) {
      frame.node = 0;
    } else if (frame.node == 0 || frame.caller_node != caller_node) {
      frame.node = trie.child(caller_node, frame.ip);
    }
    frame.caller = uint16_t(caller);
    frame.caller_node = caller_node;
    caller = stack.path[i];
    caller_node = frame.node;
  }
  return true;
}

uint64_t path_address(ThreadStack& stack, int index) {
  const uint32_t record = stack.path[index];
  return record == ThreadStack::kFresh ? stack.fresh[index].state.ip : stack.cache[record].ip;
}

}  // namespace tensorscope::stacks
