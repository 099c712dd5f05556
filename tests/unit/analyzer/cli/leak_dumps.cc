// SPDX-License-Identifier: Apache-2.0
#include "leak_dumps.h"

#include "sample_dumps.h"
#include "unit/analyzer/leaks/scene.h"

namespace tensorscope::testing {

namespace {

using format::ReferenceRoot;

void keep_loss(Scene& scene, int step, uint32_t forward, uint32_t site) {
  const uint32_t node = scene.node(serial_at(step, 10), kTanh);
  scene.saved(serial_at(step, 20), 64 << 10, forward, node);
  TensorSpec loss = scene.plain(serial_at(step, 30), 1, site);
  loss.grad_fn = scene.builder.graph_address(node);
  loss.grad_fn_name = kTanh;
  const uint64_t serial = scene.add(loss);
  scene.held(serial, "losses[" + std::to_string(step - 1) + "]");
  scene.object(serial);
}

void keep_crop(Scene& scene, int step, uint32_t site) {
  TensorSpec whole = scene.plain(serial_at(step, 40), 256 << 10, site);
  TensorSpec crop = whole;
  crop.serial = serial_at(step, 42);
  crop.address = Scene::address(crop.serial);
  crop.storage_nbytes = 1 << 20;
  crop.sizes = {1024};
  crop.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::view);
  scene.add(crop);
  scene.held(crop.serial, "crops[" + std::to_string(step - 1) + "]", ReferenceRoot::local);
  scene.object(crop.serial);
}

}  // namespace

DumpBuilder leaking_dump(int minute, const std::string& directory) {
  Scene scene(minute * 10);
  DumpBuilder& builder = scene.builder;
  builder.working_directory = directory;
  add_source_lines(builder, directory);
  builder.dump_number = uint32_t(minute);
  builder.dump_ns = builder.start_ns + uint64_t(minute) * 60'000'000'000;
  builder.ns_each_serial = 5'500'000;
  builder.run_id = "run-leaks";
  auto at = [&](const char* function, int line) {
    return builder.site(0, builder.python({{directory + "/train.py", function, line}}));
  };
  const uint32_t forward = at("Net.forward", 31), loss = at("train_step", 57), crop = at("augment", 20),
                 feature = at("features", 40), native = at("train_step", 58), mean = at("main", 80);
  for (int step = 1; step <= minute * 10; ++step) {
    keep_loss(scene, step, forward, loss);
    keep_crop(scene, step, crop);
    scene.kept(serial_at(step, 50), 8 << 10, feature, "cache['batch-" + std::to_string(step) + "']");
    scene.add(scene.plain(serial_at(step, 60), 4 << 10, native));
    if (step % 10 == 0) scene.kept(serial_at(step, 70), 1, mean, "means[" + std::to_string(step / 10) + "]");
  }
  while (builder.next_serial() < serial_at(minute * 10, 999)) continue;
  return std::move(scene.builder);
}

}  // namespace tensorscope::testing
