// SPDX-License-Identifier: Apache-2.0
// libtensorscope.so as a file: what it exports and what it needs.
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "hooks/hook_list.h"

namespace {

class ElfFile {
 public:
  explicit ElfFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0) return;
    void* memory = mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (memory != MAP_FAILED) base_ = static_cast<const char*>(memory);
  }
  bool ok() const { return base_ != nullptr; }

  std::set<std::string> exported() const {
    std::set<std::string> names;
    for_each<Elf64_Sym>(SHT_DYNSYM, [&](const Elf64_Sym& symbol, const char* strings) {
      if (symbol.st_shndx != SHN_UNDEF) names.insert(strings + symbol.st_name);
    });
    return names;
  }

  std::set<std::string> needed() const {
    std::set<std::string> names;
    for_each<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, const char* strings) {
      if (entry.d_tag == DT_NEEDED) names.insert(strings + entry.d_un.d_val);
    });
    return names;
  }

  // "GLIBC_2.34", "GLIBCXX_3.4" ...
  std::set<std::string> needed_versions() const {
    std::set<std::string> names;
    const Elf64_Shdr* section = find(SHT_GNU_verneed);
    if (!section) return names;
    const char* strings = base_ + sections()[section->sh_link].sh_offset;
    const char* at = base_ + section->sh_offset;
    for (unsigned i = 0; i < section->sh_info; ++i) {
      const auto* need = reinterpret_cast<const Elf64_Verneed*>(at);
      const char* version = at + need->vn_aux;
      for (unsigned j = 0; j < need->vn_cnt; ++j) {
        const auto* aux = reinterpret_cast<const Elf64_Vernaux*>(version);
        names.insert(strings + aux->vna_name);
        version += aux->vna_next;
      }
      at += need->vn_next;
    }
    return names;
  }

 private:
  const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(base_); }
  const Elf64_Shdr* sections() const { return reinterpret_cast<const Elf64_Shdr*>(base_ + header().e_shoff); }
  const Elf64_Shdr* find(unsigned type) const {
    for (unsigned i = 0; i < header().e_shnum; ++i) {
      if (sections()[i].sh_type == type) return &sections()[i];
    }
    return nullptr;
  }
  template <typename Row, typename F>
  void for_each(unsigned type, F&& visit) const {
    const Elf64_Shdr* section = find(type);
    if (!section) return;
    const auto* rows = reinterpret_cast<const Row*>(base_ + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof(Row); ++i) {
      visit(rows[i], base_ + sections()[section->sh_link].sh_offset);
    }
  }

  const char* base_ = nullptr;
};

class Exports : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(library.ok()); }
  const ElfFile library{getenv("LIBTENSORSCOPE")};
};

TEST_F(Exports, AreTheListAndNothingElse) {
  const std::set<std::string> listed = {
#define X(id, symbol, ...) #symbol,
      TENSORSCOPE_HOOKS(X)
#undef X
#define X(name, ...) #name,
          TENSORSCOPE_CUDA_RUNTIME_FUNCTIONS(X) TENSORSCOPE_LIBC_FUNCTIONS(X) TENSORSCOPE_CXX_RUNTIME_FUNCTIONS(X)
              TENSORSCOPE_PUBLIC_FUNCTIONS(X)
#undef X
  };
  EXPECT_EQ(library.exported(), listed);
}

TEST_F(Exports, NeedsLibcAlone) {
  EXPECT_TRUE(library.needed().contains("libc.so.6"));
  for (const std::string& name : library.needed()) {
    EXPECT_THAT(name, testing::AnyOf(testing::StartsWith("libc.so"), testing::StartsWith("libm.so"),
                                     testing::StartsWith("libdl.so"), testing::StartsWith("libpthread.so"),
                                     testing::StartsWith("ld-linux")));
  }
  for (const std::string& version : library.needed_versions()) EXPECT_THAT(version, testing::StartsWith("GLIBC_"));
}

}  // namespace
