// SPDX-License-Identifier: Apache-2.0
#include "find_nan/finding_description.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "live/node_table.h"
#include "live/site_table.h"
#include "oom/unqualified.h"
#include "python/bridge.h"
#include "python/interpreter.h"
#include "support/clock.h"
#include "support/copy_text.h"
#include "support/message.h"
#include "support/options.h"
#include "tensor_values/element_numbers.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/shared_object_map.h"
#include "values_file/value_store.h"

namespace tensorscope::find_nan {

namespace {

using tensor_values::Readable;
using tensor_values::TensorView;

constinit FindingText g_text;

void fill_tensor(const TensorView& view, int position, bool with_values, TensorFacts& out) {
  out = {};
  out.ndim = view.ndim;
  for (int i = 0; i < std::min(view.ndim, TensorFacts::kMaxDims); ++i) out.sizes[i] = view.sizes[i];
  out.dtype = view.dtype;
  out.position = position;
  if (with_values) out.known = tensor_values::statistics_of(view, out.statistics);
}

void write_node_class(const void* node, char (&out)[96]) {
  static torch::LoadedClasses* loaded = nullptr;
  if (!loaded) loaded = torch::read_loaded_classes().release();
  if (!loaded) return;
  const char* mangled = loaded->classes.of(node);
  const std::string_view name = oom::unqualified(mangled);
  copy_text(name == "PyNode" ? std::string_view("a torch.autograd.Function") : name, out);
}

// Names of modules are in Python; this thread does not hold the GIL while an operation runs, or lends it.
void name_module(Finding& finding) {
  constexpr unsigned kWaitMs = 1000, kHoldMs = 3000;
  const uint64_t module = finding.module != 0 ? finding.module : finding.forward_module;
  if (module == 0 || !options().names || !python::interpreter_alive()) return;
  python::LookCosts costs = python::LookCosts::allowed();
  costs.wait_ms = std::min(costs.wait_ms, kWaitMs);
  costs.hold_ms = std::min(costs.hold_ms, kHoldMs);
  const python::ProgramFacts found = python::look_at_program(costs, {});
  for (const python::ModuleName& name : found.names.modules) {
    if (name.object != module) continue;
    copy_text(name.path, finding.module_path);
    copy_text(name.class_name, finding.module_class);
  }
}

}  // namespace

void describe(const BadOperation& of, Finding& out) {
  const auto& [thread, frame, bad, cause, node, step] = of;
  out = {};
  out.cause = cause;
  out.step = step;
  copy_text(frame.name, out.operation);
  if (thread.depth > 0 && thread.depth <= OperationThread::kMaxDepth && &frame != &thread.frames[0]) {
    copy_text(thread.frames[0].name, out.outer);
  }
  for (const OperationResult* result : bad.first(std::min(bad.size(), size_t{Finding::kMaxOutputs}))) {
    TensorFacts& tensor = out.outputs[out.output_count++];
    fill_tensor(result->view, result->position, true, tensor);
    out.nan = out.nan || tensor.statistics.nan != 0;
  }
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const OperationArgument& argument = thread.arguments[i];
    if (argument.gone) continue;
    if (argument.is_number()) {
      if (out.number_count == Finding::kMaxNumbers) continue;
      out.numbers[out.number_count] = argument.number;
      out.number_positions[out.number_count++] = argument.position;
      continue;
    }
    TensorView view;
    const Readable readable = tensor_values::view_tensor(argument.impl, view);
    if (readable != Readable::yes && readable != Readable::device) continue;
    if (out.input_count == Finding::kMaxInputs) {
      ++out.more_inputs;
      continue;
    }
    TensorFacts& tensor = out.inputs[out.input_count++];
    const bool overwritten = std::any_of(bad.begin(), bad.end(),
                                         [&](const OperationResult* result) { return result->impl == argument.impl; });
    fill_tensor(view, argument.position, readable == Readable::yes && !overwritten, tensor);
    tensor.overwritten = overwritten;
  }
  out.phase = node != nullptr ? Phase::backward : Phase::unknown;
  out.stack = stacks::capture_in_any_case();
  if (node != nullptr) {
    write_node_class(node, out.node);
    if (const SiteId site = live::g_nodes.site_at(node); site != 0) out.forward = live::g_sites.stack_of(site);
  } else {
    for (const OperationResult* result : bad) {
      const bool overwrites = result->overwrites != Overwrites::nothing;
      if (overwrites && is_leaf_with_gradient(result->impl)) out.phase = Phase::optimizer;
      if (!overwrites && g_nan_functions.requires_grad && g_nan_functions.requires_grad(result->impl)) {
        out.phase = Phase::forward;
      }
    }
  }
  if (syscall(SYS_gettid) != getpid()) prctl(PR_GET_NAME, out.thread, 0, 0, 0);
}

void report_finding(Finding& finding) {
  explain_stacks(finding);
  name_module(finding);
  g_text.size = 0;
  write_finding(finding, g_text);
  write_standard_error(g_text.text, g_text.size);
  flatbuffers::FlatBufferBuilder builder(4096);
  write_finding_chunk(finding, monotonic_ns(), builder);
  values_file::add_finding(builder.GetBufferPointer(), builder.GetSize());
}

}  // namespace tensorscope::find_nan
