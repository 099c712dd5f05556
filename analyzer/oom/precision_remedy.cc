// SPDX-License-Identifier: Apache-2.0
#include "oom/precision_remedy.h"

#include <algorithm>
#include <map>
#include <string>

#include "oom/autocast_types.h"
#include "oom/forward_site.h"
#include "oom/item_category.h"

namespace tensorscope::analyzer::oom {

namespace {

class PrecisionFinder {
 public:
  PrecisionFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about), headroom_(headroom), view_(about.views.back()), dump_(view_.dump), lines_(lines) {}

  std::optional<Remedy> find() const {
    const uint64_t most = gain(NotKnown::half);
    if (most < headroom_.least()) return std::nullopt;
    Remedy remedy;
    remedy.kind = RemedyKind::lower_precision;
    remedy.set_bound(most, std::min(most, gain(NotKnown::whole)));
    remedy.where = lines_.forward();
    remedy.fits = headroom_.fits_at_most(remedy.bytes);
    headroom_.fill_missing(remedy, remedy.bytes + about_.cached.common);
    return remedy;
  }

 private:
  // What the batch and the model make of float32, less what it takes under autocast, with copies of the weights; 0
  // where that is more. At the least autocast keeps a copy of each weight, which it does until the forward pass ends,
  // and what runs has cast the largest of what is there to float32, of which a float32 run has no trace.
  uint64_t gain(NotKnown not_known) const {
    const bool cautious = not_known == NotKnown::whole;
    const bool all_weights = cautious && (!dump_.failure || dump_.failure->node_serial == 0);
    uint64_t now = 0, then = recurrent_copies(), largest = 0;
    AutocastTypes types(view_, about_.device, not_known);
    for (const Item& item : view_.accounts.items()) {
      if (item.device != about_.device || item.storage == kNone) continue;
      if (dump_.tensors[view_.holders.representative(item.storage)].dtype_text() != "float32") continue;
      const Category category = category_of(view_, item);
      const bool may_shrink = of_the_batch(about_, lines_, item) &&
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

  // A recurrent layer without cuDNN multiplies by its transposed weight at each position; autocast keeps copies of
  // weights, but not of such views, so that each position saves one of its own.
  uint64_t recurrent_copies() const {
    std::map<std::string, uint64_t> positions;  // by module
    for (uint32_t node = 0; node < dump_.graph.nodes.size(); ++node) {
      if (!dump_.graph.class_name(node).starts_with("ThnnFused")) continue;
      const uint32_t site = forward_site(dump_, node);
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
        if (tensor == kNone || category_of(view_, item) != Category::parameter ||
            view_.holders.module(tensor) != module)
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
  const LinesToChange& lines_;
};

}  // namespace

std::optional<Remedy> precision_remedy(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  return PrecisionFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
