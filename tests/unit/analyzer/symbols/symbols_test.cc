// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/symbols/{native_symbols,symbol_cache,symbol_file}.cc
#include "symbols/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/under_qemu.h"
#include "symbols/native_symbols.h"
#include "symbols/places.h"
#include "symbols/symbol_cache.h"

// A step of PyTorch's dispatcher, by its name.
namespace at::_ops {

struct mm {
  [[gnu::noinline]] static uint64_t redispatch(uint64_t given);
};
uint64_t mm::redispatch(uint64_t given) { return given + 1; }

}  // namespace at::_ops

// Functions of this very program whose return addresses are known: what the symbols must find again.
namespace symbols_test_target {
__attribute__((noinline)) uint64_t here() { return reinterpret_cast<uint64_t>(__builtin_return_address(0)); }
__attribute__((always_inline)) inline uint64_t inlined_caller() {
  volatile uint64_t address = here();  // volatile: no tail call
  return address;
}
__attribute__((noinline)) uint64_t outer_caller() {
  volatile uint64_t address = inlined_caller();
  return address;
}
}  // namespace symbols_test_target

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class SymbolsTest : public ::testing::Test {
 protected:
  SymbolsTest() {
    std::string name = (std::filesystem::temp_directory_path() / "symbols_test.XXXXXX").string();
    directory_ = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", (directory_ / "cache").c_str(), 1);
    self_ = std::filesystem::read_symlink("/proc/self/exe");
    dl_iterate_phdr(&add_self, &dump_);
    dump_.shared_objects[0].path = self_;
    dump_.shared_objects[0].build_id = SymbolFile::open(RegularFile::open(self_))->build_id();
    address_ = symbols_test_target::outer_caller();
    dump_.native_frames = {{0, 0}, {address_, 0}};
    dump_.python_frames.resize(1);
    dump_.codes.resize(1);
    dump_.sites = {{}, {}};
    dump_.sites[1].native = 1;
  }
  ~SymbolsTest() override { std::filesystem::remove_all(directory_); }

  static int add_self(dl_phdr_info* info, size_t, void* out) {
    SharedObject module;
    module.load_bias = info->dlpi_addr;
    module.begin = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
      uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      module.begin = std::min(module.begin, begin);
      module.end = std::max(module.end, begin + info->dlpi_phdr[i].p_memsz);
    }
    static_cast<Dump*>(out)->shared_objects.push_back(module);
    return 1;  // the program comes first
  }

  std::filesystem::path cache_file() const {
    return directory_ / "cache/tensorscope/symbols" / dump_.shared_objects[0].build_id;
  }

  std::filesystem::path directory_;
  std::string self_;
  Dump dump_;
  uint64_t address_ = 0;
};

TEST_F(SymbolsTest, InlineFramesWithFilesAndLines) {
  std::vector<Frame> frames = Symbols(dump_, {}).native(1);
  ASSERT_EQ(frames.size(), 2u);
#ifdef __clang__  // whose -g1 has no namespaces of inlined functions
  EXPECT_EQ(frames[0].function, "inlined_caller");
#else
  EXPECT_EQ(frames[0].function, "symbols_test_target::inlined_caller");
#endif
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_THAT(frames[0].file, MatchesRegex("/.*/tests/unit/analyzer/symbols/symbols_test.cc"));
  EXPECT_EQ(frames[1].function, "symbols_test_target::outer_caller");
  EXPECT_FALSE(frames[1].inlined);
  EXPECT_EQ(frames[1].line, frames[0].line + 4);
  EXPECT_EQ(frames[1].address, address_);
  EXPECT_EQ(frames[1].object, std::filesystem::path(self_).filename());
}

TEST_F(SymbolsTest, SecondReadNeedsNoFile) {
  {
    Symbols symbols(dump_, {});
    symbols.prefetch({1});
  }
  ASSERT_TRUE(std::filesystem::exists(cache_file()));
  auto mode = std::filesystem::status(cache_file().parent_path()).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::all, std::filesystem::perms::owner_all);
  dump_.shared_objects[0].path = "/nowhere/at/all";
  Symbols cached(dump_, {});
  EXPECT_EQ(cached.native(1).back().function, "symbols_test_target::outer_caller");
  EXPECT_FALSE(cached.unread().function(cached.native(1).back()));
  SymbolOptions no_cache;
  no_cache.use_cache = false;
  Symbols uncached(dump_, no_cache);
  EXPECT_EQ(uncached.native(1).back().function, "");
  EXPECT_TRUE(uncached.unread().function(uncached.native(1).back()));
  EXPECT_THAT(uncached.check().notes, ElementsAre(HasSubstr("/nowhere/at/all is not on this machine")));
}

// Cut off or changed anywhere, the cache is not believed and the names come from the file again.
TEST_F(SymbolsTest, DamagedCacheIsIgnored) {
  Symbols(dump_, {}).prefetch({1});
  std::string bytes;
  {
    std::ifstream in(cache_file(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto with_cache = [&](const std::string& changed) {
    std::ofstream(cache_file(), std::ios::binary | std::ios::trunc) << changed;
    return Symbols(dump_, {}).native(1).back().function;
  };
  for (size_t size = 0; size < bytes.size(); size += 23) {
    ASSERT_EQ(with_cache(bytes.substr(0, size)), "symbols_test_target::outer_caller") << size;
  }
  for (size_t at = 0; at < bytes.size(); at += 19) {
    std::string changed = bytes;
    changed[at] = char(changed[at] ^ 0x40);
    ASSERT_EQ(with_cache(changed), "symbols_test_target::outer_caller") << at;
  }
}

TEST_F(SymbolsTest, AnotherBuildIsNotBelieved) {
  dump_.shared_objects[0].build_id = "00112233";
  Symbols symbols(dump_, {});
  EXPECT_EQ(symbols.native(1).back().function, "");
  EXPECT_THAT(symbols.check().notes, ElementsAre(HasSubstr("changed since the dump was written")));
  EXPECT_EQ(symbols.native(1).back().object, std::filesystem::path(self_).filename());
}

TEST_F(SymbolsTest, SysrootAndDebugDirectories) {
  const std::string id = dump_.shared_objects[0].build_id;
  std::filesystem::create_directories(directory_ / "root/opt");
  std::filesystem::copy_file(self_, directory_ / "root/opt/program");
  dump_.shared_objects[0].path = "/opt/program";
  SymbolOptions options;
  options.use_cache = false;
  options.sysroot = directory_ / "root";
  EXPECT_EQ(Symbols(dump_, options).native(1).back().function, "symbols_test_target::outer_caller");

  std::filesystem::path debug = directory_ / "debug/.build-id" / id.substr(0, 2);
  std::filesystem::create_directories(debug);
  std::filesystem::rename(directory_ / "root/opt/program", debug / (id.substr(2) + ".debug"));
  options.sysroot = "";
  options.debug_dirs = {directory_ / "debug"};
  EXPECT_EQ(Symbols(dump_, options).native(1).back().function, "symbols_test_target::outer_caller");
}

// Without a build-id nothing proves that a file is the object: a dump from elsewhere must not choose what is opened.
TEST_F(SymbolsTest, AnObjectWithoutABuildIdNeedsASysroot) {
  dump_.shared_objects[0].path = directory_ / "bare";
  dump_.shared_objects[0].build_id = "";
  const std::string command =
      "objcopy --remove-section=.note.gnu.build-id '" + self_ + "' '" + dump_.shared_objects[0].path + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  SymbolOptions options;
  options.use_cache = false;
  Symbols symbols(dump_, options);
  EXPECT_EQ(symbols.native(1).back().function, "");
  EXPECT_THAT(symbols.check().notes, ElementsAre(HasSubstr("has no build-id")));
  options.sysroot = "/";
  EXPECT_EQ(Symbols(dump_, options).native(1).back().function, "symbols_test_target::outer_caller");
}

TEST_F(SymbolsTest, TheSysrootsLinksStayInsideOfIt) {
  if (under_qemu()) GTEST_SKIP() << kNoOpenat2;
  std::filesystem::create_directories(directory_ / "root/usr");
  std::filesystem::copy_file(self_, directory_ / "root/usr/program");
  std::filesystem::create_symlink("/usr", directory_ / "root/opt");
  std::filesystem::create_symlink(self_, directory_ / "root/outside");
  SymbolOptions options;
  options.use_cache = false;
  options.sysroot = directory_ / "root";
  auto function = [&](const std::string& path) {
    dump_.shared_objects[0].path = path;
    return Symbols(dump_, options).native(1).back().function;
  };
  EXPECT_EQ(function("/opt/program"), "symbols_test_target::outer_caller");
  EXPECT_EQ(function("/../../usr/program"), "symbols_test_target::outer_caller");
  EXPECT_EQ(function("/outside"), "");
  EXPECT_EQ(function("/../.." + self_), "");
}

TEST_F(SymbolsTest, WhatIsHereIsToldWithoutResolving) {
  Symbols here(dump_, {});
  EXPECT_EQ(here.check().wanted, 1u);
  EXPECT_EQ(here.check().found, 1u);
  EXPECT_THAT(here.check().notes, IsEmpty());
  dump_.shared_objects[0].path = "/dev/zero";
  const SymbolCheck elsewhere = Symbols(dump_, {}).check();
  EXPECT_EQ(elsewhere.found, 0u);
  EXPECT_THAT(elsewhere.notes, ElementsAre(HasSubstr("/dev/zero is not on this machine")));
}

TEST_F(SymbolsTest, AddressesOutsideEveryObject) {
  dump_.native_frames.push_back({0, 1});
  dump_.native_frames.push_back({0x10, 2});
  dump_.native_frames.push_back({UINT64_MAX, 3});
  std::vector<Frame> frames = Symbols(dump_, {}).native(4);
  ASSERT_EQ(frames.size(), 5u);
  EXPECT_EQ(frames[0].object, "");
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[2].address, 0u);
}

TEST_F(SymbolsTest, NothingIsResolvedWhereNotAsked) {
  SymbolOptions options;
  options.native = false;
  std::vector<Frame> frames = Symbols(dump_, options).native(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].address, address_);
  EXPECT_EQ(frames[0].object, std::filesystem::path(self_).filename());
}

TEST_F(SymbolsTest, FilesThatAreNoObject) {
  for (const std::string path :
       {"/dev/null", "/nonexistent", directory_.c_str(), "/proc/self/status", "/sys/kernel/mm"}) {
    EXPECT_FALSE(RegularFile::open(path)) << path;
  }
  EXPECT_EQ(SymbolFile::open(RegularFile()), nullptr);
  std::ofstream(directory_ / "text") << "no ELF";
  EXPECT_EQ(SymbolFile::open(RegularFile::open(directory_ / "text")), nullptr);
}

TEST_F(SymbolsTest, ThePlaceOfADispatchersStepIsItsOperation) {
  dump_.native_frames[1].address = reinterpret_cast<uint64_t>(&at::_ops::mm::redispatch) + 1;
  Symbols symbols(dump_, {});
  Places places(dump_, symbols);
  EXPECT_EQ(places.at(1).function, "aten::mm");
  EXPECT_EQ(places.at(1).frame.function, "at::_ops::mm::redispatch");
  EXPECT_EQ(places.stack(1)[0].function, "at::_ops::mm::redispatch");
}

// ---- Python frames and headlines -----------------------------------------------------------------------------------

class HeadlineTest : public ::testing::Test {
 protected:
  HeadlineTest() {
    dump_.native_frames.resize(1);
    dump_.python_frames.resize(1);
    dump_.codes.resize(1);
  }
  // Innermost last, as the trie grows.
  uint32_t frame(const std::string& file, const std::string& function, uint64_t module = 0) {
    dump_.codes.push_back({file, function, 1});
    dump_.python_frames.push_back(
        {module, uint32_t(dump_.python_frames.size() - 1), uint32_t(dump_.codes.size() - 1), 7, false});
    return uint32_t(dump_.python_frames.size() - 1);
  }
  Site site() const {
    Site out;
    out.python = uint32_t(dump_.python_frames.size() - 1);
    return out;
  }
  Dump dump_;
};

TEST_F(HeadlineTest, InnermostFrameOfTheUser) {
  frame("/usr/lib/python3.11/runpy.py", "run");
  frame("/home/u/train.py", "main");
  frame("/home/u/model.py", "forward");
  frame("/v/lib/python3.11/site-packages/lib/ops.py", "op");
  frame("/v/lib/python3.11/site-packages/torch/nn/functional.py", "softmax");
  EXPECT_EQ(Symbols(dump_, {}).headline(site()).function, "forward");
}

TEST_F(HeadlineTest, LibraryBeforeTorchWhereNothingIsTheUsers) {
  frame("/v/lib/python3.11/site-packages/lib/ops.py", "op");
  frame("/v/lib/python3.11/site-packages/torch/nn/functional.py", "softmax");
  EXPECT_EQ(Symbols(dump_, {}).headline(site()).function, "op");
}

TEST_F(HeadlineTest, InnermostWhereAllIsTorch) {
  frame("/v/lib/python3.11/site-packages/torch/a.py", "a");
  frame("/v/lib/python3.11/site-packages/torch/b.py", "b");
  EXPECT_EQ(Symbols(dump_, {}).headline(site()).function, "b");
}

TEST_F(HeadlineTest, NoStackAtAll) {
  Frame frame = Symbols(dump_, {}).headline(Site{});
  EXPECT_EQ(frame.function, "");
  EXPECT_EQ(frame.file, "");
}

TEST_F(HeadlineTest, ModulePathIsThatOfTheNearestCall) {
  dump_.module_names[0x100] = {"model", "Model"};
  dump_.module_names[0x200] = {"model.fc1", "Linear"};
  frame("/home/u/train.py", "main");
  frame("/v/lib/python3.11/site-packages/torch/nn/modules/module.py", "_wrapped_call_impl", 0x100);
  frame("/home/u/model.py", "forward");
  Site outer = site();
  frame("/v/lib/python3.11/site-packages/torch/nn/modules/module.py", "_wrapped_call_impl", 0x200);
  frame("/v/lib/python3.11/site-packages/torch/nn/modules/linear.py", "forward");
  Symbols symbols(dump_, {});
  EXPECT_EQ(symbols.module_path(site()), "model.fc1");
  EXPECT_EQ(symbols.module_path(outer), "model");
  std::vector<std::string> modules;
  for (const Frame& frame : symbols.python(site().python)) modules.push_back(frame.module);
  EXPECT_THAT(modules, ElementsAre("model.fc1", "model.fc1", "model", "model", ""));
}

}  // namespace
}  // namespace tensorscope::analyzer
