// SPDX-License-Identifier: Apache-2.0
#include "find_nan/nan_report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dump/chunk.h"
#include "dump/places.h"
#include "stacks/python/python_stack.h"
#include "support/copy_text.h"
#include "support/options.h"
#include "support/private_descriptor_table.h"
#include "support/process_info.h"
#include "tensorscope/rules/dtypes.h"
#include "tensorscope/rules/user_code.h"
#include "tensorscope/rules/utf8.h"
#include "torch/metadata/safe_reads.h"
#include "torch/torch_package.h"
#include "torch_events/steps.h"
#include "values_file/value_batch.h"

namespace tensorscope::find_nan {

namespace {

using tensor_values::Statistics;
using torch_events::current_step;

constexpr int kMaxFramesShown = 12;
constexpr size_t kWidestSource = 72;

const char* dtype_text(int dtype) {
  const char* const name = rules::dtype_name(dtype);
  return *name ? name : "other dtype";
}

struct SourceLine {
  char text[kWidestSource + 4] = "";
};

// Reads the file up to the line. Returns how much of the line there is.
size_t read_line(const char* path, int32_t wanted, char* line, size_t most) {
  constexpr size_t kLongestFile = size_t{8} << 20;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return 0;
  struct stat about;
  char buffer[4096];
  size_t length = 0, total = 0;
  int32_t number = 1;
  bool done = fstat(file, &about) != 0 || !S_ISREG(about.st_mode);
  while (!done) {
    const ssize_t size = read(file, buffer, sizeof buffer);
    if (size <= 0 || (total += size_t(size)) > kLongestFile) break;
    for (ssize_t i = 0; i < size && !done; ++i) {
      if (buffer[i] == '\n') {
        done = number++ == wanted;
      } else if (number == wanted && length < most) {
        line[length++] = buffer[i];
      }
    }
  }
  close(file);
  return length;
}

// The interpreter has read the file as well.
SourceLine source_line(const char* path, int32_t wanted) {
  SourceLine out;
  if (path == nullptr || path[0] != '/' || wanted <= 0) return out;
  char line[512];
  size_t length = 0;
  with_private_descriptors([&] { length = read_line(path, wanted, line, sizeof line); });
  std::string_view text(line, length);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && uint8_t(text.back()) <= ' ') text.remove_suffix(1);
  const bool cut = text.size() > kWidestSource;
  text = text_beginning(text, kWidestSource);
  for (size_t i = 0; i < text.size(); ++i) out.text[i] = uint8_t(text[i]) < ' ' ? ' ' : text[i];
  if (cut) memcpy(out.text + text.size(), "...", 4);
  return out;
}

stacks::PythonCode code_of(StackId frame) { return stacks::python_code(stacks::python_frame(frame).code); }

live::SiteCounters counters_of(const stacks::Stack& stack) {
  live::SiteCounters counters = {};
  counters.native = stack.native;
  counters.python = stack.python;
  return counters;
}

void write_place_of(const stacks::Stack& stack, char (&out)[256]) {
  static_assert(sizeof out == dump::kPlaceBytes);
  if (stack.native == 0 && stack.python == 0) return;
  dump::write_place(dump::headline(counters_of(stack)), process_info().directory, out);
}

uint64_t innermost_module(StackId leaf) {
  for (StackId id = leaf; id != 0; id = stacks::python_frame(id).parent) {
    if (const uint64_t object = stacks::python_frame(id).module_object; object != 0) return object;
  }
  return 0;
}

// torch.optim: a step is called through a wrapper that Optimizer puts around it.
bool in_optimizer_step(StackId leaf) {
  for (StackId id = leaf; id != 0; id = stacks::python_frame(id).parent) {
    const stacks::PythonCode code = code_of(id);
    if (code.file == nullptr || code.name == nullptr) continue;
    const std::string_view inside = code::in_torch(code.file, torch::torch_package());
    const std::string_view name = code.name;
    if (inside == "optim/optimizer.py" && (name.ends_with("wrapper") || name.ends_with("_use_grad"))) return true;
  }
  return false;
}

// PyTypeObject.tp_name of a release build of CPython (3.8 to 3.14); the module may be gone where it comes from the
// stack of a forward pass that is over.
void write_class(uint64_t object, char (&out)[96]) {
  constexpr uint64_t kType = 8, kName = 24;
  uint64_t type = 0, name = 0, words[12] = {}, addresses[12];
  uint64_t at = object + kType;
  if (object == 0 || !torch::read_words_safely(&at, &type, 1) || type == 0) return;
  at = type + kName;
  if (!torch::read_words_safely(&at, &name, 1) || name == 0) return;
  for (uint64_t i = 0; i < 12; ++i) addresses[i] = name + i * 8;
  if (!torch::read_words_safely(addresses, words, 12)) return;
  char text[97];
  memcpy(text, words, 96);
  text[96] = 0;
  const std::string_view read(text);
  for (const char c : read) {
    if (uint8_t(c) < ' ' || c == 0x7f) return;
  }
  copy_text(read, out);
}

struct NumberText {
  char text[32];
  explicit NumberText(double value) {
    snprintf(text, sizeof text,
             value != value              ? "nan"
             : value == __builtin_inf()  ? "inf"
             : value == -__builtin_inf() ? "-inf"
                                         : "%.4g",
             value);
  }
};

void write_shape(const TensorFacts& tensor, FindingText& out) {
  out.add("%s [", dtype_text(tensor.dtype));
  for (int i = 0; i < std::min(tensor.ndim, TensorFacts::kMaxDims); ++i) {
    out.add("%s%lld", i != 0 ? ", " : "", (long long)tensor.sizes[i]);
  }
  out.add("%s]", tensor.ndim > TensorFacts::kMaxDims ? ", ..." : "");
}

void write_values(const Statistics& s, FindingText& out) {
  const char* separator = "";
  const auto part = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    const double percent = 100 * double(count) / double(s.count);
    out.add("%s%llu of %llu %s (%.*f %%)", separator, (unsigned long long)count, (unsigned long long)s.count, what,
            percent < 10 ? 1 : 0, percent);
    separator = ", ";
  };
  part(s.nan, "NaN");
  part(s.positive_infinity, "inf");
  part(s.negative_infinity, "-inf");
  if (s.finite() == 0) return;
  out.add("%s%s%s to %s", separator, s.finite() == s.count ? "finite, " : "the others ", NumberText(s.minimum).text,
          NumberText(s.maximum).text);
}

// Calls f(place, source line) for the frames outside torch and Python's own library, innermost first; f returns false
// to end it.
template <typename F>
void each_frame(const stacks::Stack& stack, F f) {
  for (StackId id = stack.python; id != 0; id = stacks::python_frame(id).parent) {
    const stacks::PythonCode code = code_of(id);
    const char* file = code.file != nullptr ? code.file : "?";
    const code::Owner owner = code::python_owner(file, torch::torch_package());
    if (owner == code::Owner::torch || owner == code::Owner::system) continue;
    char place[dump::kPlaceBytes];
    dump::write_place({id, 0}, process_info().directory, place);
    if (!f(place, source_line(file, stacks::python_frame(id).line).text)) return;
  }
}

void write_frames(const char* title, const stacks::Stack& stack, FindingText& out) {
  if (stack.python == 0) return;
  out.add("  %s\n", title);
  int shown = 0;
  each_frame(stack, [&](const char* place, const char* source) {
    const bool room = ++shown <= kMaxFramesShown;
    room ? out.add("    %-40s %s\n", place, source) : out.add("    ...\n");
    return room;
  });
}

const char* phase_text(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return ", forward pass";
    case Phase::backward:
      return ", backward pass";
    case Phase::optimizer:
      return ", optimizer step";
    case Phase::unknown:
      break;
  }
  return "";
}

void write_headline(const Finding& finding, FindingText& out) {
  out.add("first %s: %s", finding.nan ? "NaN" : "infinity", finding.operation);
  if (finding.outer[0] != 0) out.add(" (in %s)", finding.outer);
  out.add(", step %u%s", finding.step, phase_text(finding.phase));
}

std::string utf8(std::string_view text) {
  if (dump::Chunk::is_utf8(text.data(), text.size())) return std::string(text);
  return dump::Chunk::as_utf8(text.data(), text.size());
}

}  // namespace

void FindingText::add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(text + size, sizeof text - size, format, arguments);
  va_end(arguments);
  if (written > 0) size = std::min(size + size_t(written), sizeof text - 1);
}

void explain_stacks(Finding& finding) {
  write_place_of(finding.stack, finding.place);
  write_place_of(finding.forward, finding.forward_place);
  if (finding.module == 0) finding.module = innermost_module(finding.stack.python);
  finding.forward_module = innermost_module(finding.forward.python);
  write_class(finding.module != 0 ? finding.module : finding.forward_module, finding.module_class);
  if (finding.phase == Phase::unknown && in_optimizer_step(finding.stack.python)) finding.phase = Phase::optimizer;
  if (finding.phase == Phase::unknown && finding.module != 0) finding.phase = Phase::forward;
}

void write_finding(const Finding& finding, FindingText& out) {
  out.add("tensorscope: ");
  write_headline(finding, out);
  out.add("\n");
  if (finding.place[0] != 0) out.add("  at %s\n", finding.place);
  if (finding.node[0] != 0) {
    out.add("  in the backward of %s", finding.node);
    if (finding.forward_place[0] != 0) out.add(", made by the forward operation at %s", finding.forward_place);
    out.add("\n");
  }
  if (finding.module_path[0] != 0 || finding.module_class[0] != 0) {
    const bool both = finding.module_path[0] != 0 && finding.module_class[0] != 0;
    out.add("  module: %s%s%s%s\n", finding.module_path, both ? " (" : "", finding.module_class, both ? ")" : "");
  }
  if (finding.thread[0] != 0) out.add("  thread: %s\n", finding.thread);
  switch (finding.cause) {
    case Cause::computed:
      out.add("  cause: this operation made it; its inputs are finite\n");
      break;
    case Cause::argument:
      out.add("  cause: the program gave this operation a number that is not finite\n");
      break;
    case Cause::deliberate:
      out.add("  cause: this operation made it from infinities or NaN that the program put into its input (a mask)\n");
      break;
    case Cause::outside:
      out.add(
          "  cause: came in with an input; no operation of torch has made it (data, numpy, compiled or custom code)\n");
      break;
    case Cause::device_result:
      out.add("  cause: made in this module; on devices only what modules return is checked, and gradients\n");
      break;
    case Cause::device_gradient:
      out.add("  parameter: %s\n", finding.parameter);
      out.add("  cause: made in this backward pass; on devices only what modules return is checked, and gradients\n");
      break;
  }
  for (int i = 0; i < finding.output_count; ++i) {
    const TensorFacts& tensor = finding.outputs[i];
    out.add("  result %d: ", tensor.position);
    write_shape(tensor, out);
    out.add(": ");
    write_values(tensor.statistics, out);
    out.add("\n");
  }
  for (int i = 0; i < finding.input_count; ++i) {
    const TensorFacts& tensor = finding.inputs[i];
    out.add("  input %d:  ", tensor.position);
    write_shape(tensor, out);
    if (tensor.overwritten) {
      out.add(": finite before, overwritten by the result");
    } else if (tensor.known) {
      out.add(": ");
      write_values(tensor.statistics, out);
    }
    out.add("\n");
  }
  if (finding.more_inputs != 0) out.add("  and %d more inputs\n", finding.more_inputs);
  for (int i = 0; i < finding.number_count; ++i) {
    out.add("  input %d:  %s\n", finding.number_positions[i], NumberText(finding.numbers[i]).text);
  }
  if (finding.held)
    out.add("  reported at the optimizer step: until there a loss scaler could have skipped this step\n");
  write_frames(finding.node[0] != 0 ? "called by, with the backward pass:" : "called by:", finding.stack, out);
  if (finding.node[0] != 0) write_frames("forward operation:", finding.forward, out);
}

void write_finding_chunk(const Finding& finding, uint64_t time_ns, flatbuffers::FlatBufferBuilder& builder) {
  FindingText headline;
  write_headline(finding, headline);
  std::vector<flatbuffers::Offset<format::FoundInput>> inputs;
  for (int i = 0; i < finding.input_count; ++i) {
    const TensorFacts& tensor = finding.inputs[i];
    FindingText text;
    text.add("input %d: ", tensor.position);
    write_shape(tensor, text);
    const format::ValueStatistics statistics = values_file::statistics_row(tensor.statistics);
    const auto offset = builder.CreateString(text.text, text.size);
    inputs.push_back(format::CreateFoundInput(builder, offset, tensor.known ? &statistics : nullptr));
  }
  for (int i = 0; i < finding.number_count; ++i) {
    FindingText text;
    text.add("input %d: %s", finding.number_positions[i], NumberText(finding.numbers[i]).text);
    inputs.push_back(format::CreateFoundInput(builder, builder.CreateString(text.text, text.size), nullptr));
  }
  std::vector<flatbuffers::Offset<flatbuffers::String>> frames;
  each_frame(finding.stack, [&](const char* place, const char* source) {
    const std::string line =
        *source == 0 || options().confidential ? std::string(place) : std::string(place) + "  " + source;
    frames.push_back(builder.CreateString(utf8(line)));
    return true;
  });
  const TensorFacts& output = finding.outputs[0];
  const format::ValueStatistics statistics = values_file::statistics_row(output.statistics);
  const auto operation = builder.CreateString(finding.operation);
  const auto module = builder.CreateString(utf8(finding.module_path));
  const auto site = builder.CreateString(utf8(finding.place));
  const auto stack = builder.CreateVector(frames);
  const auto sizes = builder.CreateVector(output.sizes, size_t(std::min(output.ndim, TensorFacts::kMaxDims)));
  const auto found = builder.CreateVector(inputs);
  const auto text = builder.CreateString(headline.text, headline.size);
  format::NonFiniteBuilder table(builder);
  table.add_time_ns(time_ns);
  table.add_step(finding.step);
  table.add_pass(current_step().pass);
  table.add_mode(format::StepMode(current_step().mode));
  table.add_backward(finding.phase == Phase::backward);
  table.add_operation(operation);
  table.add_module_(module);
  table.add_site(site);
  table.add_stack(stack);
  table.add_dtype(int8_t(output.dtype));
  table.add_sizes(sizes);
  if (output.known) table.add_statistics(&statistics);
  table.add_inputs(found);
  table.add_headline(text);
  builder.FinishSizePrefixed(table.Finish());
}

}  // namespace tensorscope::find_nan
