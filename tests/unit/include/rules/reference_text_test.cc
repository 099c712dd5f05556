// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/rules/reference_text.h"

#include <gtest/gtest.h>

namespace tensorscope::rules {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;

struct Row {
  Reference reference;
  const char* text;
  const char* with_holder;
};

TEST(ReferenceText, EveryRootAndRole) {
  constexpr auto kPlain = ReferenceRole::plain;
  const Row rows[] = {
      {{ReferenceRoot::global, kPlain, "history[3]", "train.py", "list"},
       "train.py: history[3]",
       "train.py: history[3] (list)"},
      {{ReferenceRoot::global, kPlain, "x", "", ""}, "x", "x"},
      {{ReferenceRoot::class_, kPlain, "Rope.table", "rope", "dict"}, "rope: Rope.table", "rope: Rope.table (dict)"},
      {{ReferenceRoot::local, kPlain, "h", "Block.forward", ""},
       "h (local of Block.forward)",
       "h (local of Block.forward)"},
      {{ReferenceRoot::local, kPlain, "h", "", ""}, "h", "h"},
      {{ReferenceRoot::local, kPlain, "h[0]", "run", "list", "thread loader, call 2"},
       "h[0] (local of run, thread loader, call 2)",
       "h[0] (local of run, thread loader, call 2) (list)"},
      {{ReferenceRoot::suspended, kPlain, "seen[0]", "batches", "list", "#2"},
       "seen[0] (in the waiting batches, #2)",
       "seen[0] (in the waiting batches, #2) (list)"},
      {{ReferenceRoot::extension, kPlain, "list[0]", "list", "list", "#2"},
       "list[0] (held by C code, through list, #2)",
       "list[0] (held by C code, through list, #2) (list)"},
      {{ReferenceRoot::class_, kPlain, "Rope.table", "rope", "dict", "#2"},
       "rope, #2: Rope.table",
       "rope, #2: Rope.table (dict)"},
      {{ReferenceRoot::thread, kPlain, "x", "", "", "#2"}, "x (state of a thread, #2)", "x (state of a thread, #2)"},
      {{ReferenceRoot::suspended, kPlain, "batch", "batches", ""},
       "batch (in the waiting batches)",
       "batch (in the waiting batches)"},
      {{ReferenceRoot::traceback, kPlain, "logits", "ValueError in f", ""},
       "traceback of ValueError in f: logits",
       "traceback of ValueError in f: logits"},
      {{ReferenceRoot::thread, kPlain, "", "", ""}, "state of a thread", "state of a thread"},
      {{ReferenceRoot::thread, kPlain, "args[0]", "", ""},
       "args[0] (state of a thread)",
       "args[0] (state of a thread)"},
      {{ReferenceRoot::thread, kPlain, "request[0]", "context variable", "list"},
       "request[0] (context variable)",
       "request[0] (context variable) (list)"},
      {{ReferenceRoot::node, kPlain, "ctx.x", "Scale", ""}, "Scale: ctx.x", "saved by Scale: ctx.x"},
      {{ReferenceRoot::extension, kPlain, "", "Reader", ""}, "C code, through Reader", "C code, through Reader"},
      {{ReferenceRoot::extension, kPlain, "cache[0]", "Reader", "list"},
       "cache[0] (held by C code, through Reader)",
       "cache[0] (held by C code, through Reader) (list)"},
      {{ReferenceRoot::cycle, kPlain, "", "Node, dict", ""},
       "unreachable cycle of Node, dict",
       "unreachable cycle of Node, dict"},
      {{ReferenceRoot::cycle, kPlain, "node.x", "Node", ""},
       "unreachable cycle of Node: node.x",
       "unreachable cycle of Node: node.x"},
      {{ReferenceRoot::user, kPlain, "attention scores", "", ""}, "attention scores", "attention scores"},
      {{ReferenceRoot::global, ReferenceRole::parameter, "model.weight", "train.py", "Linear"},
       "model.weight",
       "model.weight"},
      {{ReferenceRoot::local, ReferenceRole::module_attribute, "model.mask", "main", "Net"},
       "model.mask",
       "model.mask"},
      {{ReferenceRoot::local, ReferenceRole::saved, "y", "main", "list"}, "y (local of main)", "y (local of main)"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(reference_text(row.reference), row.text);
    EXPECT_EQ(holder_text(row.reference), row.with_holder);
  }
}

TEST(ReferenceText, ThePathInTheModelNamesTheHolder) {
  const Reference variable{ReferenceRoot::local, ReferenceRole::plain, "w", "main", ""};
  const Reference parameter{ReferenceRoot::local, ReferenceRole::parameter, "model.w", "main", ""};
  const Reference attribute{ReferenceRoot::local, ReferenceRole::module_attribute, "model.w", "main", ""};
  EXPECT_TRUE(names_holder_before(parameter, variable));
  EXPECT_FALSE(names_holder_before(variable, parameter));
  EXPECT_FALSE(names_holder_before(attribute, variable));
  EXPECT_FALSE(names_holder_before(parameter, parameter));
  EXPECT_TRUE(is_only_a_name(ReferenceRoot::user) && is_only_a_name(ReferenceRoot::output));
  EXPECT_FALSE(is_only_a_name(ReferenceRoot::node) || is_only_a_name(ReferenceRoot::cycle));
}

TEST(ReferenceText, Slots) {
  constexpr auto kPython = uint8_t(format::GraphNodeFlag::python);
  constexpr auto kAccumulates = uint8_t(format::GraphNodeFlag::accumulates);
  EXPECT_EQ(slot_text(0, 0, -1, "result"), "result");
  EXPECT_EQ(slot_text(0, 1, 2, "tensors"), "tensors[2]");
  EXPECT_EQ(slot_text(0, 1, -1, ""), "saved[1]");
  EXPECT_EQ(slot_text(0, 1, 2, ""), "saved[1][2]");
  EXPECT_EQ(slot_text(kPython, 1, -1, "ignored"), "saved_tensors[1]");
  EXPECT_EQ(slot_text(kPython, 0, 3, ""), "saved_tensors[3]");
  EXPECT_EQ(slot_text(kAccumulates, 0, -1, ""), "variable");
}

}  // namespace
}  // namespace tensorscope::rules
