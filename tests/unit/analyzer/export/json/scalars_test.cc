// SPDX-License-Identifier: Apache-2.0
#include "export/json/scalars.h"

#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <sstream>

#include "symbols/native_symbols.h"

// A step of PyTorch's dispatcher, by its name.
namespace at::_ops {

struct mm {
  [[gnu::noinline]] static uint64_t redispatch(uint64_t given);
};
uint64_t mm::redispatch(uint64_t given) { return given + 1; }

}  // namespace at::_ops

namespace tensorscope::exports {

namespace {

int add_self(dl_phdr_info* info, size_t, void* out) {
  analyzer::SharedObject self;
  self.path = std::filesystem::read_symlink("/proc/self/exe");
  self.build_id = analyzer::SymbolFile::open(analyzer::RegularFile::open(self.path))->build_id();
  self.load_bias = info->dlpi_addr;
  self.end = UINT64_MAX;
  static_cast<analyzer::Dump*>(out)->shared_objects.push_back(self);
  return 1;  // the program comes first
}

TEST(JsonValues, APlaceHasItsFunctionAsItIsCalledInWhere) {
  analyzer::Dump dump;
  dl_iterate_phdr(&add_self, &dump);
  dump.native_frames = {{0, 0}, {reinterpret_cast<uint64_t>(&at::_ops::mm::redispatch) + 1, 0}};
  dump.python_frames.resize(1);
  dump.codes.resize(1);
  dump.sites.resize(2);
  dump.sites[1].native = 1;
  analyzer::SymbolOptions options;
  options.use_cache = false;
  analyzer::Symbols symbols(dump, options);
  analyzer::Places places(dump, symbols);
  const Json place = place_json(places, 1);
  EXPECT_EQ(place["function"], "aten::mm");
  EXPECT_TRUE(place["where"].get<std::string>().ends_with(" aten::mm")) << place["where"];
  EXPECT_EQ(place_json(places, 0), nullptr);
}

TEST(JsonValues, WhatIsNotThereIsNull) {
  EXPECT_EQ(natural_or_null(-1), nullptr);
  EXPECT_EQ(natural_or_null(0), 0);
  EXPECT_EQ(number_or_null(0), nullptr);
  EXPECT_EQ(text_or_null(""), nullptr);
}

TEST(JsonValues, AnObjectGoesOnWithAListOfALineARow) {
  std::ostringstream out;
  const auto row = [](size_t i) { return std::to_string(i); };
  out << begun_object({{"a", 1}});
  write_rows(out, "two", 2, row);
  write_rows(out, "none", 0, row);
  out << "}";
  EXPECT_EQ(out.str(), "{\"a\":1,\n\"two\":[\n0,\n1],\n\"none\":[]}");
}

}  // namespace

}  // namespace tensorscope::exports
