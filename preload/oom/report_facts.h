// SPDX-License-Identifier: Apache-2.0
// What the report on an out-of-memory error says, collected from the tables, the driver and what Python holds.
//
// Context: collector, after the dump has its name. What needs memory that is not there stays unknown.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/driver.h"
#include "devices/segments.h"
#include "dump/failure.h"
#include "dump/places.h"
#include "dump/shared_files.h"
#include "oom/holdings.h"
#include "torch/metadata/object_class.h"

namespace tensorscope::oom {

inline constexpr int8_t kCpuType = 0, kCudaType = 1;  // c10::DeviceType
inline constexpr size_t kReportSites = 5;
inline constexpr size_t kNameBytes = 256;

// Filled as far as things are known; 0 and "" are unknown.
struct ReportFacts {
  dump::Failure failure;
  char place[dump::kPlaceBytes] = "";
  char node[64] = "";                    // class of the autograd node whose backward it was
  char forward[dump::kPlaceBytes] = "";  // where that node's operation stood, where `place` is not Python's
  char thread[20] = "";                  // name, where it is not the main thread

  // The device whose memory this is about; of its allocator and its driver.
  Device device;
  uint64_t allocated = 0, reserved = 0;
  uint64_t largest_free = 0;                               // piece of what is cached
  uint64_t driver_total = 0, driver_free = 0, others = 0;  // others: of other processes
  bool others_unknown = false;                             // the driver does not report what some of them hold

  bool holdings_known = false;
  const char* holdings_missing = "not enough memory left to find out";  // why
  uint64_t bytes = 0;
  struct Row {
    Category category = Category::unknown;
    uint64_t bytes = 0, items = 0;
  } categories[kCategories];
  struct Site {
    uint64_t bytes = 0, items = 0;
    char place[dump::kPlaceBytes] = "";
    char names[kNameBytes] = "";
  } sites[kReportSites];
  const dump::SharedFiles* shared = nullptr;  // where the failure is about shared memory
  uint64_t garbage = 0;
  uint64_t other_processes = 0;     // what they have under the limit, where that is more than this process has
  const char* names_missing = "";   // why
  uint64_t unnamed = 0;             // tensors that were not looked at for a name; 0: how many is not known
  uint64_t tensors = 0;             // all of them
  uint64_t looked_at = UINT64_MAX;  // of these, the largest, for what they hold
  // Where they are missing: a dump that this process wrote before and that has names; "": none.
  const char* earlier = "";
  uint64_t earlier_age_ns = 0;
  const char* path = "";     // of the dump; "": it could not be written
  const char* summary = "";  // "(312 tensors, 1.42 GiB live) in 41 ms"
};

struct ReportSources {
  const dump::Failure& failure;
  const DumpTables& tables;
  torch::ObjectClasses* classes = nullptr;  // null: torch's objects are not to be looked at
  const devices::AllocatorSnapshot& allocator;
  const devices::DriverAnswers& driver;  // that was waited for
  const dump::SharedFiles& shared;
  bool tensors_known = false;  // TensorFacts were kept
  const char* path = "";
  const char* summary = "";
  const char* dump_failed = "";  // why there is none, where that is why nothing was looked at
  const char* earlier = "";      // the newest dump of this process that has names; "": none
  uint64_t earlier_age_ns = 0;
};

// Collects what can be had.
void collect_facts(const ReportSources& sources, ReportFacts& facts);

}  // namespace tensorscope::oom
