// SPDX-License-Identifier: Apache-2.0
#include "oom/program_remedies.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "dump_generated.h"
#include "leaks/retention.h"
#include "oom/autocast_types.h"
#include "oom/checkpointing.h"
#include "oom/freed.h"
#include "oom/step_remedies.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxCheckpoints = 3;

bool is_one_of(Category category, std::initializer_list<Category> wanted) {
  return std::find(wanted.begin(), wanted.end(), category) != wanted.end();
}

class ProgramFinder {
 public:
  ProgramFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about),
        headroom_(headroom),
        view_(about.views.back()),
        dump_(view_.dump),
        site_(dump_.failure ? dump_.failure->site : 0),
        running_(about.running),
        lines_(lines) {}

  std::vector<Remedy> find() {
    if (no_grad()) return finish();  // computing a graph again helps nobody who needs none
    checkpointing();
    std::ranges::move(step_remedies(about_, headroom_, lines_), std::back_inserter(found_));
    return finish();
  }

 private:
  std::vector<Remedy> finish() {
    smaller_batch();
    lower_precision();
    return std::move(found_);
  }

  uint32_t forward_site(uint32_t node) const {
    const uint32_t seen = dump_.graph.nodes[node].seen;
    return seen == kNone ? 0 : dump_.nodes[seen].site;
  }

  struct Passes {
    size_t alive = 0;
    uint64_t last = 0;  // serial of the first node of the last one
  };

  // Passes of the loop that have saved something: the first operation of each was made at one place.
  Passes passes_of(const std::vector<uint32_t>& nodes) const {
    uint64_t first = UINT64_MAX;
    uint32_t site = 0;
    for (uint32_t node : nodes) {
      const Node& seen = dump_.nodes[dump_.graph.nodes[node].seen];
      if (seen.serial < first) first = seen.serial, site = seen.site;
    }
    Passes passes;
    for (uint32_t node : nodes) {
      if (forward_site(node) != site) continue;
      ++passes.alive;
      passes.last = std::max(passes.last, dump_.nodes[dump_.graph.nodes[node].seen].serial);
    }
    return passes;
  }

  // Nodes that only a cycle through the graph keeps: without the cycle they go by themselves.
  std::vector<bool> nodes_of_cycles() const {
    std::vector<bool> result(dump_.graph.nodes.size());
    for (uint32_t node : Retention(dump_, view_.accounts).unrooted().nodes) result[node] = true;
    return result;
  }

  // What only graphs of the loop saved, and no variable holds; of nodes before this one.
  uint64_t saved_by_loop(const std::vector<uint32_t>& nodes, uint64_t before) const {
    std::vector<bool> of_loop(dump_.graph.nodes.size());
    for (uint32_t node : nodes) of_loop[node] = dump_.nodes[dump_.graph.nodes[node].seen].serial < before;
    std::vector<uint8_t> savers(dump_.tensors.size());  // 1: such a node, 2: another one
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      const bool inside = of_loop[node];
      for (const SavedSlot& slot : dump_.graph.saved_of(node)) {
        if (holds(slot)) savers[slot.tensor] |= inside ? 1 : 2;
      }
    }
    std::vector<uint32_t> tensors;
    for (const Storage& storage : dump_.storages) {
      const std::span<const uint32_t> users = storage.tensors;
      const bool saved = std::any_of(users.begin(), users.end(), [&](uint32_t i) { return savers[i] == 1; });
      const bool stays = std::any_of(users.begin(), users.end(), [&](uint32_t i) { return savers[i] > 1 || held(i); });
      if (saved && !stays) tensors.insert(tensors.end(), users.begin(), users.end());
    }
    return freed_with(dump_, tensors, about_.device).bytes;
  }

  // A loop in which no backward was ever called, and more than one of its passes is alive. The last one still needs
  // some of what it has saved.
  bool no_grad() {
    const bool in_backward = dump_.failure && dump_.failure->node_serial != 0;
    if (running_.loop() == kNone || running_.loop_calls_backward() || in_backward || !dump_.graph.present) return false;
    const std::vector<bool> cycles = nodes_of_cycles();
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      const std::span<const SavedSlot> slots = dump_.graph.saved_of(node);
      const bool saves = std::any_of(slots.begin(), slots.end(), [](const SavedSlot& slot) { return holds(slot); });
      if (saves && !cycles[node] && running_.in_loop(forward_site(node))) nodes.push_back(node);
    }
    if (nodes.empty()) return false;
    const Passes passes = passes_of(nodes);
    const uint64_t most = saved_by_loop(nodes, UINT64_MAX);
    if (passes.alive < 2 || most < headroom_.least()) return false;
    Remedy remedy;
    remedy.kind = RemedyKind::no_grad;
    remedy.names = {running_.loop_name()};
    remedy.where = lines_.forward();
    remedy.backward_elsewhere = running_.backward_seen();
    remedy.set_bound(most, saved_by_loop(nodes, passes.last));
    remedy.fits = headroom_.fits_at_most(most);
    headroom_.fill_missing(remedy, most + about_.cached.common);
    found_.push_back(std::move(remedy));
    return true;
  }

  bool held(uint32_t tensor) const {
    const auto rows = dump_.references.of(tensor);
    return std::any_of(rows.begin(), rows.end(), [](const Reference& row) { return holds(row); });
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

  // What an optimizer made is as large as its parameters, whatever the batch.
  bool of_the_batch(const Item& item) const {
    return item.device == about_.device && item.allocation != kNone && !lines_.in_optimizer(item.site);
  }
  Category category_of(const Item& item) const {
    return item.storage == kNone ? Category::unknown
                                 : view_.holders.category(view_.holders.representative(item.storage));
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
      if (!of_the_batch(item)) continue;
      const Category category = category_of(item);
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

  // What the batch and the model make of float32, less what it takes under autocast, with copies of the weights; 0
  // where that is more. At the least autocast keeps a copy of each weight, which it does until the forward pass ends,
  // and what runs has cast the largest of what is there to float32, of which a float32 run has no trace.
  uint64_t lower_precision_gain(NotKnown not_known) const {
    const bool cautious = not_known == NotKnown::whole;
    const bool all_weights = cautious && (!dump_.failure || dump_.failure->node_serial == 0);
    uint64_t now = 0, then = recurrent_copies(), largest = 0;
    AutocastTypes types(view_, about_.device, not_known);
    for (const Item& item : view_.accounts.items()) {
      if (item.device != about_.device || item.storage == kNone) continue;
      if (dump_.tensors[view_.holders.representative(item.storage)].dtype_text() != "float32") continue;
      const Category category = category_of(item);
      const bool may_shrink = of_the_batch(item) &&
                              (is_one_of(category, {Category::saved_activation, Category::input_batch, Category::output,
                                                    Category::temporary, Category::backward_temporary}) ||
                               (is_one_of(category, {Category::unknown, Category::container, Category::variable}) &&
                                types.made_in_pass(item)));
      if (may_shrink) {
        now += item.bytes - (cautious ? item.rounding : 0);
        then += types.bytes(item);
        largest = std::max(largest, item.bytes - item.rounding);
      } else if (category == Category::parameter) {
        then += std::max(types.weight_copies(item), all_weights ? item.bytes / 2 : 0);
      } else {
        then += types.copies(item);
      }
    }
    if (cautious) {
      then += largest;
      types.note_unread();
    }
    return now - std::min(now, then);
  }

  void lower_precision() {
    const uint64_t most = lower_precision_gain(NotKnown::half);
    if (most < headroom_.least()) return;
    Remedy remedy;
    remedy.kind = RemedyKind::lower_precision;
    remedy.set_bound(most, std::min(most, lower_precision_gain(NotKnown::whole)));
    remedy.where = lines_.forward();
    remedy.fits = headroom_.fits_at_most(remedy.bytes);
    headroom_.fill_missing(remedy, remedy.bytes + about_.cached.common);
    found_.push_back(std::move(remedy));
  }

  // A recurrent layer without cuDNN multiplies by its transposed weight at each position; autocast keeps copies of
  // weights, but not of such views, so that each position saves one of its own.
  uint64_t recurrent_copies() const {
    std::map<std::string, uint64_t> positions;  // by module
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      if (!dump_.graph.class_name(node).starts_with("ThnnFused")) continue;
      const uint32_t site = forward_site(node);
      const uint32_t frame = site == 0 ? 0 : dump_.sites[site].python;
      // A cell that the program calls itself casts its weights once.
      if (frame != 0 && dump_.codes[dump_.python_frames[frame].code].function.ends_with("Cell.forward")) continue;
      ++positions[view_.places.module_path(site)];
    }
    uint64_t copies = 0;
    for (const auto& [module, count] : positions) {
      uint64_t bytes = 0, weights = 0;
      for (const Item& item : view_.accounts.items()) {
        const uint32_t tensor = item.storage == kNone ? kNone : view_.holders.representative(item.storage);
        if (tensor == kNone || category_of(item) != Category::parameter || view_.holders.module(tensor) != module)
          continue;
        if (view_.holders.name(tensor).find(".weight_hh") == std::string::npos) continue;
        bytes += item.bytes;
        ++weights;
      }
      if (weights != 0) copies += count * (bytes / weights / 2);
    }
    return copies;
  }

  const RemedyCase& about_;
  const Headroom& headroom_;
  const View& view_;
  const Dump& dump_;
  const uint32_t site_;
  const RunningCode& running_;
  const LinesToChange& lines_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> program_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  return ProgramFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
