// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/tensors.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/decode/decoding.h"
#include "dump/sort_by_serial.h"
#include "dump/sum_guard.h"
#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxDims = 64;  // as at::Tensor itself: TensorImpl::sizes_and_strides with more is no real tensor

// A sparse tensor takes the bytes of its indices and values, however large it would be as a dense one.
void measure_sparse_tensors(Dump& dump) {
  SumGuard bytes;
  for (Tensor& tensor : dump.tensors) {
    if (tensor.is_sparse()) tensor.dense_nbytes = std::exchange(tensor.nbytes, 0);
  }
  for (const TensorPart& row : dump.parts) {
    Tensor& owner = dump.tensors[row.owner];
    const Tensor& part = dump.tensors[row.part];
    ++owner.parts;
    if (owner.is_sparse() && !part.is_sparse() && bytes.admits(part.nbytes)) owner.nbytes += part.nbytes;
  }
}

}  // namespace

void decode_tensors(const format::TensorRows& in, Decoding& state) {
  if (!in.values()) return;
  const size_t dims_size = in.dims() ? in.dims()->size() : 0;
  auto bit = [](format::TensorKnown known) { return uint32_t(known); };
  const size_t rows = in.values()->size();
  make_room(state.dump.tensors, rows);
  make_room(state.tensors.strings, rows);
  make_room(state.tensors.claims, rows);
  const int64_t* all_dims = nullptr;
  if (dims_size != 0) {
    all_dims = state.dump.dims.emplace_back(in.dims()->data(), in.dims()->data() + dims_size).data();
  }
  flatbuffers::uoffset_t number = 0;
  for (const format::Tensor* row : *in.values()) {
    const flatbuffers::uoffset_t at = number++;
    if (row->serial() == 0) {
      state.count("tensors without an id");
      continue;
    }
    Tensor& tensor = state.dump.tensors.emplace_back();
    tensor.serial = row->serial();
    tensor.address = row->address();
    tensor.created_ns = row->created_ns();
    tensor.storage_offset = std::max<int64_t>(row->storage_offset(), 0);
    tensor.numel = std::max<int64_t>(row->numel(), 0);
    tensor.grad = row->grad();
    tensor.grad_fn = row->grad_fn();
    if (in.outputs() != nullptr) tensor.output = at < in.outputs()->size() ? in.outputs()->Get(at) : 0;
    const uint32_t version = in.versions() && at < in.versions()->size() ? in.versions()->Get(at) : 0;
    if (version != 0) tensor.version = version - 1;
    tensor.known = row->known();
    tensor.flags = row->flags();
    tensor.site = row->site();
    tensor.thread = row->thread();
    tensor.itemsize = row->itemsize();
    tensor.device = device_of(row->device_type(), row->device_index());
    tensor.dtype = row->dtype();
    tensor.layout = row->layout();

    const bool sizes = tensor.known & bit(format::TensorKnown::sizes);
    const bool strides = sizes && tensor.known & bit(format::TensorKnown::strides);
    const size_t wanted = size_t(row->ndim()) * (sizes + strides);
    if (row->ndim() > kMaxDims || row->dims() > dims_size || wanted > dims_size - row->dims()) {
      state.count("tensors whose shape is not in the file");
      tensor.known &= ~(bit(format::TensorKnown::sizes) | bit(format::TensorKnown::strides));
    } else if (wanted != 0) {
      const int64_t* dims = all_dims + row->dims();
      tensor.sizes = {dims, row->ndim()};
      if (strides) tensor.strides = {dims + row->ndim(), row->ndim()};
      if (std::any_of(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t size) { return size < 0; })) {
        state.count("tensors of a negative size");
        tensor.sizes = tensor.strides = {};
        tensor.known &= ~(bit(format::TensorKnown::sizes) | bit(format::TensorKnown::strides));
      }
    }
    StorageClaim claim;
    if (tensor.known & bit(format::TensorKnown::storage)) claim = {row->storage_base(), row->storage_nbytes()};
    uint64_t end = 0;
    if (__builtin_add_overflow(claim.base, claim.nbytes, &end)) {
      state.count("storages beyond the end of memory");
      claim.nbytes = 0;
    }
    state.tensors.strings.push_back({row->class_name(), row->grad_fn_name(), row->note()});
    state.tensors.claims.push_back(claim);
  }
  for (size_t i = 0; in.parts() && i < in.parts()->size(); i++) {
    const format::TensorPart* row = in.parts()->Get(flatbuffers::uoffset_t(i));
    state.tensors.parts.emplace_back(row->owner(), row->part());
  }
}

void finish_tensors(Decoding& state) {
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(state.dump.tensors, order)) state.count("tensors listed twice", twice);
  // A name is demangled once, and most tensors have that of the tensor before.
  struct Known {
    std::unordered_map<uint32_t, SharedText> names;
    uint32_t last = UINT32_MAX;
    const SharedText* name = nullptr;
  };
  Known class_names, grad_fn_names, notes;
  auto named = [&](Known& known, uint32_t index, auto make) {
    if (known.name == nullptr || known.last != index) {
      auto [found, fresh] = known.names.try_emplace(index);
      if (fresh) found->second = SharedText(make(state.text(index)));
      known.last = index;
      known.name = &found->second;
    }
    return *known.name;
  };
  std::vector<StorageClaim> claims;
  claims.reserve(order.size());
  SumGuard storages, views;
  for (size_t i = 0; i < order.size(); i++) {
    Tensor& tensor = state.dump.tensors[i];
    const Decoding::TensorStrings& strings = state.tensors.strings[order[i]];
    tensor.class_name = named(class_names, strings.class_name, class_name_of);
    tensor.grad_fn_name = named(grad_fn_names, strings.grad_fn_name,
                                [](const std::string& name) { return last_component(class_name_of(name)); });
    tensor.note = named(notes, strings.note, [](const std::string& note) { return note; });
    state.check_row(tensor.site, tensor.thread, tensor.created_ns);
    // An expanded or meta tensor may span more bytes than there are numbers: then the span says nothing.
    if (__builtin_mul_overflow(uint64_t(tensor.numel), uint64_t(tensor.itemsize), &tensor.nbytes) ||
        !views.admits(tensor.nbytes)) {
      tensor.nbytes = 0;
    }
    StorageClaim claim = state.tensors.claims[order[i]];
    if (!storages.admits(claim.nbytes)) claim.nbytes = 0, state.count("storages of an impossible size");
    claims.push_back(claim);
  }
  state.tensors.claims = std::move(claims);
  state.tensors.by_serial.assign(state.dump.tensors);
}

void finish_tensor_parts(Decoding& state) {
  for (const auto& [owner, part] : state.tensors.parts) {
    const TensorPart row = {state.tensor_with(owner), state.tensor_with(part)};
    if (row.owner != kNone && row.part != kNone) state.dump.parts.push_back(row);
  }
  measure_sparse_tensors(state.dump);
}

}  // namespace tensorscope::analyzer
