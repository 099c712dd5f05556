#include "oom/autocast_types.h"

#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DeviceScene;
using testing::kMiB;
using testing::Told;

TEST(AutocastTypes, ByNodeAndByOperation) {
  EXPECT_TRUE(saves_float32("LogSoftmaxBackward0"));
  EXPECT_TRUE(saves_float32("NllLoss2DBackward0"));
  EXPECT_FALSE(saves_float32("MmBackward0"));
  EXPECT_FALSE(saves_float32("MulBackward0"));
  EXPECT_TRUE(makes_float32("_log_softmax_backward_data"));
  EXPECT_FALSE(makes_float32("mm"));
}

// Autocast runs the loss in float32 on a device: what it saves stays, whatever the precision of the model.
TEST(AutocastTypes, LowerPrecisionLeavesOutWhatALossSaves) {
  const auto promised = [](const char* node, size_t losses) {
    DeviceScene scene;
    scene.segment();
    const uint32_t site = scene.in_module("model", 10);
    scene.saved(60 * kMiB, site, scene.node(site));
    for (size_t i = 0; i < losses; ++i) scene.saved(80 * kMiB, site, scene.node(site, node));
    const Told told(scene);
    const Remedy* remedy = told.remedy(RemedyKind::lower_precision);
    return remedy == nullptr ? 0 : remedy->bytes;
  };
  EXPECT_EQ(promised("N5torch8autograd9generated19LogSoftmaxBackward0E", 1), 30 * kMiB);
  EXPECT_EQ(promised("N5torch8autograd9generated11MmBackward0E", 1), 70 * kMiB);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
