// SPDX-License-Identifier: Apache-2.0
#include "ownership/holders.h"

#include <utility>

#include "ownership/memory_category.h"
#include "ownership/module_outputs.h"
#include "ownership/names_of_run.h"
#include "ownership/tensor_links.h"
#include "ownership/tensor_names.h"
#include "symbols/frame_facts.h"
#include "symbols/native_facts.h"

namespace tensorscope::analyzer {

class Holders::Finder {
 public:
  Finder(const Dump& dump, Symbols* symbols, const NamesOfRun* run, Holders& out)
      : dump_(dump),
        run_(run),
        out_(out),
        facts_(dump),
        links_(dump),
        native_(dump, symbols),
        outputs_(dump, facts_, links_),
        judge_(dump, facts_, links_, native_, outputs_),
        modules_(dump, facts_, links_) {}

  void find() {
    if (run_) take_names();
    find_own_categories();
    find_parts_categories();
    choose_speakers();
  }

  const TensorModules& modules() const { return modules_; }

  const std::vector<std::string>& names(uint32_t tensor) {
    if (names_.empty()) names_ = tensor_names(dump_, facts_, links_, outputs_);
    return names_[tensor];
  }

  const TensorHolders& holders(uint32_t tensor) {
    if (holders_.empty()) {
      names(tensor);
      holders_ = tensor_holders(dump_, facts_, links_, names_);
    }
    return holders_[tensor];
  }

  const std::string& evidence(uint32_t tensor) {
    if (evidence_.empty()) find_evidence();
    return evidence_[tensor];
  }

 private:
  std::string label(uint32_t tensor) { return tensor_label(dump_.tensors[tensor], names(tensor)); }

  // Of tensors that are in a dump of the same run, what that says. Their holders' texts are made before, by the names
  // that this dump has.
  void take_names() {
    if (!dump_.tensors.empty()) holders(0);
    for (uint32_t i = 0; i < dump_.tensors.size(); i++) {
      const KnownTensor* known = run_->tensor(dump_.tensors[i].serial);
      if (!known) continue;
      names_[i] = known->names;
      if (!known->holders.empty()) holders_[i].first = known->holders;
      holders_[i].count = known->holder_count;
      if (!known->module.empty()) modules_.set(i, known->module);
    }
  }

  void find_own_categories() {
    own_.resize(dump_.tensors.size());
    out_.sources_.resize(dump_.tensors.size(), CategorySource::unknown);
    if (dump_.moment) return find_moment_categories();
    for (uint32_t i = 0; i < dump_.tensors.size(); i++) {
      own_[i] = judge_.verdict(i).category;
      out_.sources_[i] = own_[i] == Category::unknown ? CategorySource::unknown : CategorySource::dump;
    }
  }

  // A moment has no evidence of its own but stacks: a dump's, or how its memory went on.
  void find_moment_categories() {
    moment_evidence_.resize(dump_.tensors.size());
    const MemoryCategories categories(dump_, run_);
    for (uint32_t i = 0; i < dump_.tensors.size(); i++) {
      const KnownTensor* known = run_ ? run_->tensor(dump_.tensors[i].serial) : nullptr;
      const uint32_t storage = dump_.tensors[i].storage;
      const uint32_t memory = storage == kNone ? kNone : dump_.storages[storage].allocation;
      if (memory != kNone) {
        const Allocation& row = dump_.allocations[memory];
        const MemoryCategory found = categories.of(row.serial, row.site, row.node != 0, dump_.lives[memory]);
        own_[i] = found.category;
        out_.sources_[i] = found.source;
        moment_evidence_[i] = found.why;
        if (found.source == CategorySource::inferred) moment_evidence_[i].insert(0, "inferred: ");
        if (found.source != CategorySource::dump) continue;
        moment_evidence_[i] = known ? known->evidence : "its memory is in a dump of this run";
      } else if (known && known->category != Category::unknown) {
        own_[i] = known->category;
        out_.sources_[i] = CategorySource::dump;
        moment_evidence_[i] = known->evidence;
      }
    }
  }

  // A part of a sparse tensor or of a wrapper is for what that is for.
  void find_parts_categories() {
    for (uint32_t i = 0; i < own_.size(); i++) {
      const uint32_t owner = links_.owner(i);
      if (owner == kNone || !stronger(own_[owner], own_[i])) continue;
      own_[i] = own_[owner];
      out_.sources_[i] = out_.sources_[owner];
      as_owner_.push_back(i);
    }
  }

  void choose_speakers() {
    out_.categories_ = own_;
    out_.representatives_.reserve(dump_.storages.size());
    for (const Storage& storage : dump_.storages) {
      uint32_t best = storage.tensors.front();
      for (uint32_t tensor : storage.tensors) {
        if (tensor == best) continue;
        const Category category = own_[tensor], so_far = own_[best];
        if (stronger(category, so_far) || (category == so_far && names(best).empty() && !names(tensor).empty())) {
          best = tensor;
        }
      }
      out_.representatives_.push_back(best);
      for (uint32_t tensor : storage.tensors) {
        if (!stronger(own_[best], own_[tensor])) continue;
        out_.categories_[tensor] = own_[best];
        out_.sources_[tensor] = out_.sources_[best];
      }
    }
  }

  // In the order in which the categories were found.
  void find_evidence() {
    std::vector<std::string> own = std::move(moment_evidence_);
    own.reserve(dump_.tensors.size());
    for (uint32_t i = 0; i < dump_.tensors.size() && !dump_.moment; i++)
      own.push_back(judge_.words(i, judge_.verdict(i)));
    for (const uint32_t part : as_owner_) {
      const uint32_t owner = links_.owner(part);
      own[part] = links_.part_name(part) + " of " + label(owner) + ", " + own[owner];
    }
    evidence_ = own;
    for (uint32_t i = 0; i < dump_.storages.size(); i++) {
      const uint32_t best = out_.representatives_[i];
      for (uint32_t tensor : dump_.storages[i].tensors) {
        if (!stronger(own_[best], own_[tensor])) continue;
        evidence_[tensor] = "shares the storage of " + label(best) + ", " + own[best];
      }
    }
  }

  const Dump& dump_;
  const NamesOfRun* run_;
  Holders& out_;
  const FrameFacts facts_;
  const TensorLinks links_;
  const NativeFacts native_;
  const ModuleOutputs outputs_;
  const CategoryFinder judge_;
  TensorModules modules_;
  std::vector<Category> own_;                 // by tensor, aliases apart
  std::vector<std::string> moment_evidence_;  // by tensor; of a moment alone
  std::vector<uint32_t> as_owner_;            // parts that are for what their owner is for
  // By tensor; empty until the first is read.
  std::vector<std::vector<std::string>> names_;
  std::vector<TensorHolders> holders_;
  std::vector<std::string> evidence_;
};

Holders::Holders(const Dump& dump, Symbols* symbols, const NamesOfRun* names)
    : finder_(std::make_unique<Finder>(dump, symbols, names, *this)) {
  finder_->find();
}

Holders::~Holders() = default;

const TensorModules& Holders::modules() const { return finder_->modules(); }

const std::vector<std::string>& Holders::names(uint32_t tensor) const { return finder_->names(tensor); }

const std::vector<Holder>& Holders::holders(uint32_t tensor) const { return finder_->holders(tensor).first; }

uint32_t Holders::holder_count(uint32_t tensor) const { return finder_->holders(tensor).count; }

const std::string& Holders::evidence(uint32_t tensor) const { return finder_->evidence(tensor); }

std::string Holders::name(uint32_t tensor) const {
  const std::vector<std::string>& all = names(tensor);
  return all.empty() ? "" : all.front();
}

}  // namespace tensorscope::analyzer
