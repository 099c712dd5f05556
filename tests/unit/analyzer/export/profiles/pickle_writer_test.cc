// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/pickle_writer.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

namespace tensorscope::exports {
namespace {

// What is written between the protocol's two bytes and the stop.
std::string written(const std::function<void(PickleWriter&)>& write) {
  std::ostringstream out;
  PickleWriter pickle(out);
  write(pickle);
  pickle.finish();
  const std::string bytes = out.str();
  EXPECT_EQ(bytes.substr(0, 2), std::string("\x80\x04"));
  EXPECT_EQ(bytes.back(), '.');
  return bytes.substr(2, bytes.size() - 3);
}

std::string number(uint64_t value) {
  return written([value](PickleWriter& pickle) { pickle.number(value); });
}

std::string text(const std::string& value) {
  return written([&value](PickleWriter& pickle) { pickle.text(value); });
}

using Bytes = std::string;

TEST(PickleWriterTest, NumbersTakeTheShortestForm) {
  EXPECT_EQ(number(0), Bytes("K\0", 2));
  EXPECT_EQ(number(255), "K\xff");
  EXPECT_EQ(number(256), Bytes("M\0\1", 3));
  EXPECT_EQ(number(0xffff), "M\xff\xff");
  EXPECT_EQ(number(0x10000), Bytes("J\0\0\1\0", 5));
  EXPECT_EQ(number(0x7fffffff), "J\xff\xff\xff\x7f");
}

TEST(PickleWriterTest, LargeNumbersKeepTheirSign) {
  EXPECT_EQ(number(0x80000000), Bytes("\x8a\5\0\0\0\x80\0", 7));
  EXPECT_EQ(number(0x7fffffffff), "\x8a\5\xff\xff\xff\xff\x7f");
  EXPECT_EQ(number(0x8000000000), Bytes("\x8a\6\0\0\0\0\x80\0", 8));
  EXPECT_EQ(number(INT64_MAX), "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_EQ(number(uint64_t{1} << 63), Bytes("\x8a\x09\0\0\0\0\0\0\0\x80\0", 11));
}

TEST(PickleWriterTest, OtherValues) {
  EXPECT_EQ(written([](PickleWriter& pickle) { pickle.boolean(true); }), "\x88");
  EXPECT_EQ(written([](PickleWriter& pickle) { pickle.boolean(false); }), "\x89");
  EXPECT_EQ(written([](PickleWriter& pickle) { pickle.pair(1, 300); }), "K\1M\x2c\1\x86");
}

TEST(PickleWriterTest, TextsByLength) {
  EXPECT_EQ(text(""), Bytes("\x8c\0\x94", 3));
  EXPECT_EQ(text("size"), "\x8c\4size\x94");
  EXPECT_EQ(text(std::string(255, 'x')), "\x8c\xff" + std::string(255, 'x') + "\x94");
  EXPECT_EQ(text(std::string(256, 'x')), Bytes("X\0\1\0\0", 5) + std::string(256, 'x') + "\x94");
}

TEST(PickleWriterTest, ATextOnceIsNotRemembered) {
  EXPECT_EQ(written([](PickleWriter& pickle) {
              pickle.begin_list();
              pickle.text_once("a");
              pickle.text("a");
              pickle.text("a");
              pickle.end_list();
            }),
            Bytes("]\x8c\1aa\x8c\1a\x94"
                  "ah\0a",
                  13));
}

TEST(PickleWriterTest, ElementsAreAppendedOneByOne) {
  EXPECT_EQ(written([](PickleWriter& pickle) {
              pickle.begin_list();
              pickle.number(1);
              pickle.begin_list();
              pickle.end_list();
              pickle.pair(2, 3);
              pickle.end_list();
            }),
            "]K\1a]aK\2K\3\x86"
            "a");
}

TEST(PickleWriterTest, ADictionarysValuesAreNotAppended) {
  EXPECT_EQ(written([](PickleWriter& pickle) {
              pickle.begin_list();
              pickle.begin_dict();
              pickle.text("a");
              pickle.number(1);
              pickle.text("b");
              pickle.begin_list();
              pickle.text("a");
              pickle.end_list();
              pickle.end_dict();
              pickle.end_list();
            }),
            Bytes("]}(\x8c\1a\x94K\1\x8c\1b\x94]h\0aua", 19));
}

TEST(PickleWriterTest, SharedObjectsAreWrittenOnce) {
  EXPECT_EQ(written([](PickleWriter& pickle) {
              pickle.begin_list();
              const PickleWriter::Reference list = pickle.begin_shared_list();
              const PickleWriter::Reference dict = pickle.begin_shared_dict();
              pickle.end_dict();
              pickle.end_list();
              pickle.refer(dict);
              pickle.refer(list);
              pickle.end_list();
            }),
            Bytes("]]\x94}\x94(uaah\1ah\0a", 15));
}

TEST(PickleWriterTest, ReferencesBeyondAByte) {
  const std::string bytes = written([](PickleWriter& pickle) {
    pickle.begin_list();
    for (int i = 0; i < 300; i++) pickle.text(std::to_string(i));
    pickle.text("255");
    pickle.text("256");
    pickle.end_list();
  });
  EXPECT_EQ(bytes.substr(bytes.size() - 9), Bytes("h\xff"
                                                  "aj\0\1\0\0a",
                                                  9));
}

}  // namespace
}  // namespace tensorscope::exports
