// What a live tensor is: read at dump time, from outside, through torch's stable C shim and a few exported c10 functions;
// never a strong reference, never a Python call. Kinds whose metadata Python computes, or that have no storage, give
// what can be had and a sentence why the rest cannot (shared/torch-hooks.md section 7, wheel-facts.md "Metadata").
//
// Context: collector, inside live::look_at_live (the tensor's base is constructed and its destructor is held up).
#pragma once

#include <cstdint>

namespace tensorscope::snapshot {

inline constexpr int kMaxDims = 64;

struct Metadata {
  uint32_t known = 0;           // dump::TensorKnown bits
  uint32_t flags = 0;           // dump::TensorFlag bits
  uint64_t storage_base = 0;
  uint64_t storage_nbytes = 0;
  int64_t storage_offset = 0;
  int64_t numel = 0;
  uint64_t grad = 0;
  uint64_t grad_fn = 0;
  const char* class_name = "";  // mangled RTTI name: lives in the library that defines the class
  const char* grad_fn_name = "";
  const char* note = "";        // literal
  uint16_t itemsize = 0;
  uint8_t ndim = 0;
  int8_t device_type = -1, device_index = -1, dtype = -1, layout = -1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];
};

// Resolves the shim in libtorch_cpu (and c10's functions) once it is loaded; cheap when already done. Says in the coverage
// record what is missing. Context: collector, no lock.
bool start_metadata();

// Fills `out`; never throws, never blocks.
void read_metadata(const void* impl, bool released, Metadata& out);

// "2.13.0" as far as it can be told without Python, "" if not.
const char* torch_version();

}  // namespace tensorscope::snapshot
