// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/foreign/allocator_snapshot.h"

#include <string_view>

#include "python/method.h"
#include "python/objects.h"
#include "support/clock.h"

namespace tensorscope::python::heap_inspector {

namespace {

using devices::AllocatorSnapshot;

constexpr char kUnknownForm[] = "torch's snapshot has an unknown format";

class Reader {
 public:
  Reader(const Gil& gil, AllocatorSnapshot& out) : gil_(gil), out_(out) {}

  // False: it is not what is expected.
  bool read(Object* answer) {
    Object* segments = entry(gil_, answer, "segments");
    if (!segments || !is_a(gil_, segments, gil_->PyList_Type)) return false;
    each_element(gil_, segments, [&](ptrdiff_t, Object* segment) { return ok_ = read_segment(segment); });
    return ok_;
  }

 private:
  uint64_t number(Object* value) {
    if (!is_a(gil_, value, gil_->PyLong_Type)) {
      ok_ = false;
      return 0;
    }
    const long long result = gil_->PyLong_AsLongLong(value);
    if (result == -1) gil_->PyErr_Clear();
    return uint64_t(result);
  }

  uint64_t number_at(Object* sequence, ptrdiff_t wanted) {
    uint64_t result = 0;
    each_element(gil_, sequence, [&](ptrdiff_t i, Object* element) {
      if (i == wanted) result = number(element);
      return i < wanted;
    });
    return result;
  }

  // The keys: torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot, 1.13 to 2.14; older ones lack some.
  bool read_segment(Object* segment) {
    uint64_t device = UINT64_MAX, address = 0, size = 0, allocated = 0, active = 0, requested = 0, stream = 0;
    uint64_t pool_user = 0, pool = 0;
    bool small = false, expandable = false;
    Object* blocks = nullptr;
    each_entry(gil_, segment, [&](Object* key, Object* value) {
      const std::string_view name = text_of(gil_, key);
      if (name == "device") {
        device = number(value);
      } else if (name == "address") {
        address = number(value);
      } else if (name == "total_size") {
        size = number(value);
      } else if (name == "allocated_size") {
        allocated = number(value);
      } else if (name == "active_size") {
        active = number(value);
      } else if (name == "requested_size") {
        requested = number(value);
      } else if (name == "stream") {
        stream = number(value);
      } else if (name == "segment_type") {
        small = text_of(gil_, value) == "small";
      } else if (name == "segment_pool_id") {
        pool_user = number_at(value, 0);
        pool = number_at(value, 1);
      } else if (name == "is_expandable") {
        expandable = is_exactly(value, gil_->PyBool_Type) && gil_->PyObject_IsTrue(value) == 1;
      } else if (name == "blocks") {
        blocks = value;
      }
      return ok_;
    });
    if (!ok_ || device > INT8_MAX || !blocks || !is_a(gil_, blocks, gil_->PyList_Type)) return false;
    devices::DeviceSegments& into = out_.of(int8_t(device));
    const size_t first = into.blocks.size();
    uint64_t next = address;
    each_element(gil_, blocks,
                 [&](ptrdiff_t, Object* block) { return ok_ = ok_ && read_block(block, next, into.blocks); });
    const unsigned flags = (small ? unsigned(format::SegmentFlag::small) : 0) |
                           (expandable ? unsigned(format::SegmentFlag::expandable) : 0);
    into.segments.emplace_back(address, size, allocated, active, requested, stream, pool, pool_user,
                               uint32_t(into.blocks.size() - first), uint8_t(flags));
    return ok_;
  }

  // Blocks follow each other; older versions do not report their addresses. `next`: where this one begins then.
  bool read_block(Object* block, uint64_t& next, std::vector<format::SegmentBlock>& into) {
    uint64_t address = next, size = 0, requested = 0;
    format::BlockState state = format::BlockState::free;
    each_entry(gil_, block, [&](Object* key, Object* value) {
      const std::string_view name = text_of(gil_, key);
      if (name == "address") {
        address = number(value);
      } else if (name == "size") {
        size = number(value);
      } else if (name == "requested_size") {
        requested = number(value);
      } else if (name == "state") {
        const std::string_view text = text_of(gil_, value);
        if (text == "active_allocated") {
          state = format::BlockState::allocated;
        } else if (text.starts_with("active_")) {  // active_pending_free, active_awaiting_free
          state = format::BlockState::pending_free;
        }
      }
      return ok_;
    });
    next = address + size;
    into.emplace_back(address, size, state == format::BlockState::free ? 0 : requested, state);
    return ok_;
  }

  const Gil& gil_;
  AllocatorSnapshot& out_;
  bool ok_ = true;
};

Object* call_for_snapshot(const Gil& gil, Object* function) {
  if (!(gil->PyCFunction_GetFlags(function) & kOneArgument)) {
    return gil->PyObject_CallFunctionObjArgs(function, nullptr);
  }
  // 2.14: the pool (0, 0 is all of them), and no history, which may be large; before that, None or the pool alone.
  const Owned zero(gil, gil->PyLong_FromLongLong(0)), no(gil, gil->PyBool_FromLong(0));
  if (!zero || !no) return nullptr;
  const Owned all(gil, gil->PyTuple_Pack(3, zero.get(), zero.get(), no.get()));
  Object* answer = all ? gil->PyObject_CallFunctionObjArgs(function, all.get(), nullptr) : nullptr;
  if (answer) return answer;
  gil->PyErr_Clear();
  return gil->PyObject_CallFunctionObjArgs(function, gil->_Py_NoneStruct, nullptr);
}

}  // namespace

void ask_allocator(const Gil& gil, AllocatorSnapshot& out) {
  if (Object* backend = builtin_function(gil, "torch._C", "_cuda_getAllocatorBackend")) {
    const Owned name(gil, gil->PyObject_CallFunctionObjArgs(backend, nullptr));
    out.backend = name ? text_of(gil, name.get()) : "";
  }
  if (!out.backend.empty() && out.backend != "native") {
    out.detail = "torch's allocator of this backend has no snapshot";
    return;
  }
  Object* function = builtin_function(gil, "torch._C", "_cuda_memorySnapshot");
  if (!function) {
    out.detail = "this torch has no allocator snapshot function";
    return;
  }
  const Owned answer(gil, call_for_snapshot(gil, function));
  out.looked_ns = monotonic_ns();
  if (!answer) {
    out.detail = "torch refused a snapshot of its allocator";
    return;
  }
  out.complete = Reader(gil, out).read(answer.get());
  if (!out.complete) out.detail = kUnknownForm;
}

}  // namespace tensorscope::python::heap_inspector
