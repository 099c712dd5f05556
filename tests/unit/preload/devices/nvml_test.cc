// SPDX-License-Identifier: Apache-2.0
#include "devices/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "nvml_stand_in.h"

namespace tensorscope::devices {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr unsigned kOther = 1;  // a process that is not this one
constexpr unsigned long long kNotAvailable = ~0ull;

// A device of 1000 MiB, 48 of which the driver keeps; this process has 200 MiB of it.
class NvmlTest : public testing::Test {
 protected:
  NvmlTest() {
    void* library = dlopen(getenv("STAND_IN"), RTLD_NOW);  // NVML is looked for among what is loaded first
    given_ = static_cast<NvmlAnswers*>(dlsym(library, "nvml_answers"));
    *given_ = {};
    given_->total = 1000 * kMiB;
    given_->reserved = 48 * kMiB;
    given_->free = 700 * kMiB;
    given_->compute_count = 1;
    given_->compute_processes[0] = {.pid = unsigned(getpid()), .used = 200 * kMiB};
  }

  bool look() {
    Nvml nvml;
    EXPECT_TRUE(nvml.open());
    EXPECT_TRUE(nvml.start());
    *facts_ = {};
    const bool told = nvml.look("0000:01:00.0", *facts_);
    nvml.stop();
    return told;
  }
  std::string detail() const { return facts_->detail; }

  NvmlAnswers* given_ = nullptr;
  std::unique_ptr<DriverFacts> facts_ = std::make_unique<DriverFacts>();
};

TEST_F(NvmlTest, WhatTheDriverKeepsIsNotPartOfTheTotal) {
  ASSERT_TRUE(look());
  EXPECT_STREQ(facts_->name, "a device");
  EXPECT_EQ(facts_->total, 952 * kMiB);
  EXPECT_EQ(facts_->free, 700 * kMiB);
  EXPECT_EQ(facts_->own, 200 * kMiB);
  EXPECT_EQ(facts_->processes_count, 0u);
  EXPECT_EQ(detail(), "");
  EXPECT_EQ(given_->starts, 0) << "stopped as often as started";
}

TEST_F(NvmlTest, AnOlderDriverCountsWhatItKeeps) {
  given_->memory2 = 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
  ASSERT_TRUE(look());
  EXPECT_EQ(facts_->total, 1000 * kMiB);
  given_->memory2 = 0;
  given_->reserved = 1001 * kMiB;  // cannot be
  ASSERT_TRUE(look());
  EXPECT_EQ(facts_->total, 1000 * kMiB);
}

TEST_F(NvmlTest, AProcessThatComputesAndDrawsCountsOnce) {
  given_->compute_count = 2;
  given_->compute_processes[1] = {.pid = kOther, .used = kNotAvailable};
  given_->graphics_count = 3;
  given_->graphics_processes[0] = {.pid = kOther, .used = 30 * kMiB};
  given_->graphics_processes[1] = {.pid = unsigned(getpid()), .used = 10 * kMiB};
  given_->graphics_processes[2] = {.pid = kOther + 1, .used = kNotAvailable};
  ASSERT_TRUE(look());
  EXPECT_EQ(facts_->own, 200 * kMiB);
  ASSERT_EQ(facts_->processes_count, 2u);
  EXPECT_EQ(facts_->processes[0].pid, kOther);
  EXPECT_EQ(facts_->processes[0].bytes, 30 * kMiB);
  EXPECT_EQ(facts_->processes[1].bytes, UINT64_MAX) << "not reported is not 0";
}

TEST_F(NvmlTest, WhyThisProcessesBytesAreNotKnown) {
  given_->compute_processes[0].pid = kOther;
  ASSERT_TRUE(look());
  EXPECT_EQ(detail(), "the driver lists this process under no process id known here (a container?)");
  EXPECT_EQ(facts_->processes_count, 1u);
  given_->compute_processes[0] = {.pid = unsigned(getpid()), .used = kNotAvailable};
  ASSERT_TRUE(look());
  EXPECT_EQ(detail(), "the driver does not report this process's bytes");
  given_->compute = 3;  // NVML_ERROR_NOT_SUPPORTED
  ASSERT_TRUE(look());
  EXPECT_EQ(detail(), "the driver reports no processes");
  EXPECT_EQ(facts_->own, 0u);
}

// They are there: only their list has no room for them.
TEST_F(NvmlTest, TooManyProcessesAreNotNone) {
  given_->compute = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  ASSERT_TRUE(look());
  EXPECT_EQ(detail(), "there are too many processes to list");
  given_->compute = 0;
  given_->graphics = 7;
  ASSERT_TRUE(look());
  EXPECT_EQ(detail(), "there are too many processes to list");
  EXPECT_EQ(facts_->own, 200 * kMiB);
}

TEST_F(NvmlTest, TheRuntimeIsAskedInstead) {
  given_->mig_is_on = 1;
  EXPECT_FALSE(look());
  EXPECT_EQ(detail(), "the device is partitioned (MIG): the processes of this partition are not reported");
  EXPECT_EQ(facts_->total, 0u);
  given_->mig_is_on = 0;
  given_->memory = given_->memory2 = 999;
  EXPECT_FALSE(look());
  EXPECT_EQ(detail(), "NVML does not report its memory (error 999)");
  given_->handle = 6;
  EXPECT_FALSE(look());
  EXPECT_EQ(detail(), "NVML does not know the device 0000:01:00.0 (error 6)");
}

TEST_F(NvmlTest, ANameThatIsNotToldIsEmpty) {
  given_->name = 999;
  ASSERT_TRUE(look());
  EXPECT_STREQ(facts_->name, "");
}

TEST_F(NvmlTest, ItDoesNotStart) {
  Nvml nvml;
  ASSERT_TRUE(nvml.open());
  given_->handle = 1;  // NVML_ERROR_UNINITIALIZED
  EXPECT_FALSE(nvml.is_started("0000:01:00.0"));
  given_->handle = 0;
  EXPECT_TRUE(nvml.is_started("0000:01:00.0"));
  given_->init = 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  EXPECT_FALSE(nvml.start());
  EXPECT_STREQ(nvml.trouble(), "libnvidia-ml.so.1 cannot be used (error 9)");
}

}  // namespace
}  // namespace tensorscope::devices
