// SPDX-License-Identifier: Apache-2.0
// What is left under each limit, read from trees of files that look like /proc and /sys/fs/cgroup.
#include "support/system_limits.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace tensorscope {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class LimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tensorscope-limits-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    proc_ = folder_ + "/proc";
    cgroup_ = folder_ + "/cgroup";
    shared_ = folder_ + "/shm";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  void proc(const std::string& file, const std::string& text) { put(proc_ + "/" + file, text); }
  void group2(const std::string& group, const std::string& current, const std::string& limit,
              const std::string& stat = "") {
    put(cgroup_ + group + "/memory.current", current + "\n");
    if (!limit.empty()) put(cgroup_ + group + "/memory.max", limit + "\n");
    if (!stat.empty()) put(cgroup_ + group + "/memory.stat", stat);
  }
  void group1(const std::string& group, const std::string& usage, const std::string& limit,
              const std::string& stat = "") {
    put(cgroup_ + "/memory" + group + "/memory.usage_in_bytes", usage + "\n");
    put(cgroup_ + "/memory" + group + "/memory.limit_in_bytes", limit + "\n");
    if (!stat.empty()) put(cgroup_ + "/memory" + group + "/memory.stat", stat);
  }
  SystemMemory read(uint64_t address_space = 0, uint64_t data = 0) {
    const auto reader = std::make_unique<LimitReader>(
        LimitReader::Roots{.proc = proc_.c_str(), .cgroup = cgroup_.c_str(), .shared_memory = shared_.c_str()});
    return reader->read({.address_space = address_space, .data = data});
  }

  std::string folder_, proc_, cgroup_, shared_;
};

constexpr char kStatus[] =
    "Name:\tpython\nVmPeak:\t  900000 kB\nVmSize:\t  800000 kB\nVmHWM:\t  310000 kB\nVmRSS:\t  300000 kB\n"
    "RssAnon:\t  200000 kB\nRssFile:\t  100000 kB\nVmData:\t  400000 kB\nVmSwap:\t   50000 kB\n";

TEST_F(LimitsTest, NothingThereIsNoLimit) {
  const SystemMemory memory = read(100 * kMiB, 100 * kMiB);
  for (const WatchedLimit& watched : kWatchedLimits) EXPECT_FALSE(memory.find(watched.limit)->is_set());
  EXPECT_EQ(memory.find(SystemLimit::none), nullptr);
  EXPECT_EQ(memory.find(SystemLimit::device), nullptr);
  EXPECT_EQ(memory.resident, 0u);
  EXPECT_EQ(memory.cgroup_current, 0u);
}

TEST_F(LimitsTest, SharedMemoryIsItsFileSystem) {
  std::filesystem::create_directories(shared_);
  const std::filesystem::space_info space = std::filesystem::space(shared_);
  const SystemMemory memory = read();
  EXPECT_EQ(memory.shared_memory.limit, space.capacity);
  EXPECT_LE(memory.shared_memory.left, space.capacity);
}

TEST_F(LimitsTest, StatusTellsTheProcess) {
  proc("self/status", kStatus);
  const SystemMemory memory = read(uint64_t{1'000'000} << 10, uint64_t{300'000} << 10);
  EXPECT_EQ(memory.resident, uint64_t{300'000} << 10);
  EXPECT_EQ(memory.resident_peak, uint64_t{310'000} << 10);
  EXPECT_EQ(memory.touched, uint64_t{250'000} << 10);  // of files nothing, of what is swapped all
  EXPECT_EQ(memory.address_space.limit, uint64_t{1'000'000} << 10);
  EXPECT_EQ(memory.address_space.left, uint64_t{200'000} << 10);
  EXPECT_EQ(memory.data.limit, uint64_t{300'000} << 10);
  EXPECT_EQ(memory.data.left, 0u);  // a limit that was lowered afterwards
  EXPECT_FALSE(read().address_space.is_set());
}

TEST_F(LimitsTest, AKernelThatDoesNotTellAnonymousMemoryTellsResident) {
  proc("self/status", "VmRSS:\t  300000 kB\n");
  EXPECT_EQ(read().touched, uint64_t{300'000} << 10);
}

TEST_F(LimitsTest, TheMachineIsKnownWhereBothNumbersAre) {
  proc("meminfo", "MemTotal:       1000 kB\nMemFree:          1 kB\nMemAvailable:      0 kB\n");
  EXPECT_EQ(read().machine.limit, 1000u << 10);
  EXPECT_EQ(read().machine.left, 0u);
  proc("meminfo", "MemTotal:       1000 kB\nMemFree:         10 kB\n");
  EXPECT_FALSE(read().machine.is_set());
}

TEST_F(LimitsTest, Version2TakesTheGroupWithTheLeastLeft) {
  proc("self/cgroup", "0::/user/job/task\n");
  group2("/user/job/task", "100000000", "max");
  group2("/user/job", "700000000", "1000000000");
  group2("/user", "1100000000", "1200000000");
  const SystemMemory memory = read();
  EXPECT_EQ(memory.cgroup.limit, 1'200'000'000u);
  EXPECT_EQ(memory.cgroup.left, 100'000'000u);
  EXPECT_EQ(memory.cgroup_current, 100'000'000u);
  EXPECT_EQ(memory.cgroup_lowest_limit, 1'000'000'000u);
}

TEST_F(LimitsTest, Version2PagesOfFilesAreLeft) {
  proc("self/cgroup", "0::/job\n");
  group2("/job", "900", "1000",
         "anon 100\nfile 600\ninactive_anon 7\ninactive_file 200\nactive_file 30\nslab_reclaimable 4\n");
  EXPECT_EQ(read().cgroup.left, 1000u - 900 + 234);
}

TEST_F(LimitsTest, MorePagesOfFilesThanUseLeaveTheWholeLimit) {  // the two files are read one after the other
  proc("self/cgroup", "0::/job\n");
  group2("/job", "900", "1000", "inactive_file 5000\n");
  EXPECT_EQ(read().cgroup.left, 1000u);
}

TEST_F(LimitsTest, MaxIsNoLimit) {
  proc("self/cgroup", "0::/job\n");
  group2("/job", "900", "max");
  const SystemMemory memory = read();
  EXPECT_FALSE(memory.cgroup.is_set());
  EXPECT_EQ(memory.cgroup_lowest_limit, 0u);
  EXPECT_EQ(memory.cgroup_current, 900u);
}

TEST_F(LimitsTest, UseBeyondTheLimitLeavesNothing) {
  proc("self/cgroup", "0::/job\n");
  group2("/job", "2000", "1000");
  EXPECT_TRUE(read().cgroup.is_set());
  EXPECT_EQ(read().cgroup.left, 0u);
}

TEST_F(LimitsTest, Version1GroupsAreBelowTheirOwnMount) {
  proc("self/cgroup", "12:cpu,cpuacct:/other\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/docker/abc\n");
  group1("/docker/abc", "600", "1000", "cache 400\ninactive_file 1\ntotal_inactive_file 150\ntotal_active_file 50\n");
  group1("", "5000", "9223372036854771712");
  const SystemMemory memory = read();
  EXPECT_EQ(memory.cgroup.limit, 1000u);
  EXPECT_EQ(memory.cgroup.left, 600u);
  EXPECT_EQ(memory.cgroup_current, 600u);
}

TEST_F(LimitsTest, Version1TakesTheLowestAboveToo) {
  proc("self/cgroup", "4:hugetlb,memory:/a/b\n");
  group1("/a/b", "100", "1000");
  group1("/a", "790", "800");
  const SystemMemory memory = read();
  EXPECT_EQ(memory.cgroup.limit, 800u);
  EXPECT_EQ(memory.cgroup.left, 10u);
}

TEST_F(LimitsTest, AControllerOfAnotherNameIsNotMemory) {
  proc("self/cgroup", "4:name=memory-of-old,xmemory:/a\n");
  group1("/a", "100", "1000");
  EXPECT_FALSE(read().cgroup.is_set());
}

// A container without a namespace of its own for groups: the path is the host's, the mount is the group.
TEST_F(LimitsTest, APathThatIsNotBelowTheMountIsTheMount) {
  proc("self/cgroup", "0::/kubepods/pod1/abc\n");
  group2("", "600", "1000");
  EXPECT_EQ(read().cgroup.left, 400u);
  proc("self/cgroup", "4:memory:/kubepods/pod1/abc\n");
  group1("", "300", "500");
  EXPECT_EQ(read().cgroup.limit, 500u);
}

TEST_F(LimitsTest, TheRootIsItself) {
  for (const char* path : {"/", "/../elsewhere"}) {
    proc("self/cgroup", std::string("0::") + path + "\n");
    group2("", "600", "1000");
    put(folder_ + "/elsewhere/memory.current", "1\n");
    put(folder_ + "/elsewhere/memory.max", "2\n");
    EXPECT_EQ(read().cgroup.limit, 1000u) << path;
  }
}

TEST_F(LimitsTest, Version2BesideVersion1) {
  proc("self/cgroup", "4:cpu:/job\n0::/job\n");
  put(cgroup_ + "/unified/job/memory.current", "600\n");
  put(cgroup_ + "/unified/job/memory.max", "1000\n");
  EXPECT_EQ(read().cgroup.left, 400u);
}

TEST_F(LimitsTest, OddFilesAreNoLimits) {
  proc("self/cgroup", "0::/job\nnonsense\n::\n7:memory\n");
  group2("/job", "", "1000");
  EXPECT_FALSE(read().cgroup.is_set());
  group2("/job", "1", "-");
  EXPECT_FALSE(read().cgroup.is_set());
  proc("self/cgroup", "0::/" + std::string(5000, 'x') + "\n");  // longer than a path may be
  EXPECT_FALSE(read().cgroup.is_set());
}

TEST_F(LimitsTest, ErrnoStays) {
  errno = 77;
  read();
  EXPECT_EQ(errno, 77);
}

TEST_F(LimitsTest, TheRealSystemIsRead) {
  const SystemMemory memory = std::make_unique<LimitReader>()->read();
  EXPECT_GT(memory.touched, 0u);
  EXPECT_GT(memory.machine.limit, memory.machine.left);
  EXPECT_GT(memory.machine.left, 0u);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_EQ(memory.address_space.is_set(), limit.rlim_cur != RLIM_INFINITY);
}

}  // namespace
}  // namespace tensorscope
