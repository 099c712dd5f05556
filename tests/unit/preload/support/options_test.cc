// SPDX-License-Identifier: Apache-2.0
// TENSORSCOPE_* variables: values, wrong values, unknown names, the help.
// Covers: preload/support/option_values.cc
#include "support/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <string>

namespace tensorscope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class OptionsTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const auto& [name, value] : set_) unsetenv(name.c_str());
    parse_options();
  }
  void set(const std::string& name, const std::string& value) {
    set_[name] = value;
    setenv(name.c_str(), value.c_str(), 1);
  }
  // What was said on standard error.
  std::string parse() {
    testing::internal::CaptureStderr();
    parse_options();
    return testing::internal::GetCapturedStderr();
  }
  static std::map<std::string, std::string> visited() {
    std::map<std::string, std::string> rows;
    visit_options([&](const char* name, const char* value, const char* help) {
      EXPECT_STRNE(help, "");
      rows[name] = value;
    });
    return rows;
  }

 private:
  std::map<std::string, std::string> set_;
};

TEST_F(OptionsTest, AreTheDefaultsWhereNothingIsSet) {
  EXPECT_THAT(parse(), IsEmpty());
  EXPECT_TRUE(options().enabled);
  EXPECT_EQ(options().signal, SIGUSR1);
  EXPECT_EQ(options().exit, ExitDump::automatic);
  EXPECT_EQ(options().directory, nullptr);
  EXPECT_EQ(options().max_memory, uint64_t{512} << 20);
  EXPECT_EQ(options().names_timeout_ms, 5000u);
  EXPECT_EQ(options().names_gil_ms, 5000u);
  EXPECT_EQ(options().names_memory, 0u);
}

TEST_F(OptionsTest, TakeValuesOfEveryType) {
  set("TENSORSCOPE", "0");
  set("TENSORSCOPE_SIGNAL", "USR2");
  set("TENSORSCOPE_EXIT", "never");
  set("TENSORSCOPE_CHILDREN", "all");
  set("TENSORSCOPE_DIR", "/some/where");
  set("TENSORSCOPE_NATIVE", "off");
  set("TENSORSCOPE_NAMES_TIMEOUT_MS", "250");
  set("TENSORSCOPE_MAX_STACK_MEMORY", "3G");
  EXPECT_THAT(parse(), IsEmpty());
  EXPECT_FALSE(options().enabled);
  EXPECT_EQ(options().signal, SIGUSR2);
  EXPECT_EQ(options().exit, ExitDump::never);
  EXPECT_EQ(options().children, ChildDumps::all);
  EXPECT_STREQ(options().directory, "/some/where");
  EXPECT_FALSE(options().native_stacks.on);
  EXPECT_EQ(options().names_timeout_ms, 250u);
  EXPECT_EQ(options().max_memory, uint64_t{3} << 30);

  const auto rows = visited();
  EXPECT_EQ(rows.at("TENSORSCOPE"), "off");
  EXPECT_EQ(rows.at("TENSORSCOPE_SIGNAL"), "SIGUSR2");
  EXPECT_EQ(rows.at("TENSORSCOPE_EXIT"), "never");
  EXPECT_EQ(rows.at("TENSORSCOPE_CHILDREN"), "all");
  EXPECT_EQ(rows.at("TENSORSCOPE_DIR"), "/some/where");
  EXPECT_EQ(rows.at("TENSORSCOPE_NAMES_TIMEOUT_MS"), "250");
  EXPECT_EQ(rows.at("TENSORSCOPE_MAX_STACK_MEMORY"), "3G");
  EXPECT_EQ(rows.at("TENSORSCOPE_LOG"), "");
}

TEST_F(OptionsTest, NativeStacksAreOnOffOrFromASize) {
  parse();
  EXPECT_EQ(visited().at("TENSORSCOPE_NATIVE"), "on");
  for (const auto& [text, on, bytes] :
       {std::tuple("64K", true, 64u << 10), {"1MiB", true, 1u << 20}, {"off", false, 0u}, {"1", true, 0u}}) {
    set("TENSORSCOPE_NATIVE", text);
    EXPECT_THAT(parse(), IsEmpty()) << text;
    EXPECT_EQ(options().native_stacks.on, on) << text;
    EXPECT_EQ(options().native_stacks.from_bytes, bytes) << text;
  }
  set("TENSORSCOPE_NATIVE", "64K");
  parse();
  EXPECT_EQ(visited().at("TENSORSCOPE_NATIVE"), "64K");
  set("TENSORSCOPE_NATIVE", "large");
  EXPECT_THAT(parse(), HasSubstr("expected on, off or a size (as in 64K). Using on."));
}

TEST_F(OptionsTest, ASignalIsANameANumberOrOff) {
  for (const char* text : {"SIGUSR2", "USR2", "12"}) {
    set("TENSORSCOPE_SIGNAL", text);
    EXPECT_THAT(parse(), IsEmpty()) << text;
    EXPECT_EQ(options().signal, SIGUSR2) << text;
  }
  for (const char* text : {"off", "0"}) {
    set("TENSORSCOPE_SIGNAL", text);
    EXPECT_THAT(parse(), IsEmpty()) << text;
    EXPECT_EQ(options().signal, 0) << text;
  }
  for (const char* text : {"9", "SIGKILL", "SIGSEGV", "-1", "1000", "usr", "on"}) {
    set("TENSORSCOPE_SIGNAL", text);
    EXPECT_EQ(parse(), std::string("tensorscope: invalid value '") + text +
                           "' for TENSORSCOPE_SIGNAL; expected the name or number of a signal that can be handled, "
                           "or off. Using SIGUSR1.\n");
    EXPECT_EQ(options().signal, SIGUSR1) << text;
  }
}

TEST_F(OptionsTest, AWrongValueIsOneLineAndTheDefault) {
  set("TENSORSCOPE_QUIET", "perhaps");
  EXPECT_EQ(parse(),
            "tensorscope: invalid value 'perhaps' for TENSORSCOPE_QUIET; expected on or off (1 or 0). Using off.\n");
  EXPECT_FALSE(options().quiet);
}

TEST_F(OptionsTest, SizesThatDoNotFitAreWrong) {
  for (const char* text : {"M", "-1", "1.5G", "99999999999G", "18446744073709551616", "12X", "0x10"}) {
    set("TENSORSCOPE_MAX_STACK_MEMORY", text);
    EXPECT_THAT(parse(), HasSubstr("expected a number of bytes, or of K, M or G (as in 512M). Using 512M.")) << text;
    EXPECT_EQ(options().max_memory, uint64_t{512} << 20) << text;
  }
}

TEST_F(OptionsTest, AShareOrASizeOrNothing) {
  parse();
  EXPECT_EQ(visited().at("TENSORSCOPE_LOW_MEMORY"), "5%");
  EXPECT_EQ(visited().at("TENSORSCOPE_DUMP_AT_GROWTH"), "off");
  EXPECT_EQ(visited().at("TENSORSCOPE_GROWTH_KEEP"), "3");
  for (const char* text : {"10%", "2.5%", "0.25%", "2.05%", "512M", "7"}) {
    set("TENSORSCOPE_LOW_MEMORY", text);
    set("TENSORSCOPE_DUMP_AT_GROWTH", text);
    EXPECT_THAT(parse(), IsEmpty()) << text;
    EXPECT_EQ(visited().at("TENSORSCOPE_LOW_MEMORY"), text);
    EXPECT_EQ(visited().at("TENSORSCOPE_DUMP_AT_GROWTH"), text);
  }
  for (const char* text : {"off", "0", "0%", "0.00%"}) {
    set("TENSORSCOPE_LOW_MEMORY", text);
    set("TENSORSCOPE_DUMP_AT_GROWTH", text);
    EXPECT_THAT(parse(), IsEmpty()) << text;
    EXPECT_FALSE(options().low_memory.is_set()) << text;
    EXPECT_EQ(visited().at("TENSORSCOPE_DUMP_AT_GROWTH"), "off");
  }
  set("TENSORSCOPE_LOW_MEMORY", "99.99%");
  set("TENSORSCOPE_DUMP_AT_GROWTH", "250%");
  EXPECT_THAT(parse(), IsEmpty());
  EXPECT_EQ(options().low_memory.of(uint64_t{10000} << 20), uint64_t{9999} << 20);
  EXPECT_EQ(options().growth.of(100), 250u);
}

TEST_F(OptionsTest, OtherSharesAreWrong) {
  for (const char* text : {"%", "-5%", "5 %", "5.%", ".5%", "5.123%", "1e2%", "10001%", "five", "1T"}) {
    set("TENSORSCOPE_DUMP_AT_GROWTH", text);
    EXPECT_EQ(parse(), std::string("tensorscope: invalid value '") + text +
                           "' for TENSORSCOPE_DUMP_AT_GROWTH; expected a share or a size (as in 10% or 512M), or off. "
                           "Using off.\n");
  }
  set("TENSORSCOPE_DUMP_AT_GROWTH", "");
  set("TENSORSCOPE_LOW_MEMORY", "100%");
  EXPECT_EQ(
      parse(),
      "tensorscope: invalid value '100%' for TENSORSCOPE_LOW_MEMORY; expected a share under 100% or a size (as in 5% "
      "or 512M), or off. Using 5%.\n");
  set("TENSORSCOPE_LOW_MEMORY", "");
  set("TENSORSCOPE_GROWTH_KEEP", "-1");
  EXPECT_EQ(parse(),
            "tensorscope: invalid value '-1' for TENSORSCOPE_GROWTH_KEEP; expected a number up to 65535. Using 3.\n");
}

TEST_F(OptionsTest, AnUnknownVariablePointsToTheHelp) {
  set("TENSORSCOPE_SIGNALS", "USR2");
  EXPECT_EQ(parse(), "tensorscope: unknown variable TENSORSCOPE_SIGNALS; TENSORSCOPE_HELP=1 lists all variables.\n");
}

TEST_F(OptionsTest, OthersVariablesAreNoneOfOurs) {
  set("TENSORSCOPEX", "1");
  set("TENSORSCOPE_LIB", "/a/libtensorscope.so");
  EXPECT_THAT(parse(), IsEmpty());
}

TEST_F(OptionsTest, AMessageStaysOneLineWhateverTheValue) {
  set("TENSORSCOPE_EXIT", "a\nb\x1b[31m" + std::string(5000, 'x'));
  const std::string said = parse();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
  EXPECT_LT(said.size(), 300u);
}

TEST_F(OptionsTest, AnEmptyValueIsAsIfUnset) {
  set("TENSORSCOPE_DIR", "");
  set("TENSORSCOPE_QUIET", "");
  EXPECT_THAT(parse(), IsEmpty());
  EXPECT_EQ(options().directory, nullptr);
}

TEST_F(OptionsTest, ThePartOfARecordingToKeepWantsARecording) {
  set("TENSORSCOPE_RECORD_LAST", "10min");
  EXPECT_THAT(parse(), IsEmpty());
  EXPECT_TRUE(options().record);
  set("TENSORSCOPE_RECORD", "");
  parse();
  EXPECT_TRUE(options().record);
  set("TENSORSCOPE_RECORD", "0");
  parse();
  EXPECT_FALSE(options().record);
}

TEST_F(OptionsTest, TextsStayWhenTheEnvironmentChanges) {
  set("TENSORSCOPE_DIR", "first");
  parse();
  set("TENSORSCOPE_DIR", "other");
  EXPECT_STREQ(options().directory, "first");
}

TEST_F(OptionsTest, HelpShowsEveryVariableWithItsValue) {
  set("TENSORSCOPE_HELP", "1");
  set("TENSORSCOPE_EXIT", "always");
  const std::string said = parse();
  for (const auto& [name, value] : visited()) EXPECT_THAT(said, HasSubstr("  " + name + "=" + value));
  EXPECT_THAT(said, HasSubstr("TENSORSCOPE_EXIT=always"));
}

}  // namespace
}  // namespace tensorscope
