// SPDX-License-Identifier: Apache-2.0
// info: what a dump is, what was recorded in it, and what was not and why.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "cli/dump_options.h"
#include "cli/info_files.h"
#include "cli/verb.h"
#include "dump_generated.h"
#include "memory/accounting.h"
#include "recording/moment.h"
#include "text/dump/headline.h"
#include "text/dump/history.h"
#include "text/dump/tensor_phrases.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::Dump;
using analyzer::Process;
using text::Align;
using text::Style;
using text::Terminal;

std::string seen_word(int seen) {
  switch (format::Seen(seen)) {
    case format::Seen::yes:
      return "yes";
    case format::Seen::partly:
      return "partly";
    case format::Seen::no:
      return "no";
    case format::Seen::not_applicable:
      return "not applicable";
  }
  return "unknown";
}

std::string moment(uint64_t unix_ns) {
  if (unix_ns == 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(time_t(unix_ns / 1'000'000'000)));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string ranks(const Process& process) {
  if (process.rank < 0) return "";
  std::string text = std::to_string(process.rank);
  if (process.world_size > 0) text += fmt::format(" of {}", process.world_size);
  if (process.local_rank >= 0) text += fmt::format(" (local rank {})", process.local_rank);
  return text;
}

std::string some_bytes(uint64_t value) { return value == 0 ? "" : text::bytes(value); }

// "device, 2.00 GiB on cuda:0 (c10::OutOfMemoryError)"
std::string failure_words(const analyzer::Failure& failure) {
  std::string text = format::EnumNameFailureKind(format::FailureKind(failure.kind));
  std::replace(text.begin(), text.end(), '_', ' ');
  if (failure.requested > 0) text += fmt::format(", {} on {}", text::bytes(failure.requested), failure.device.text());
  if (!failure.error.empty()) text += fmt::format(" ({})", failure.error);
  text += "; see tensorscope oom";
  if (failure.failures > 1) text += fmt::format("; {} so far", text::counted(failure.failures, "failure"));
  if (failure.without_dump > 0) text += fmt::format(", {} of them without a dump", text::count(failure.without_dump));
  return text;
}

std::string process_table(const Dump& dump, const Terminal& terminal) {
  const Process& process = dump.process;
  text::Table table({{.title = ""}, {.title = "", .least = 20}});
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) table.row({name, value});
  };
  add("program", text::program_name(process));
  add("command", process.command_line.empty() ? "not recorded" : joined(process.command_line));
  add("executable", process.executable);
  add("directory", process.working_directory);
  add("process", fmt::format("{}, parent {}", process.pid, process.parent_pid));
  if (const std::string attach = text::attach_text(process); !attach.empty()) add("attached", attach);
  if (process.forked_from != 0) {
    add("forked", fmt::format("from {}; older allocations are marked inherited", process.forked_from));
  }
  add("host", process.host.empty() ? "not recorded" : process.host);
  add("rank", ranks(process));
  add("run", process.run_id);
  add("started", moment(process.start_unix_ns));
  std::string after = process.dump_ns > process.start_ns
                          ? fmt::format(", {} after start", text::duration(process.dump_ns - process.start_ns))
                          : "";
  add("written", moment(process.dump_unix_ns) + after);
  add("dump", fmt::format("number {} of this process, {}", process.dump_number, text::trigger_text(process)));
  add("over the run", text::growth_sentence(dump));
  add("highest peak", text::peak_line(dump));
  add("failure", dump.failure ? failure_words(*dump.failure) : "");
  add("torch", process.torch_version.empty() ? "unknown" : process.torch_version);
  add("Python", process.python_version.empty() ? "none" : process.python_version);
  add("tensorscope", process.tensorscope_version);
  return table.text(terminal, false);
}

std::string coverage_table(const Dump& dump, const Terminal& terminal) {
  if (dump.coverage.empty()) return "  not recorded\n";
  text::Table table({{.title = "what"},
                     {.title = "recorded"},
                     {.title = "lost", .align = Align::right},
                     {.title = "details", .least = 20}});
  for (const analyzer::Coverage& entry : dump.coverage) {
    Style style = Style::plain;
    if (entry.seen == int(format::Seen::no)) style = Style::bad;
    if (entry.seen == int(format::Seen::partly) || entry.missed > 0) style = Style::warning;
    table.row({entry.subject, seen_word(entry.seen), entry.missed > 0 ? text::counted(entry.missed, "event") : "",
               entry.detail},
              style);
  }
  return table.text(terminal);
}

std::string contents_table(const Dump& dump, const Terminal& terminal) {
  text::Table table({{.title = ""}, {.title = "", .align = Align::right}, {.title = "", .least = 12}});
  auto sentinel = [](size_t rows) { return rows > 0 ? rows - 1 : 0; };  // index 0 means "none"
  table.row({"tensors", text::count(dump.tensors.size()),
             fmt::format("{} created since start", text::count(dump.totals.tensors_total))});
  analyzer::UnknownMemory unknown;
  for (const analyzer::Tensor& tensor : dump.tensors) unknown.add(tensor);
  table.row({"storages", text::count(dump.storages.size()),
             unknown.tensors() == 0 ? "" : "not known for " + text::unknown_memory_phrase(unknown)});
  table.row({"allocations", text::count(dump.allocations.size())});
  table.row({"autograd nodes", text::count(dump.nodes.size())});
  table.row({"sites", text::count(sentinel(dump.sites.size())), "distinct stacks"});
  table.row({"native frames", text::count(sentinel(dump.native_frames.size()))});
  table.row({"Python frames", text::count(sentinel(dump.python_frames.size())),
             text::counted(dump.codes.size(), "code object")});
  table.row({"threads", text::count(sentinel(dump.threads.size()))});
  table.row({"shared objects", text::count(dump.shared_objects.size())});
  std::string names = dump.names_complete         ? ""
                      : dump.names_detail.empty() ? "not complete"
                                                  : "not complete: " + dump.names_detail;
  table.row({"module names", text::count(dump.module_names.size()), names});
  table.row({"source lines", text::count(source_line_count(dump)), source_phrase(dump)});
  if (const std::string limit = text::names_limit(dump.references); !limit.empty()) {
    table.row({"tensor names", text::count(dump.references.named), limit});
  }
  if (!dump.device_memory.empty()) {
    size_t segments = 0, blocks = 0;
    for (const analyzer::DeviceMemory& memory : dump.device_memory) {
      segments += memory.segments.size();
      blocks += memory.blocks.size();
    }
    table.row({"device memory", text::count(dump.device_memory.size()),
               fmt::format("{} of {}", text::counted(segments, "segment"), text::counted(blocks, "block"))});
  }
  if (!dump.runtime_blocks.empty()) table.row({"runtime blocks", text::count(dump.runtime_blocks.size())});
  return table.text(terminal, false);
}

template <typename Add>
void device_rows(const analyzer::DeviceMemory& memory, const Add& add) {
  const std::string device = memory.device.text();
  if (memory.driver_total > 0) {
    add(device.c_str(), text::bytes(memory.driver_total),
        text::bytes(memory.driver_free) + " free" + (memory.name.empty() ? "" : ", " + memory.name));
  } else if (!memory.driver_detail.empty()) {
    add(device.c_str(), "-", memory.driver_detail);
  }
  if (!memory.segments_detail.empty()) add("", "-", memory.segments_detail);
}

// "libtorch_cpu.so 121.0 MiB, [heap] 80.0 MiB, 340 others 22.0 MiB"
std::string largest_mappings(const std::vector<analyzer::Mapping>& mappings) {
  constexpr size_t kMax = 4;
  std::string out;
  uint64_t others = 0, others_bytes = 0;
  size_t shown = 0;
  for (const analyzer::Mapping& row : mappings) {
    const bool anonymous = format::MappingKind(row.kind) == format::MappingKind::anonymous;
    if (shown == kMax || (row.name.empty() && !anonymous)) {
      others += row.count;
      others_bytes += row.resident;
      continue;
    }
    const std::string name = row.name.empty() ? "without a file" : row.name.substr(row.name.rfind('/') + 1);
    out += (shown++ == 0 ? "" : ", ") + name + " " + text::bytes(row.resident);
  }
  if (others > 0) out += fmt::format(", {} {}", text::counted(others, "other"), text::bytes(others_bytes));
  return out;
}

template <typename Add>
void add_malloc(const analyzer::Totals& totals, const Add& add) {
  if (totals.heap_in_use > 0) {
    add("malloc", text::bytes(totals.heap_in_use), text::bytes(totals.heap_free) + " kept for later");
  } else {
    add("malloc", "-", "not recorded: only glibc's malloc says what it has, and not always in time");
  }
}

template <typename Add>
void add_process_parts(const analyzer::ProcessParts& parts, const Add& add) {
  if (!parts.present) return;
  if (parts.python_arenas > 0) {
    add("Python heap", text::bytes(parts.python_arenas),
        text::bytes(parts.python_in_use) + " in small objects, the rest cached");
  } else if (!parts.python_detail.empty()) {
    add("Python heap", "-", "not recorded: " + parts.python_detail);
  }
  uint64_t resident = 0;
  for (const analyzer::Mapping& row : parts.mappings) resident += row.resident;
  if (!parts.mappings.empty()) {
    add("mappings", text::bytes(resident), largest_mappings(parts.mappings));
  } else {
    add("mappings", "-", "not recorded: " + parts.mappings_detail);
  }
}

// "61.2 MiB left; this process 1.0 MiB, python (4243) 800.0 KiB"
template <typename Add>
void add_shared_memory(const Dump& dump, const Add& add) {
  constexpr size_t kMax = 4;
  const analyzer::ProcessParts& parts = dump.process_parts;
  if (parts.shared_total == 0) return;
  std::string text = text::bytes(parts.shared_left) + " left";
  for (size_t i = 0; i < std::min(parts.shared_holders.size(), kMax); ++i) {
    const analyzer::SharedHolder& holder = parts.shared_holders[i];
    const std::string who = holder.pid == dump.process.pid ? "this process"
                            : holder.pid == 0              ? fmt::format("of no process ({})", holder.name)
                                                           : fmt::format("{} ({})", holder.name, holder.pid);
    text += fmt::format("{} {} {}", i == 0 ? ";" : ",", who, text::bytes(holder.bytes));
  }
  if (parts.shared_holders.size() > kMax) text += fmt::format(", {} more", parts.shared_holders.size() - kMax);
  if (!parts.shared_detail.empty()) text += "; " + parts.shared_detail;
  add("/dev/shm", text::bytes(parts.shared_total), text);
}

template <typename Add>
void add_children(const analyzer::Totals& totals, const Add& add) {
  if (!totals.children_known) {
    return add("children", "-", "not known: this kernel does not list them, and looking at each process took too long");
  }
  if (totals.children == 0) return;
  const std::string of = totals.children == 1 ? "1 child process" : text::count(totals.children) + " child processes";
  if (totals.children_private_bytes > 0) {
    add("children", text::bytes(totals.children_private_bytes), "private memory of " + of);
  } else {
    add("children", "-", fmt::format("private memory of {} not recorded: not measured in time, or not to be read", of));
  }
}

std::string memory_table(const Dump& dump, const Terminal& terminal) {
  const analyzer::Totals& totals = dump.totals;
  text::Table table({{.title = ""}, {.title = "", .align = Align::right}, {.title = "", .least = 12}});
  auto add = [&](const char* name, const std::string& value, const std::string& remark = "") {
    if (!value.empty()) table.row({name, value, remark});
  };
  auto peak = [](uint64_t value) { return value == 0 ? "" : fmt::format("peak {}", text::bytes(value)); };
  add("resident", some_bytes(totals.resident_bytes), peak(totals.resident_peak_bytes));
  add_malloc(totals, add);
  add_process_parts(dump.process_parts, add);
  add_shared_memory(dump, add);
  add_children(totals, add);
  add("cgroup", some_bytes(totals.cgroup_current),
      totals.cgroup_limit == 0 ? "no limit known" : "limit " + text::bytes(totals.cgroup_limit));
  for (const analyzer::DeviceMemory& memory : dump.device_memory) device_rows(memory, add);
  add("machine", some_bytes(totals.machine_total), some_bytes(totals.machine_available) + " available");
  add("profiler", some_bytes(totals.profiler_bytes), "used by tensorscope");
  if (totals.phase1_ns > 0) {
    add("dump took", text::duration(totals.phase1_ns),
        fmt::format("recording threads paused for at most {}", text::duration(totals.stopped_ns)));
  }
  return table.text(terminal, false);
}

struct InfoOptions {
  std::string dump;
  analyzer::SymbolOptions symbols;
};

int info(const InfoOptions& options, Invocation& invocation) {
  const Dump dump = analyzer::read_dump_or_moment(options.dump);
  const Terminal& terminal = invocation.terminal;
  auto title = [&](const char* text) { return "\n" + terminal.styled(Style::bold, text) + "\n"; };
  std::string& out = invocation.out;
  out += terminal.styled(Style::bold, text::clean(dump.path)) +
         (dump.complete ? ": complete dump\n" : ": incomplete dump (see the messages below)\n");
  out += process_table(dump, terminal);
  out += title("coverage") + coverage_table(dump, terminal);
  out += title("contents") + contents_table(dump, terminal);
  analyzer::Symbols symbols(dump, options.symbols);
  if (options.symbols.native) out += title("symbols") + symbols_text(symbols, terminal);
  out += title("memory") + memory_table(dump, terminal);
  if (!dump.process.options.empty()) {
    text::Table table({{.title = ""}, {.title = "", .least = 12}});
    for (const auto& [name, value] : dump.process.options) table.row({name, value.empty() ? "(not set)" : value});
    out += title("options") + table.text(terminal, false);
  }
  return finish(invocation, dump);
}

}  // namespace

void add_info(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "info", "what a dump contains, what was not recorded and why", info);
  verb->add_option("DUMP", options->dump, "the dump file")->required()->type_name("");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Example:\n"
      "  tensorscope info train.4242.1.tscope\n"
      "\n"
      "Look here first if a report shows less than expected.");
}

}  // namespace tensorscope::cli
