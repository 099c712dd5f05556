// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/process.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "dump/decode/flatbuffer_texts.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

void decode_process(const format::Process& in, Decoding& state) {
  auto str = [&](const flatbuffers::String* text) { return charged(text, state); };
  Process& out = state.dump.process;
  out.pid = in.pid();
  out.parent_pid = in.parent_pid();
  out.forked_from = in.forked_from();
  out.program = str(in.program());
  out.executable = str(in.executable());
  out.working_directory = str(in.working_directory());
  out.host = str(in.host());
  out.run_id = str(in.run_id());
  if (in.command_line()) {
    for (const auto* word : *in.command_line()) out.command_line.push_back(str(word));
  }
  out.start_unix_ns = in.start_unix_ns();
  out.dump_unix_ns = std::max(in.dump_unix_ns(), in.start_unix_ns());
  out.start_ns = in.start_ns();
  out.dump_ns = std::max(in.dump_ns(), in.start_ns());
  out.trigger = int(in.trigger());
  out.trigger_detail = str(in.trigger_detail());
  out.dump_number = in.dump_number();
  out.rank = in.rank();
  out.local_rank = in.local_rank();
  out.world_size = in.world_size();
  out.torch_version = str(in.torch_version());
  out.python_version = str(in.python_version());
  out.tensorscope_version = str(in.tensorscope_version());
  if (in.options()) {
    for (const auto* pair : *in.options()) out.options.emplace_back(str(pair->key()), str(pair->value()));
  }
  out.snapshot_serial = in.snapshot_serial();
  out.fork_serial = in.fork_serial();
  out.attached_ns = in.attached_ns();
  out.earlier_site = in.earlier_site();
  out.earlier_tensors = in.earlier_tensors();
  out.earlier_detail = str(in.earlier_detail());
  out.asked_by_run = str(in.asked_by_run());
  out.asked_by_dump = in.asked_by_dump();
  out.step = std::max<int64_t>(in.step(), -1);
  out.job = str(in.job());
}

void decode_process_groups(const format::ProcessGroups& in, Decoding& state) {
  if (!in.groups()) return;
  for (const format::ProcessGroup* row : *in.groups()) {
    ProcessGroup group;
    group.name = charged(row->name(), state);
    group.mesh_dimension = charged(row->mesh_dimension(), state);
    if (row->ranks()) group.ranks.assign(row->ranks()->begin(), row->ranks()->end());
    const auto negative = [](int32_t rank) { return rank < 0; };
    if (std::any_of(group.ranks.begin(), group.ranks.end(), negative)) {
      state.count("invalid process groups");
    } else {
      state.dump.process_groups.push_back(std::move(group));
    }
  }
}

void decode_steps(const format::Steps& in, Decoding& state) {
  if (!in.ends()) return;
  Steps steps{
      uint8_t(in.source()), in.count(), std::max<uint64_t>(in.every(), 1), {in.ends()->begin(), in.ends()->end()}};
  const bool ascending =
      std::adjacent_find(steps.ends.begin(), steps.ends.end(), std::greater_equal<>()) == steps.ends.end();
  if (in.source() > format::StepSource::MAX || in.source() == format::StepSource::none || !ascending ||
      steps.count < steps.ends.size()) {
    return state.count("invalid lists of steps");
  }
  // Before format 1.9 the last step is known where each one is.
  const uint64_t last_mark = steps.ends.empty() ? 0 : steps.ends.back();
  if (in.last_end() >= last_mark) steps.last_end = in.last_end();
  if (steps.last_end == 0 && steps.every == 1) steps.last_end = last_mark;
  state.dump.steps = std::move(steps);
}

void decode_coverage(const format::Coverages& in, Decoding& state) {
  if (!in.values()) return;
  for (const auto* row : *in.values()) {
    state.dump.coverage.push_back(
        {charged(row->subject(), state), int(row->seen()), charged(row->detail(), state), row->missed()});
  }
}

}  // namespace tensorscope::analyzer
