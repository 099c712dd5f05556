#include "stacks/frame_walk.h"

#include "stacks/eh_frame.h"

namespace tensorscope::stacks {

namespace {

uint64_t word_at(uint64_t address) { return *reinterpret_cast<const volatile uint64_t*>(address); }

// Whether frame `index` was found again where its callee's slots say: the link from frames[index + 1] to it.
bool link_holds(const Frame& frame) {
  const FrameState& state = frame.state;
  const bool saved = frame.bp_words != 0;
  const uint64_t ip = word_at(state.sp - 8);
  const uint64_t bp = word_at(state.sp - 8 * (saved ? frame.bp_words : 1));
  return ((ip ^ state.ip) | (bp ^ (saved ? state.bp : state.ip))) == 0;
}

// The outermost of frames[0, index] that is proved to be frames[index]'s caller's caller ... : 0 when all are.
int first_linked(const Frame* frames, int index) {
  while (index > 0 && link_holds(frames[index - 1])) --index;
  return index;
}

__attribute__((noinline)) UnwindRule learn(ThreadStack& stack, RuleTable& rules, uint64_t ip) {
  const UnwindRule rule = read_unwind_rule(ip);
  rules.put(ip, rule);
  stack.learnt = true;
  return rule;
}

enum class Step : uint8_t { caller, outermost, lost };

// Turns `frame` into its caller.
inline Step step(ThreadStack& stack, RuleTable& rules, Frame& frame) {
  FrameState& state = frame.state;
  UnwindRule rule = rules.find(state.ip);
  if (__builtin_expect(!rule.known(), false)) rule = learn(stack, rules, state.ip);
  if (__builtin_expect(!rule.is_relative(), false)) return rule.is_outermost() ? Step::outermost : Step::lost;
  const uint64_t cfa = (rule.from_bp() ? state.bp : state.sp) + 8 * uint64_t{rule.cfa_words()};
  const uint64_t bp_slot = cfa - 8 * uint64_t{rule.bp_words()};
  const bool sound =
      cfa - 8 >= state.sp && cfa > state.sp && cfa <= stack.high && (cfa & 7) == 0 && bp_slot >= state.sp;
  if (__builtin_expect(!sound, false)) return Step::lost;
  frame.bp_words = rule.bp_words();
  if (frame.bp_words != 0) state.bp = word_at(bp_slot);
  state.ip = word_at(cfa - 8);
  state.sp = cfa;
  return __builtin_expect(state.ip != 0, true) ? Step::caller : Step::lost;
}

}  // namespace

Walk walk_frames(ThreadStack& stack, RuleTable& rules, FrameState innermost) {
  Walk walk;
  if (!stack.holds(innermost.sp) || (innermost.sp & 7) != 0) return walk;
  Frame frame;
  frame.state = innermost;
  int last = stack.remembered - 1;  // of the last capture's frames, the innermost that may still be met
  for (;;) {
    while (last >= 0 && stack.frames[last].state.sp < frame.state.sp) --last;
    if (last >= 0) {
      Frame& known = stack.frames[last];
      if (known.state.sp == frame.state.sp && known.state.ip == frame.state.ip && known.state.bp == frame.state.bp) {
        const int linked = first_linked(stack.frames, last);
        known.bp_words = frame.bp_words;
        if (linked == 0) {
          walk.shared = last + 1;
          walk.end = walk.shared + walk.fresh_count > ThreadStack::kMaxFrames ? Walk::cut : Walk::complete;
          return walk;
        }
        // The chain was changed further out: up to there the frames are right, their callers are not.
        for (; last > linked && walk.fresh_count < ThreadStack::kMaxFrames; --last) {
          stack.fresh[walk.fresh_count++] = stack.frames[last];
        }
        frame = stack.frames[last--];
      }
    }
    if (walk.fresh_count == ThreadStack::kMaxFrames) {
      walk.end = Walk::cut;
      return walk;
    }
    stack.fresh[walk.fresh_count++] = frame;
    switch (step(stack, rules, frame)) {
      case Step::caller:
        break;
      case Step::outermost:
        walk.end = Walk::complete;
        return walk;
      case Step::lost:
        return walk;
    }
  }
}

}  // namespace tensorscope::stacks
