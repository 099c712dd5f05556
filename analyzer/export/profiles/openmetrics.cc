// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/openmetrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "memory/grouping.h"
#include "support/printable.h"

namespace tensorscope::exports {

namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : analyzer::printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

class Metrics {
 public:
  explicit Metrics(const analyzer::Process& process) {
    common_ = {{"program", process.program}, {"host", process.host}, {"pid", std::to_string(process.pid)}};
    if (process.rank >= 0) common_.emplace_back("rank", std::to_string(process.rank));
    if (!process.job.empty()) common_.emplace_back("job_name", process.job);
  }

  // `unit`: "bytes", "seconds", or "" for a count; the name ends in it.
  void family(const char* name, const char* unit, const char* help) {
    name_ = name;
    out_ += fmt::format("# TYPE {} gauge\n", name);
    if (*unit != 0) out_ += fmt::format("# UNIT {} {}\n", name, unit);
    out_ += fmt::format("# HELP {} {}\n", name, help);
  }
  void value(const std::string& number, const Labels& labels = {}) {
    std::string text;
    for (const Labels* part : {&std::as_const(common_), &labels}) {
      for (const auto& [key, label] : *part)
        text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", key, escaped(label));
    }
    out_ += fmt::format("{}{{{}}} {}\n", name_, text, number);
  }
  void value(uint64_t number, const Labels& labels = {}) { value(std::to_string(number), labels); }
  std::string text() { return std::move(out_) + "# EOF\n"; }

 private:
  Labels common_;
  const char* name_ = "";
  std::string out_;
};

struct Sum {
  uint64_t bytes = 0, tensors = 0;
};
using Sums = std::map<std::pair<std::string, std::string>, Sum>;  // by device and category

Sums by_device_and_category(const analyzer::View& view) {
  Sums sums;
  const auto of = [&](analyzer::Device device, uint32_t tensor) -> Sum& {
    const auto category = tensor == analyzer::kNone ? analyzer::Category::workspace : view.holders.category(tensor);
    return sums[{device.text(), analyzer::text(category)}];
  };
  const std::vector<analyzer::Item>& items = view.accounts.items();
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].storage == analyzer::kNone && items[i].allocation == analyzer::kNone) continue;
    of(items[i].device, view.selection.representative(i)).bytes += view.selection.item_bytes(i);
  }
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) of(view.dump.tensors[i].device, i).tensors += 1;
  return sums;
}

}  // namespace

std::string openmetrics(analyzer::OpenedDump& opened, size_t sites) {
  const analyzer::Dump& dump = opened.dump;
  const analyzer::Selection everything = opened.choose({});
  const analyzer::View view = opened.view(everything);
  const Sums sums = by_device_and_category(view);
  Metrics metrics(dump.process);

  metrics.family("tensorscope_live_bytes", "bytes", "Live memory of tensors and allocators.");
  for (const auto& [key, sum] : sums) metrics.value(sum.bytes, {{"device", key.first}, {"category", key.second}});
  metrics.family("tensorscope_live_tensors", "", "Live tensors.");
  for (const auto& [key, sum] : sums) metrics.value(sum.tensors, {{"device", key.first}, {"category", key.second}});

  metrics.family("tensorscope_peak_bytes", "bytes", "Highest live bytes of a device so far.");
  for (const analyzer::DeviceTotal& device : dump.totals.devices) {
    metrics.value(device.peak_bytes, {{"device", device.device.text()}});
  }
  metrics.family("tensorscope_reserved_bytes", "bytes", "Memory that the allocator of a device keeps.");
  for (const analyzer::DeviceTotal& device : dump.totals.devices) {
    if (!device.device.is_cpu()) metrics.value(device.allocator_reserved, {{"device", device.device.text()}});
  }

  std::vector<analyzer::Group> groups = analyzer::group(view, analyzer::GroupBy::line);
  std::sort(groups.begin(), groups.end(), [](const analyzer::Group& a, const analyzer::Group& b) {
    return std::make_pair(b.bytes, a.label) < std::make_pair(a.bytes, b.label);
  });
  groups.resize(std::min(groups.size(), sites));
  metrics.family("tensorscope_site_live_bytes", "bytes", "Live memory of the largest allocation sites.");
  for (const analyzer::Group& group : groups) metrics.value(group.bytes, {{"site", group.label}});

  metrics.family("tensorscope_resident_bytes", "bytes", "Resident memory of the process.");
  metrics.value(dump.totals.resident_bytes);
  metrics.family("tensorscope_profiler_bytes", "bytes", "Memory that tensorscope takes in the process.");
  metrics.value(dump.totals.profiler_bytes);
  if (dump.process.step >= 0) {
    metrics.family("tensorscope_step", "", "Steps of the program so far.");
    metrics.value(uint64_t(dump.process.step));
  }
  metrics.family("tensorscope_dump_time_seconds", "seconds", "When this was so, since 1970.");
  metrics.value(fmt::format("{:.3f}", double(dump.process.dump_unix_ns) / 1e9));
  return metrics.text();
}

}  // namespace tensorscope::exports
