// SPDX-License-Identifier: Apache-2.0
#include "hooks/features.h"

#include "collector/features.h"
#include "collector/history_seconds.h"
#include "dump/process_chunks.h"
#include "python/bridge.h"
#include "recording/recording.h"
#include "stacks/capture.h"
#include "tensorscope/rules/request_name.h"
#include "torch_events/steps.h"
#include "values_file/value_store.h"
#include "values_file/values_switch.h"
#include "watch/watch.h"

namespace tensorscope::hooks {

namespace {

using collector::Feature;

constexpr Feature kStacks = {
    .stop_all = [] { stacks::stop_capturing(StoppedBy::all); },
    // `start` is for stacks that were stopped alone, too.
    .start_all =
        [] {
          stacks::start_capturing(StoppedBy::own_switch);
          stacks::start_capturing(StoppedBy::all);
        },
    .commands = {{rules::kRequestStop, [] { stacks::stop_capturing(); }}},
};

constexpr Feature kInterpreter = {
    .begin = [] { python::attach(); },
    .look_for_torch = [] { python::attach(); },
};

// Attaching to the interpreter is looking for these, too.
constexpr Feature kModuleOutputs = {.waits_for_torch = python::waits_for_torch_nn};

constexpr Feature kValues = {
    .flush = values_file::flush,
    .flush_interval_ms = values_file::flush_interval_ms,
    .stop_all = [] { values_file::stop_values(StoppedBy::all); },
    .start_all = [] { values_file::start_values(StoppedBy::all); },
    .commands = {{rules::kRequestStopValues, [] { values_file::stop_values(); }},
                 {rules::kRequestStartValues, [] { values_file::start_values(); }, true}},
};

constexpr Feature kSteps = {.describe = [](dump::DumpFacts& facts) { facts.step = torch_events::counted_steps(); }};

constexpr Feature kHistory = {.look = collector::look_for_history};

constexpr Feature kWatch = {
    .waits_for_torch = watch::waits_for_torch,
    .look_for_torch = watch::ask_by_gil_thread,
};

constexpr Feature kRecording = {
    .flush = recording::flush,
    .flush_interval_ms = recording::flush_interval_ms,
    .before_dump = recording::flush_now,
    .stop_all = recording::hold,
    .start_all = recording::go_on,
    .after_fork_in_child = recording::after_fork_in_child,
    .commands = {{rules::kRequestRecord, recording::switch_on, true, recording::is_on},
                 {rules::kRequestNoRecord, recording::switch_off}},
};

}  // namespace

void add_features() {
  for (const Feature* each :
       {&kStacks, &kInterpreter, &kModuleOutputs, &kRecording, &kValues, &kSteps, &kWatch, &kHistory})
    collector::add_feature(*each);
}

}  // namespace tensorscope::hooks
