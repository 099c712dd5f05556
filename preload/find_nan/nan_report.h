// SPDX-License-Identifier: Apache-2.0
// What is known of the operation that made the first NaN or infinity, and its lines on standard error.
//
// Context: the thread that found it, no lock held. write_finding() allocates no memory but for demangling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/capture.h"
#include "tensor_values/statistics.h"
#include "values_generated.h"

namespace tensorscope::find_nan {

enum class Cause : uint8_t {
  computed,    // from finite inputs
  argument,    // the program gave NaN or an infinity as a number
  deliberate,  // from infinities that the program put there: a softmax of a masked row
  outside,     // an input held it, and no operation has made it: data, a compiled kernel, numpy
  device_result,
  device_gradient,  // found on a device, where operations are not checked one by one
};

enum class Phase : uint8_t { unknown, forward, backward, optimizer };

struct TensorFacts {
  static constexpr int kMaxDims = 8;
  int64_t sizes[kMaxDims] = {};
  int ndim = 0;
  int dtype = 0;
  int position = 0;          // of the argument or result, from 0
  bool overwritten = false;  // by this operation; its values are the new ones
  bool known = false;        // statistics are
  tensor_values::Statistics statistics;
};

struct Finding {
  static constexpr int kMaxOutputs = 3, kMaxInputs = 6, kMaxNumbers = 4;
  Cause cause = Cause::computed;
  Phase phase = Phase::unknown;
  bool nan = false;   // else infinities alone
  bool held = false;  // said later than it was found, since the program scales its loss or might
  uint32_t step = 0;
  char operation[96] = "";  // "aten::log"
  char outer[96] = "";      // which called it, "": the program did
  char node[96] = "";       // class of the autograd node that runs
  char thread[20] = "";     // where it is not the main thread
  TensorFacts outputs[kMaxOutputs], inputs[kMaxInputs];
  int output_count = 0, input_count = 0, more_inputs = 0;
  double numbers[kMaxNumbers] = {};
  int number_positions[kMaxNumbers] = {};
  int number_count = 0;
  stacks::Stack stack;    // where it happened
  stacks::Stack forward;  // where the node was made
  char place[256] = "";   // "train.py:57 Model.forward"
  char forward_place[256] = "";
  uint64_t module = 0, forward_module = 0;  // the innermost nn.Module whose call runs
  char module_path[192] = "", module_class[96] = "", parameter[96] = "";
};

// Fills place, module and phase from the stacks.
void explain_stacks(Finding& finding);

struct FindingText {
  char text[8192] = "";
  size_t size = 0;
  __attribute__((format(printf, 2, 3))) void add(const char* format, ...);
};

void write_finding(const Finding& finding, FindingText& out);

// The same as the payload of a FIND chunk (values.fbs). Context: run_or_abandon_on_oom().
void write_finding_chunk(const Finding& finding, uint64_t time_ns, flatbuffers::FlatBufferBuilder& builder);

}  // namespace tensorscope::find_nan
