// SPDX-License-Identifier: Apache-2.0
#include "text/oom/phrases.h"

#include <gtest/gtest.h>

namespace tensorscope::text {
namespace {

TEST(OomWords, CheckpointingTellsOfBatchNormWhereThereIsSome) {
  analyzer::oom::Remedy remedy;
  remedy.kind = analyzer::oom::RemedyKind::checkpoint;
  remedy.where = "model.py:31";
  EXPECT_EQ(price_phrase(remedy), "about one more forward pass of this module; same results; the line is model.py:31");
  remedy.batch_norm = true;
  EXPECT_EQ(
      price_phrase(remedy),
      "about one more forward pass of this module; same results, but batch norm counts each batch twice; the line "
      "is model.py:31");
}

}  // namespace
}  // namespace tensorscope::text
