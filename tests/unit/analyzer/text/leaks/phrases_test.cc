// SPDX-License-Identifier: Apache-2.0
// Words of findings, where not all that may hold something was seen.
#include "text/leaks/phrases.h"

#include <gtest/gtest.h>

#include "text/leaks/report.h"

namespace tensorscope::text {
namespace {

using analyzer::Advice;
using analyzer::FactKind;
using analyzer::LeakFinding;
using analyzer::LeakKind;

LeakFinding nodes(Advice advice) {
  LeakFinding finding;
  finding.kind = LeakKind::graph_nodes;
  finding.advice = advice;
  return finding;
}

TEST(LeaksWords, WhoKeepsNodesIsNotSaidWhereNotAllWasSeen) {
  EXPECT_EQ(holder_phrase(nodes(Advice::find_node_holder)), "graph nodes that no Python tensor refers to");
  EXPECT_NE(advice_phrase(nodes(Advice::find_node_holder)).find("C++ code"), std::string::npos);
  EXPECT_EQ(holder_phrase(nodes(Advice::holder_not_seen)), "something that was not seen");
  EXPECT_EQ(advice_phrase(nodes(Advice::holder_not_seen)).find("C++ code"), std::string::npos);
}

TEST(LeaksWords, EntriesThatLeaveAreNotOnlyAdded) {
  LeakFinding container;
  container.advice = Advice::bound_container;
  EXPECT_NE(advice_phrase(container).find("only ever added"), std::string::npos);
  container.evidence = {{FactKind::entries_that_left, {4}}};
  EXPECT_EQ(advice_phrase(container).find("only ever added"), std::string::npos);
}

TEST(LeaksWords, WhyTheHolderOfAPlaceIsUnknown) {
  analyzer::GrownPlace place;
  place.held = {{"holder not known", 4096}};
  place.holder_unknown = true;
  EXPECT_EQ(advice_phrase(place), "holder unknown: the search for names ended early");
  place.names_detail = "this interpreter keeps the attributes of objects elsewhere than was known";
  EXPECT_EQ(advice_phrase(place), "holder unknown: " + place.names_detail);
}

TEST(LeaksWords, AChainOfAnyLengthKeepsItsRootAndItsEnd) {
  LeakFinding finding;
  finding.kind = LeakKind::traceback;
  std::string chain = "Pruned in train (trials.py: failures[0]";
  for (int i = 0; i < 100; ++i) chain += ".__context__";
  finding.holders = {chain + ": weights)"};
  const std::string line = finding_headline(finding, "first.tscope");
  EXPECT_LT(line.size(), 200u);
  EXPECT_NE(line.find("failures[0]"), std::string::npos);
  EXPECT_NE(line.find(": weights)"), std::string::npos);
}

}  // namespace
}  // namespace tensorscope::text
