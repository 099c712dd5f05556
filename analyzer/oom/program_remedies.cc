// SPDX-License-Identifier: Apache-2.0
#include "oom/program_remedies.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "oom/checkpointing.h"
#include "oom/item_category.h"
#include "oom/no_grad_remedy.h"
#include "oom/precision_remedy.h"
#include "oom/step_remedies.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxCheckpoints = 3;

class ProgramFinder {
 public:
  ProgramFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about),
        headroom_(headroom),
        view_(about.views.back()),
        dump_(view_.dump),
        site_(dump_.failure ? dump_.failure->site : 0),
        lines_(lines) {}

  std::vector<Remedy> find() {
    if (!add(no_grad_remedy(about_, headroom_, lines_))) {  // computing a graph again helps nobody who needs none
      checkpointing();
      std::ranges::move(step_remedies(about_, headroom_, lines_), std::back_inserter(found_));
    }
    smaller_batch();
    add(precision_remedy(about_, headroom_, lines_));
    return std::move(found_);
  }

 private:
  bool add(std::optional<Remedy> remedy) {
    if (!remedy) return false;
    found_.push_back(std::move(*remedy));
    return true;
  }

  void checkpointing() {
    std::string in_flight = view_.places.module_path(site_);
    if (dump_.failure && dump_.failure->node != kNone) {
      in_flight = view_.places.module_path(dump_.nodes[dump_.failure->node].site);
    }
    for (const Checkpoint& one : checkpoints(view_, about_.device, headroom_.least(), kMaxCheckpoints, in_flight)) {
      Remedy remedy;
      remedy.kind = RemedyKind::checkpoint;
      remedy.names = {one.modules};
      remedy.where = lines_.call_of(one.modules);
      remedy.count = one.instances;
      remedy.stays = one.in_flight;
      const uint64_t stays_free = one.stays_free();
      remedy.set_bound(one.bytes, one.at_least());
      remedy.inputs = one.inputs;
      remedy.batch_norm = one.batch_norm;
      remedy.fits = headroom_.fits_at_most(stays_free);
      headroom_.fill_missing(remedy, stays_free + about_.cached.common);
      found_.push_back(std::move(remedy));
    }
  }

  bool made_by_module(const Item& item) const {
    return item.storage != kNone && item.site != 0 && !view_.places.module_path(item.site).empty();
  }

  // Addresses of gradients of leaves that no optimizer and no module has: of inputs.
  std::set<uint64_t> gradients_of_inputs() const {
    std::set<uint64_t> addresses;
    for (uint32_t i = 0; i < dump_.tensors.size() && dump_.references.present; ++i) {
      const TensorObject& object = dump_.references.tensors[i];
      if (!object.optimized && !object.trained) addresses.insert(dump_.tensors[i].grad);
    }
    return addresses;
  }

  // What grows with the batch is halved. Temporaries may be those of parameters. What is unknown, in a container, a
  // variable or no tensor, and gradients of inputs, grow where a module made them, else they may grow as well; what is
  // cached may shrink.
  void smaller_batch() {
    uint64_t surely = 0, scaling = 0, in_use = 0;
    const std::set<uint64_t> of_inputs = gradients_of_inputs();
    for (const Item& item : view_.accounts.items()) {
      if (!of_the_batch(about_, lines_, item)) continue;
      const Category category = category_of(view_, item);
      const uint64_t bytes = item.bytes - item.rounding - item.outside;
      if (is_one_of(category, {Category::saved_activation, Category::input_batch, Category::output})) {
        surely += bytes;
      } else if (is_one_of(category, {Category::temporary, Category::backward_temporary})) {
        scaling += bytes;
      } else if (is_one_of(category,
                           {Category::unknown, Category::container, Category::variable, Category::kv_cache}) ||
                 (category == Category::gradient &&
                  of_inputs.contains(dump_.tensors[view_.holders.representative(item.storage)].address))) {
        (made_by_module(item) ? scaling : in_use) += bytes;
      } else if (is_one_of(category, {Category::cache, Category::dataset})) {
        in_use += bytes;
      }
    }
    scaling += surely;
    if (scaling / 2 < headroom_.least()) return;
    const uint64_t others = in_use + about_.cached.bytes;
    Remedy remedy;
    remedy.kind = RemedyKind::smaller_batch;
    remedy.scaling = scaling;
    remedy.where = lines_.input(about_.device);
    if (others / 2 >= headroom_.least()) remedy.may_scale = others;
    remedy.bytes = scaling / 2;
    remedy.estimate = true;
    remedy.low = surely / 2;
    remedy.high = (scaling + in_use) / 2;
    const uint64_t request = about_.request / 2;
    remedy.fits = headroom_.fits_at_most(remedy.bytes, request);
    if (remedy.fits == Fits::no && headroom_.fits_at_most(remedy.bytes + others / 2, request) != Fits::no) {
      remedy.fits = Fits::unknown;
    }
    headroom_.fill_missing(remedy, remedy.bytes + others / 2 + about_.cached.common, request);
    found_.push_back(std::move(remedy));
  }

  const RemedyCase& about_;
  const Headroom& headroom_;
  const View& view_;
  const Dump& dump_;
  const uint32_t site_;
  const LinesToChange& lines_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> program_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  return ProgramFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
