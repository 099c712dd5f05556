// SPDX-License-Identifier: Apache-2.0
#include "oom/no_grad_remedy.h"

#include <algorithm>
#include <span>
#include <vector>

#include "leaks/retention.h"
#include "oom/forward_site.h"
#include "oom/freed.h"

namespace tensorscope::analyzer::oom {

namespace {

class NoGradFinder {
 public:
  NoGradFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about),
        headroom_(headroom),
        view_(about.views.back()),
        dump_(view_.dump),
        running_(about.running),
        lines_(lines) {}

  // A loop in which no backward was ever called, and more than one of its passes is alive. The last one still needs
  // some of what it has saved.
  std::optional<Remedy> find() const {
    const bool in_backward = dump_.failure && dump_.failure->node_serial != 0;
    if (running_.loop() == kNone || running_.loop_calls_backward() || in_backward || !dump_.graph.present)
      return std::nullopt;
    const std::vector<bool> cycles = nodes_of_cycles();
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      const std::span<const SavedSlot> slots = dump_.graph.saved_of(node);
      const bool saves = std::any_of(slots.begin(), slots.end(), [](const SavedSlot& slot) { return holds(slot); });
      if (saves && !cycles[node] && running_.in_loop(forward_site(dump_, node))) nodes.push_back(node);
    }
    if (nodes.empty()) return std::nullopt;
    const Passes passes = passes_of(nodes);
    const uint64_t most = saved_by_loop(nodes, UINT64_MAX);
    if (passes.alive < 2 || most < headroom_.least()) return std::nullopt;
    Remedy remedy;
    remedy.kind = RemedyKind::no_grad;
    remedy.names = {running_.loop_name()};
    remedy.where = lines_.forward();
    remedy.backward_elsewhere = running_.backward_seen();
    remedy.set_bound(most, saved_by_loop(nodes, passes.last));
    remedy.fits = headroom_.fits_at_most(most);
    headroom_.fill_missing(remedy, most + about_.cached.common);
    return remedy;
  }

 private:
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
      if (forward_site(dump_, node) != site) continue;
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

  bool held(uint32_t tensor) const {
    const auto rows = dump_.references.of(tensor);
    return std::any_of(rows.begin(), rows.end(), [](const Reference& row) { return holds(row); });
  }

  const RemedyCase& about_;
  const Headroom& headroom_;
  const View& view_;
  const Dump& dump_;
  const RunningCode& running_;
  const LinesToChange& lines_;
};

}  // namespace

std::optional<Remedy> no_grad_remedy(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  return NoGradFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
