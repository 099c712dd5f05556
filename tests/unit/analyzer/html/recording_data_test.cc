// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/html/{recording_data,state_over_time}.cc
#include "html/recording_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "../recording/recording_builder.h"
#include "dump/reader.h"
#include "html/page.h"
#include "html/state_over_time.h"
#include "packed.h"
#include "recording/moment.h"

namespace tensorscope::html {
namespace {

using analyzer::allocated;
using analyzer::freed;
using analyzer::RecordingBuilder;

using States = std::map<uint64_t, uint64_t>;

// Live bytes by site at a moment.
States at(const StateOverTime& state, size_t moment) {
  States live;
  for (size_t i = 0; i < state.change_end.at(moment); ++i) live[state.change_site[i]] = state.change_bytes[i];
  std::erase_if(live, [](const auto& row) { return row.second == 0; });
  return live;
}

format::RecordedEvent from_site(format::RecordedEvent event, uint32_t site) {
  event.site = site;
  return event;
}

// Site 1 keeps 10 bytes; site 2 has 100 for a moment, then site 3 has 50, all in the first half; 7 of site 1 at the
// end.
RecordingBuilder rise_and_fall() {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 4,
                 {from_site(allocated(1, 10, 5100), 1), from_site(allocated(2, 100, 5200), 2), freed(2, 2, 5300),
                  from_site(allocated(3, 50, 5400), 3), freed(3, 3, 5500), from_site(allocated(4, 7, 9000), 1)});
  builder.end();
  return builder;
}

TEST(StateOverTime, EachPartHasItsHighestMomentAndItsEnd) {
  const RecordingBuilder builder = rise_and_fall();
  const std::vector<StateOverTime> states = state_over_time(builder.file(), 5000, 9000, 2);
  ASSERT_EQ(states.size(), 1u);
  const StateOverTime& cpu = states[0];
  ASSERT_EQ(cpu.change_end.size(), 5u);
  EXPECT_EQ(at(cpu, 0), States());
  EXPECT_EQ(at(cpu, 1), (States{{1, 10}, {2, 100}}));
  EXPECT_EQ(at(cpu, 2), (States{{1, 10}}));
  EXPECT_EQ(at(cpu, 3), (States{{1, 17}}));
  EXPECT_EQ(at(cpu, 4), (States{{1, 17}}));
  EXPECT_EQ(cpu.highest, (std::vector<uint64_t>{110, 17}));
  EXPECT_EQ(cpu.highest_ns[0], 5200u);
  EXPECT_EQ(cpu.made_end, (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(cpu.made_bytes, (std::vector<uint64_t>{10, 100, 50, 7}));
}

TEST(StateOverTime, WhatWasAliveAtTheBeginIsTheFirstMoment) {
  RecordingBuilder builder;
  builder.segment(5, 5000, 64);
  builder.allocations({format::Allocation(3, 0x3000, 64, 4000, 0, 9, 0, format::AllocationKind(0), 0, 0, -1)});
  builder.events(1, 6, {freed(3, 5, 5100), from_site(allocated(6, 8, 8000), 2)});
  builder.end();
  const StateOverTime cpu = state_over_time(builder.file(), 5000, 9000, 2).at(0);
  EXPECT_EQ(at(cpu, 0), (States{{9, 64}}));
  EXPECT_EQ(at(cpu, 1), (States{{9, 64}}));
  EXPECT_EQ(at(cpu, 2), States());
  EXPECT_EQ(at(cpu, 4), (States{{2, 8}}));
  EXPECT_TRUE(cpu.made_site == std::vector<uint64_t>{2});
}

TEST(StateOverTime, AgreesWithTheTimeline) {
  const RecordingBuilder builder = rise_and_fall();
  const analyzer::RecordingFile file = builder.file();
  const analyzer::MemoryTimeline timeline = analyzer::read_timeline(file, 7);
  EXPECT_EQ(state_over_time(file, timeline.begin_ns, timeline.end_ns, 7).at(0).highest, timeline.curve()->highest);
}

TEST(RecordingData, ReservedMemoryIsTheMostOfEachPart) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  format::RecordedEvent report = allocated(1, 64, 5400);
  report.device_type = 1;
  report.device_index = 0;
  std::vector<format::RecordedEvent> events = {report};
  report.type = format::EventType::device_reported;
  report.serial = 0;
  report.ns = 5500;
  report.number = 64;
  report.pass = 4096;
  events.push_back(report);
  report.ns = 6500;
  report.pass = 2048;
  events.push_back(report);
  events.push_back(allocated(2, 8, 9000));
  builder.events(1, 2, events);
  builder.end();
  const analyzer::RecordingFile file = builder.file();
  const analyzer::MemoryTimeline timeline = analyzer::read_timeline(file, kPartsOfTimeline);
  Page page("1", false);
  analyzer::OpenedDump opened(analyzer::dump_at(file, "x.recording", timeline.peak()), {});
  page.set_part("timeline", Json::array({recording_data(file, timeline, opened, page.payload())}));
  std::ostringstream out;
  page.write(out, "id=\"data\">@DATA@<");
  const testing::Unpacked unpacked = testing::data_of(out.str());
  const nlohmann::json& devices = unpacked.head["timeline"][0]["devices"];
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_TRUE(devices[0]["reserved"].is_null());
  const std::vector<double> reserved = unpacked.column(devices[1]["reserved"]["bytes"]);
  ASSERT_EQ(reserved.size(), kPartsOfTimeline);
  EXPECT_EQ(reserved[0], 0);
  EXPECT_EQ(*std::max_element(reserved.begin(), reserved.end()), 4096);
  EXPECT_EQ(reserved.back(), 2048);
  EXPECT_EQ(unpacked.column(devices[1]["reserved"]["free"]).back(), 2048 - 64);
}

TEST(RecordingData, SitesOfThePageAreRowsOfItsStacks) {
  const RecordingBuilder builder = rise_and_fall();
  const analyzer::RecordingFile file = builder.file();
  const analyzer::MemoryTimeline timeline = analyzer::read_timeline(file, 1);
  Page page("1", false);
  analyzer::OpenedDump opened(analyzer::dump_at(file, "x.recording", {2, 5200}), {});
  const Json data = recording_data(file, timeline, opened, page.payload());
  EXPECT_EQ(data["path"], "x.recording");
  EXPECT_EQ(data["devices"][0]["peak_bytes"], 110u);
  EXPECT_EQ(data["churn"]["site"]["count"], 3u);
  EXPECT_EQ(data["stacks"]["where"]["count"], 3u);
  EXPECT_TRUE(data["devices"][0]["reserved"].is_null());
  EXPECT_EQ(data["spikes"][0]["parts"][0]["bytes"], 100u);
  EXPECT_NE(data["text"].get<std::string>().find("Peak 110 B on cpu"), std::string::npos);
}

}  // namespace
}  // namespace tensorscope::html
