// SPDX-License-Identifier: Apache-2.0
// Tensors of torch as bytes: objects with torch's member order and the run-time type of a class of the same name.
// Covers: preload/torch/metadata/{tensor_layout,torch_functions}.cc
#include "torch/metadata/metadata.h"

#include <gtest/gtest.h>
#include <string.h>

#include <memory>
#include <vector>

#include "dump_generated.h"
#include "support/coverage.h"

namespace c10 {
struct TensorImpl {
  virtual ~TensorImpl() = default;
};
struct StorageImpl {
  virtual ~StorageImpl() = default;
};
struct UndefinedTensorImpl : TensorImpl {};
}  // namespace c10
namespace at {
struct SparseTensorImpl : c10::TensorImpl {};
}  // namespace at
namespace program {
struct OwnTensorImpl : c10::TensorImpl {};
}  // namespace program

namespace tensorscope::torch {
namespace {

using format::TensorFlag;
using format::TensorKnown;

template <typename Class>
uint64_t vtable_of() {
  static Class object;
  uint64_t word;
  memcpy(&word, &object, sizeof(word));
  return word;
}

struct Shape {  // of a torch: where its fields lie
  int base, sizes;
  bool engaged_first;
};
constexpr Shape kTorch13 = {24, 24 + 32 + 16, true};   // 1.13
constexpr Shape kTorch26 = {16, 16 + 32 + 16, false};  // 2.6
constexpr Shape kTorch213 = {16, 16 + 32 + 8, false};  // 2.13
constexpr uint64_t kDenseKey = uint64_t{1} << 3, kPythonKey = uint64_t{1} << 5, kSparseKey = uint64_t{1} << 6;

class FakeTensor {
 public:
  FakeTensor(Shape shape, std::vector<int64_t> sizes, std::vector<int64_t> strides, uint64_t vtable)
      : shape_(shape), sizes_(std::move(sizes)), outside_(sizes_) {
    put<uint64_t>(0, vtable);
    outside_.insert(outside_.end(), strides.begin(), strides.end());
    put<uint64_t>(shape.sizes, sizes_.size());
    int64_t numel = 1;
    for (size_t i = 0; i < sizes_.size(); ++i) numel *= sizes_[i];
    if (sizes_.size() > 5) {
      put<const int64_t*>(shape.sizes + 8, outside_.data());
    } else {
      for (size_t i = 0; i < sizes_.size(); ++i) put<int64_t>(shape.sizes + 8 + 8 * int(i), sizes_[i]);
      for (size_t i = 0; i < strides.size(); ++i) put<int64_t>(shape.sizes + 48 + 8 * int(i), strides[i]);
    }
    put<int64_t>(shape.sizes + 96, numel);
    put<uint16_t>(shape.sizes + 104, 6);        // float32
    const int8_t std_optional[3] = {0, -1, 1};  // type, index, engaged
    const int8_t own_optional[3] = {1, 0, -1};
    memcpy(bytes_ + shape.sizes + 106, shape.engaged_first ? own_optional : std_optional, 3);
    put<uint64_t>(shape.sizes + 112, kDenseKey | 1);
  }
  void set_storage(uint64_t data, int64_t nbytes) {
    memset(storage_, 0, sizeof(storage_));
    put_to<uint64_t>(storage_, 0, vtable_of<c10::StorageImpl>());
    put_to<uint64_t>(storage_, shape_.base, data);
    put_to<int64_t>(storage_, shape_.base + 32, nbytes);
    put<const void*>(shape_.base, storage_);
  }
  template <typename T>
  void put(int offset, T value) {
    put_to(bytes_, offset, value);
  }
  Shape shape() const { return shape_; }
  const void* impl() const { return bytes_; }

 private:
  template <typename T>
  static void put_to(unsigned char* bytes, int offset, T value) {
    memcpy(bytes + offset, &value, sizeof(value));
  }
  Shape shape_;
  std::vector<int64_t> sizes_;
  std::vector<int64_t> outside_;
  alignas(8) unsigned char bytes_[256] = {};
  alignas(8) unsigned char storage_[128] = {};
};

std::unique_ptr<FakeTensor> plain(Shape shape, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  auto tensor = std::make_unique<FakeTensor>(shape, std::move(sizes), std::move(strides), vtable_of<c10::TensorImpl>());
  tensor->set_storage(0x7f0000001000, 4096);
  return tensor;
}

Shape g_shape;
bool g_shim_lies = false;

template <typename T>
T get(const void* impl, int offset) {
  T value;
  memcpy(&value, static_cast<const char*>(impl) + offset, sizeof(value));
  return value;
}
const void* const g_undefined = "undefined";

TorchFunctions fake_torch(bool with_shim) {
  TorchFunctions torch;
  torch.has_storage = [](const void* impl) { return get<uint64_t>(impl, g_shape.base) != 0; };
  torch.requires_grad = [](const void* impl) { return get<uint64_t>(impl, g_shape.base + 8) != 0; };
  torch.grad = [](const void*) { return &g_undefined; };
  torch.undefined_tensor = g_undefined;
  torch.dispatch_key_name = [](uint16_t key) {
    return key == 1 ? "Dense" : key == 3 ? "Python" : key == 4 ? "Sparse" : "";
  };
  torch.backend_name = [](uint8_t backend) { return backend <= 3 ? "SomeBit" : "UNKNOWN_BACKEND_BIT"; };
  if (!with_shim) return torch;
  torch.dim = [](TensorHandle h, int64_t* out) { return *out = get<int64_t>(*h, g_shape.sizes), 0; };
  torch.numel = [](TensorHandle h, int64_t* out) {
    return *out = get<int64_t>(*h, g_shape.sizes + 96) + g_shim_lies, 0;
  };
  torch.sizes = [](TensorHandle h, const int64_t** out) {
    *out = reinterpret_cast<const int64_t*>(static_cast<const char*>(*h) + g_shape.sizes + 8);
    return 0;
  };
  torch.strides = [](TensorHandle h, const int64_t** out) {
    *out = reinterpret_cast<const int64_t*>(static_cast<const char*>(*h) + g_shape.sizes + 48);
    return 0;
  };
  torch.storage_offset = [](TensorHandle h, int64_t* out) { return *out = get<int64_t>(*h, g_shape.sizes + 88), 0; };
  torch.storage_size = [](TensorHandle, int64_t* out) { return *out = 4096, 0; };
  torch.dtype = [](TensorHandle, int32_t* out) { return *out = 6, 0; };
  return torch;
}

class MetadataTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(objects_.refresh());
    classes_ = std::make_unique<ObjectClasses>();
    classes_->start(&objects_);
    g_shim_lies = false;
  }
  // The layout that a torch of this shape is found to have.
  TensorLayout find(Shape shape, bool with_shim = true) {
    g_shape = shape;
    torch_ = fake_torch(with_shim);
    LayoutFinder finder(torch_, *classes_);
    for (const auto& tensor : {plain(shape, {3, 5}, {5, 1}), plain(shape, {}, {}), plain(shape, {7}, {2})}) {
      finder.add(tensor->impl());
    }
    TensorLayout layout;
    why_ = finder.result(layout).why();
    return layout;
  }
  Metadata read(const FakeTensor& tensor, bool with_shim = true, bool released = false) {
    MetadataReader reader;
    reader.start_with(&objects_, fake_torch(with_shim));
    reader.use_layout(find(tensor.shape(), with_shim), why_);
    Metadata out;
    reader.read(tensor.impl(), released, out);
    return out;
  }
  static bool known(const Metadata& m, TensorKnown what) { return m.known & uint32_t(what); }
  static bool flag(const Metadata& m, TensorFlag what) { return m.flags & uint32_t(what); }

  SharedObjectMap objects_;
  std::unique_ptr<ObjectClasses> classes_;
  TorchFunctions torch_;
  const char* why_ = "";
};

TEST_F(MetadataTest, FindsTheLayoutOfEachTorch) {
  for (const Shape shape : {kTorch13, kTorch26, kTorch213}) {
    for (const bool with_shim : {true, false}) {
      const TensorLayout layout = find(shape, with_shim);
      EXPECT_EQ(layout.base, shape.base);
      EXPECT_EQ(layout.sizes, shape.sizes) << why_;
      EXPECT_EQ(layout.engaged_first, shape.engaged_first);
      EXPECT_EQ(layout.python_keys, kPythonKey);
      EXPECT_EQ(layout.sparse_keys, kSparseKey);
    }
  }
}

TEST_F(MetadataTest, AnUnknownLayoutIsNotGuessed) {
  EXPECT_FALSE(find({16, 16 + 32 + 24, false}).known());
  EXPECT_STRNE(why_, "");
}

TEST_F(MetadataTest, ALayoutThatTheShimDeniesIsNotUsed) {
  g_shim_lies = true;
  EXPECT_FALSE(find(kTorch213).known());
  EXPECT_STREQ(why_, "the C shim and the fields of tensors disagree");
}

TEST_F(MetadataTest, NoTensorsTellNothing) {
  torch_ = fake_torch(true);
  LayoutFinder finder(torch_, *classes_);
  TensorLayout layout;
  EXPECT_FALSE(finder.result(layout));
  EXPECT_FALSE(layout.known());
}

TEST_F(MetadataTest, ReadsAPlainTensor) {
  for (const Shape shape : {kTorch13, kTorch26, kTorch213}) {
    auto tensor = plain(shape, {3, 5}, {10, 2});
    tensor->put<int64_t>(shape.sizes + 88, 4);
    const Metadata m = read(*tensor);
    EXPECT_STREQ(m.class_name, "N3c1010TensorImplE");
    EXPECT_EQ(m.known, uint32_t(TensorKnown::ANY));
    ASSERT_EQ(m.ndim, 2);
    EXPECT_EQ(m.sizes[1], 5);
    EXPECT_EQ(m.strides[0], 10);
    EXPECT_EQ(m.numel, 15);
    EXPECT_EQ(m.storage_offset, 4);
    EXPECT_EQ(m.storage_base, 0x7f0000001000u);
    EXPECT_EQ(m.storage_nbytes, 4096u);
    EXPECT_EQ(m.dtype, 6);
    EXPECT_EQ(m.itemsize, 4);
    EXPECT_EQ(m.device_type, 0);
    EXPECT_EQ(m.device_index, -1);
    EXPECT_EQ(m.layout, 0);
    EXPECT_TRUE(flag(m, TensorFlag::leaf));
    EXPECT_FALSE(flag(m, TensorFlag::requires_grad));
    EXPECT_FALSE(flag(m, TensorFlag::exotic));
    EXPECT_STREQ(m.note, "");
  }
}

TEST_F(MetadataTest, ReadsManyDimensions) {
  auto tensor = plain(kTorch213, {1, 2, 1, 2, 1, 3}, {12, 6, 6, 3, 3, 1});
  const Metadata m = read(*tensor);
  ASSERT_EQ(m.ndim, 6);
  EXPECT_EQ(m.sizes[5], 3);
  EXPECT_EQ(m.strides[0], 12);
  EXPECT_EQ(m.strides[5], 1);
}

TEST_F(MetadataTest, AReleasedTensorHasNoStorage) {
  auto tensor = plain(kTorch213, {3}, {1});
  const Metadata m = read(*tensor, true, true);
  EXPECT_TRUE(known(m, TensorKnown::storage));
  EXPECT_EQ(m.storage_base, 0u);
  EXPECT_TRUE(flag(m, TensorFlag::released));
}

TEST_F(MetadataTest, ASparseTensorHasSizesButNoStrides) {
  FakeTensor tensor(kTorch213, {4, 4}, {4, 1}, vtable_of<at::SparseTensorImpl>());
  const Metadata m = read(tensor);
  EXPECT_TRUE(known(m, TensorKnown::sizes));
  EXPECT_FALSE(known(m, TensorKnown::strides));
  EXPECT_EQ(m.layout, 1);
  EXPECT_TRUE(flag(m, TensorFlag::exotic));
  EXPECT_STRNE(m.note, "");
}

TEST_F(MetadataTest, ASubclassSaysSo) {
  auto tensor = plain(kTorch213, {3}, {1});
  tensor->put<uint64_t>(kTorch213.sizes + 112, kDenseKey | kPythonKey | 1);
  const Metadata m = read(*tensor);
  EXPECT_TRUE(flag(m, TensorFlag::exotic));
  EXPECT_TRUE(known(m, TensorKnown::sizes));
  EXPECT_FALSE(known(m, TensorKnown::layout));
  EXPECT_STRNE(m.note, "");
}

TEST_F(MetadataTest, SymbolicSizesAreNotKnown) {
  auto tensor = plain(kTorch213, {3}, {1});
  const uint64_t extra_meta[1] = {0x1234};  // its first word points at the symbols
  tensor->put<const void*>(kTorch213.base + 16, extra_meta);
  Metadata m = read(*tensor);
  EXPECT_FALSE(known(m, TensorKnown::sizes));
  EXPECT_FALSE(known(m, TensorKnown::strides));
  EXPECT_TRUE(known(m, TensorKnown::dtype));
  const uint64_t other_meta[1] = {0};
  tensor->put<const void*>(kTorch213.base + 16, other_meta);
  m = read(*tensor);
  EXPECT_TRUE(known(m, TensorKnown::sizes));
}

TEST_F(MetadataTest, ATornReadIsNotShown) {
  auto tensor = plain(kTorch213, {3, 5}, {5, 1});
  tensor->put<int64_t>(kTorch213.sizes + 96, 16);
  EXPECT_FALSE(known(read(*tensor), TensorKnown::sizes));
  tensor->put<uint64_t>(kTorch213.sizes, 1000);
  EXPECT_FALSE(known(read(*tensor), TensorKnown::sizes));
}

TEST_F(MetadataTest, SymbolicStorageSizeIsNotKnown) {
  auto tensor = plain(kTorch213, {3}, {1});
  tensor->set_storage(0x7f0000001000, -1);
  EXPECT_FALSE(known(read(*tensor), TensorKnown::storage));
}

TEST_F(MetadataTest, AForeignClassGivesItsNameOnly) {
  FakeTensor tensor(kTorch213, {4}, {1}, vtable_of<program::OwnTensorImpl>());
  const Metadata m = read(tensor);
  EXPECT_STREQ(m.class_name, "N7program13OwnTensorImplE");
  EXPECT_FALSE(known(m, TensorKnown::sizes));
  EXPECT_FALSE(known(m, TensorKnown::storage));
  EXPECT_TRUE(known(m, TensorKnown::requires_grad));
  EXPECT_STRNE(m.note, "");
}

TEST_F(MetadataTest, TheUndefinedTensorIsNotAsked) {
  FakeTensor tensor(kTorch213, {0}, {1}, vtable_of<c10::UndefinedTensorImpl>());
  const Metadata m = read(tensor);
  EXPECT_EQ(m.known, 0u);
  EXPECT_STREQ(m.class_name, "N3c1019UndefinedTensorImplE");
}

TEST_F(MetadataTest, CoverageSaysWhereTheLayoutIsNotKnown) {
  MetadataReader reader;
  reader.start_with(&objects_, fake_torch(true));
  reader.use_layout({}, "some reason");
  EXPECT_EQ(coverage(Subject::metadata).seen.load(), Seen::partly);
  EXPECT_STREQ(coverage(Subject::metadata).detail.load(), "some reason");
  auto tensor = plain(kTorch213, {3}, {1});
  Metadata m;
  reader.read(tensor->impl(), false, m);
  EXPECT_STREQ(m.class_name, "N3c1010TensorImplE");
  EXPECT_FALSE(known(m, TensorKnown::sizes));
}

TEST(ElementSize, KnowsTheTypes) {
  EXPECT_EQ(element_size(0), 1);    // uint8
  EXPECT_EQ(element_size(6), 4);    // float32
  EXPECT_EQ(element_size(10), 16);  // complex128
  EXPECT_EQ(element_size(15), 2);   // bfloat16
  EXPECT_EQ(element_size(29), 8);   // uint64
  EXPECT_EQ(element_size(45), 1);   // float4_e2m1fn_x2
  EXPECT_EQ(element_size(46), 0);
  EXPECT_EQ(element_size(-1), 0);
}

}  // namespace
}  // namespace tensorscope::torch
