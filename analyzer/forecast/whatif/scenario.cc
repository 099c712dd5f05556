#include "forecast/whatif/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "dump/reader.h"
#include "forecast/whatif/autocast.h"
#include "forecast/whatif/dtype.h"
#include "forecast/whatif/sharding.h"
#include "forecast/whatif/unfolding.h"
#include "memory/selection.h"
#include "oom/checkpointing.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer::forecast {

namespace {

struct OptimizerNeeds {
  const char* word;
  double state;      // times the trained parameters
  double temporary;  // in its step: times the largest parameter where it steps one by one
};
// What torch.optim's classes keep for a parameter, and what the step of one parameter makes.
constexpr std::array<OptimizerNeeds, 6> kOptimizers = {{
    {"sgd", 0, 0},
    {"momentum", 1, 0},
    {"adam", 2, 2},
    {"adamw", 2, 2},
    {"rmsprop", 1, 1},
    {"adagrad", 1, 1},
}};

// The most bytes that pieces of a category have at once, and those of the largest one.
struct CategorySum {
  double most = 0, largest = 0;
};
CategorySum sum_of(const Replay& replay, const SizeValues& at, Category category) {
  CategorySum sum;
  double live = 0;
  for (const Change& change : replay.changes) {
    const ReplayBlock& piece = replay.blocks[change.block];
    if (piece.category != category) continue;
    const double bytes = replay.growths[piece.growth].bytes(at) * piece.factor;
    live += change.made ? bytes : -bytes;
    sum.most = std::max(sum.most, live);
    sum.largest = std::max(sum.largest, bytes);
  }
  return sum;
}

// ---- optimizer ---------------------------------------------------------------------------------------------------

void with_optimizer(Replay& replay, const Sample& base, OptimizerKind kind) {
  const OptimizerNeeds& needs = kOptimizers[size_t(kind)];
  const SizeValues none;
  CategorySum trained = sum_of(replay, none, Category::gradient);
  if (trained.most == 0) trained = sum_of(replay, none, Category::parameter);
  if (trained.most == 0) throw BadInput(base.file + " has no gradients and no parameters; --optimizer needs them.");
  for (ReplayBlock& piece : replay.blocks) {
    const bool own = piece.block != kNone && base.blocks[piece.block].optimizer;
    if (own || piece.category == Category::optimizer_state) piece.factor = 0;
  }
  const auto add = [&](double bytes, Category category) {
    return replay.add(ReplayBlock{kNone, replay.add(Growth::constant(bytes)), 1, 0, category, kNone});
  };
  const uint32_t state = add(needs.state * trained.most, Category::optimizer_state);
  // On devices torch.optim steps all parameters at once.
  const double at_once = base.device.is_cpu() ? needs.temporary * trained.largest : trained.most;
  const uint32_t temporary = add(needs.temporary == 0 ? 0 : at_once, Category::temporary);
  std::vector<Change> changes;
  if (base.steps.empty()) changes.push_back({state, true});
  size_t step = 0;
  for (size_t i = 0; i <= replay.changes.size(); ++i) {
    for (; step < base.steps.size() && base.steps[step] == i; ++step) {
      if (step == 0) changes.push_back({state, true});
      changes.push_back({temporary, true});
      changes.push_back({temporary, false});
    }
    if (i < replay.changes.size()) changes.push_back(replay.changes[i]);
  }
  replay.changes = std::move(changes);
}

// ---- checkpointing -----------------------------------------------------------------------------------------------

// Whether a tensor is a part of one that `cat` or `stack` may have made of it: larger in one dimension.
bool part_of(std::span<const int64_t> part, std::span<const int64_t> whole) {
  if (part.size() < 2 || part.size() != whole.size()) return false;
  size_t larger = 0;
  for (size_t i = 0; i < part.size(); ++i) {
    if (whole[i] < part[i]) return false;
    larger += whole[i] > part[i];
  }
  return larger == 1;
}

// The path of the outermost module around `path` that the pattern names; "" where it is in none.
std::string instance_of(const std::string& pattern, const std::string& path) {
  for (size_t end = path.find('.');; end = path.find('.', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!part.empty() && name_matches(pattern, part) &&
        std::ranges::count(part, '.') == std::ranges::count(pattern, '.')) {
      return part;
    }
    if (end == std::string::npos) return "";
  }
}

// One pass of a module's forward that is computed again.
struct Pass {
  size_t begin = 0, end = 0;  // changes, the last one inclusive
  size_t again = SIZE_MAX;    // the change before which backward needs it
  size_t begins = SIZE_MAX;   // the first change of the backward pass that follows
  uint32_t instance = 0;      // number of its module
  std::vector<uint32_t> saved{};
  uint32_t result = kNone;  // what comes out of it, where nothing saves it, or autocast's copy is saved in its place
};

class Checkpointer {
 public:
  Checkpointer(Replay& replay, const Sample& base, const std::vector<std::string>& patterns)
      : replay_(replay), base_(base), patterns_(patterns) {}

  void apply() {
    find_modules();
    find_passes();
    if (passes_.empty()) {
      throw BadInput(fmt::format("{} has no forward pass of modules that match '{}' and is followed by backward; {}.",
                                 base_.file, patterns_.front(), known_modules()));
    }
    insert();
  }

 private:
  // What the user may have meant.
  std::string known_modules() const {
    constexpr size_t kMaxShown = 5;
    std::set<std::string> names;
    for (const ReplayBlock& piece : replay_.blocks) {
      if (piece.place() == kNone) continue;
      const std::string unit = numbered_part(base_.modules(piece.place())), name = with_wildcards(unit);
      if (name != unit) names.insert(name);
    }
    if (names.empty()) return "no dump of this run names its modules";
    std::string text;
    size_t shown = 0;
    for (const std::string& name : names) {
      if (shown++ < kMaxShown) text += (text.empty() ? "it has " : ", ") + name;
    }
    return text;
  }

  void find_modules() {
    std::map<std::string, uint32_t> numbers;
    std::unordered_map<uint64_t, uint32_t> known;
    instance_.assign(replay_.blocks.size(), 0);
    for (size_t i = 0; i < replay_.blocks.size(); ++i) {
      const uint32_t block = replay_.blocks[i].place();
      if (block == kNone) continue;
      const Block& of = base_.blocks[block];
      const auto [found, fresh] = known.try_emplace(uint64_t(of.site) << 32 | of.forward);
      if (fresh) {
        const std::string path = base_.modules(block);
        std::string instance;
        for (const std::string& pattern : patterns_) {
          if (instance.empty()) instance = instance_of(pattern, path);
        }
        if (!instance.empty()) {
          found->second = numbers.try_emplace(instance, uint32_t(numbers.size() + 1)).first->second;
        }
      }
      instance_[i] = found->second;
    }
  }

  bool is_forward(uint32_t piece) const {
    const Block& block = base_.blocks[replay_.blocks[piece].place()];
    return !block.backward && !block.optimizer;
  }
  bool is_saved(uint32_t piece) const {
    const Category c = replay_.blocks[piece].category;
    if (replay_.blocks[piece].block == kNone) return is_forward(piece) && c == Category::saved_activation;
    const Block& block = base_.blocks[replay_.blocks[piece].block];
    return is_forward(piece) && block.past_backward && c != Category::parameter && c != Category::buffer &&
           c != Category::gradient;
  }

  // Forward of a module begins with its first block and ends with the next block made outside of it.
  void find_passes() {
    std::map<uint32_t, size_t> open, waiting;  // by instance: index into passes_
    freed_.assign(replay_.blocks.size(), SIZE_MAX);
    made_.assign(replay_.blocks.size(), 0);
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      const auto [piece, made] = replay_.changes[i];
      (made ? made_ : freed_)[piece] = i;
      const uint32_t place = replay_.blocks[piece].place();
      if (made && place != kNone && base_.blocks[place].backward) backward_.push_back(i);
    }
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      const auto [piece, made] = replay_.changes[i];
      if (replay_.blocks[piece].place() == kNone || !made) continue;
      const uint32_t instance = instance_[piece];
      for (auto at = open.begin(); at != open.end();) {
        if (at->first == instance && is_forward(piece)) {
          ++at;
          continue;
        }
        waiting[at->first] = at->second;
        at = open.erase(at);
      }
      if (instance == 0) continue;
      if (is_forward(piece)) {
        const auto [found, fresh] = open.try_emplace(instance, passes_.size());
        if (fresh) passes_.push_back({.begin = i, .end = i, .instance = instance});
        Pass& pass = passes_[found->second];
        pass.end = i;
        if (is_saved(piece)) pass.saved.push_back(piece);
      } else if (const auto found = waiting.find(instance); found != waiting.end()) {
        Pass& pass = passes_[found->second];
        if (pass.again == SIZE_MAX) pass.again = i;
      }
    }
    for (Pass& pass : passes_) {
      const auto next = std::ranges::lower_bound(backward_, pass.end);
      if (next != backward_.end()) pass.begins = *next;
    }
    for (size_t i = 0; i < passes_.size(); ++i) {
      if (i + 1 < passes_.size()) passes_[i].result = given_on(passes_[i], passes_[i + 1]);
      finish(passes_[i]);
    }
    std::erase_if(passes_, [](const Pass& pass) { return pass.saved.empty() || pass.again == SIZE_MAX; });
  }

  // What comes out of a module stays: the last of its blocks that is saved. Backward needs the pass as soon as one of
  // the others is used, which is at the latest when it is freed.
  void finish(Pass& pass) const {
    // What another what-if frees before backward begins is not saved.
    const size_t until = pass.begins == SIZE_MAX ? pass.end : pass.begins;
    if (pass.result == kNone) take_result(pass, until);
    std::erase_if(pass.saved, [&](uint32_t piece) { return freed_[piece] <= until; });
    for (uint32_t piece : pass.saved) {
      if (freed_[piece] != SIZE_MAX && freed_[piece] > pass.end) pass.again = std::min(pass.again, freed_[piece]);
    }
  }

  void take_result(Pass& pass, size_t until) const {
    const auto result = std::find_if(pass.saved.rbegin(), pass.saved.rend(),
                                     [&](uint32_t piece) { return replay_.blocks[piece].block != kNone; });
    if (result == pass.saved.rend()) return;
    if (freed_[*result] <= until) pass.result = *result;
    pass.saved.erase(std::next(result).base());
  }

  // The last thing made by a pass that nothing saves and that is freed as the next one returns: its argument, but for
  // what the modules around them have made something of that shape of, such as a sum over layers.
  uint32_t given_on(const Pass& pass, const Pass& next) const {
    if (next.begin < pass.end || next.begins != pass.begins) return kNone;
    size_t returns = next.end;
    while (returns + 1 < replay_.changes.size() && !replay_.changes[returns + 1].made) ++returns;
    for (size_t i = pass.end + 1; i-- > pass.begin;) {
      const auto [piece, made] = replay_.changes[i];
      if (!made || instance_[piece] != pass.instance || replay_.blocks[piece].block == kNone || !is_forward(piece))
        continue;
      if (freed_[piece] > next.end && freed_[piece] <= returns && !summed_before(next, piece)) return piece;
    }
    return kNone;
  }

  // The change before which a forward pass that saves nothing frees a piece: where the call of the module that made it
  // has ended. What that call made last is its result, which the call around it has.
  size_t left(const Pass& pass, uint32_t piece) {
    std::string_view call = path_of(piece);
    bool last = true;
    for (size_t i = made_[piece] + 1; i <= pass.end; ++i) {
      const auto [other, made] = replay_.changes[i];
      if (!made || replay_.blocks[other].place() == kNone || !is_forward(other)) continue;
      const std::string_view path = path_of(other);
      while (path != call && !(path.starts_with(call) && path[call.size()] == '.')) {
        if (!last) return i;
        const size_t end = call.rfind('.');
        if (end == call.npos) return pass.end + 1;
        call = call.substr(0, end);
      }
      last = false;
    }
    return pass.end + 1;
  }
  const std::string& path_of(uint32_t piece) {
    const Block& block = base_.blocks[replay_.blocks[piece].place()];
    const auto [found, fresh] = paths_.try_emplace(uint64_t(block.site) << 32 | block.forward);
    if (fresh) found->second = base_.modules(replay_.blocks[piece].place());
    return found->second;
  }

  // Whether modules around a pass, or beside it, have made such a block of a piece's type before it.
  template <typename Test>
  bool made_before(const Pass& pass, uint32_t piece, Test test) const {
    const Block& own = base_.blocks[replay_.blocks[piece].block];
    if (!own.shape_known || base_.numel(own) == 0) return false;
    for (size_t i = made_[piece] + 1; i < pass.begin; ++i) {
      const auto [other, made] = replay_.changes[i];
      const uint32_t number = replay_.blocks[other].block;
      if (!made || number == kNone || instance_[other] != 0 || !is_forward(other)) continue;
      const Block& block = base_.blocks[number];
      if (block.shape_known && block.dtype == own.dtype && test(own, block)) return true;
    }
    return false;
  }
  // What it was made for, then: a sum of two embeddings, a sum over layers, a concatenation.
  bool used_before(const Pass& pass, uint32_t piece) const {
    return made_before(pass, piece, [&](const Block& own, const Block& block) {
      return base_.numel(block) != 0 && base_.numel(block) % base_.numel(own) == 0;
    });
  }
  bool summed_before(const Pass& pass, uint32_t piece) const {
    return made_before(pass, piece,
                       [&](const Block& own, const Block& block) { return base_.numel(block) == base_.numel(own); });
  }
  bool concatenated_before(const Pass& pass, uint32_t piece) const {
    return made_before(pass, piece, [&](const Block& own, const Block& block) {
      return part_of(base_.shape(own), base_.shape(block));
    });
  }

  // Whether the same line has made the next one of what it frees, as "total = total + result" does.
  bool goes_on(size_t freed) const {
    if (freed == 0 || !replay_.changes[freed - 1].made) return false;
    const uint32_t next = replay_.blocks[replay_.changes[freed - 1].block].block;
    return next != kNone &&
           base_.blocks[next].coarse == base_.blocks[replay_.blocks[replay_.changes[freed].block].block].coarse;
  }

  // What the modules around a pass, or beside it, made for it, such as a mask or an embedding of distances: an argument
  // that the graph keeps in place of what it saved.
  void keep_arguments(const Pass& pass) {
    const std::string& path = path_of(replay_.changes[pass.begin].block);
    size_t until = 0;
    for (uint32_t piece : pass.saved) {
      if (freed_[piece] != SIZE_MAX) until = std::max(until, freed_[piece]);
    }
    for (size_t i = pass.end; i < std::min(pass.begins, replay_.changes.size()); ++i) {
      const auto [piece, made] = replay_.changes[i];
      if (made || made_[piece] > pass.begin || replay_.blocks[piece].block == kNone || !is_forward(piece)) continue;
      const std::string& maker = path_of(piece);
      const std::string around = maker.substr(0, std::min(maker.rfind('.'), maker.size()));
      if (goes_on(i) || concatenated_before(pass, piece)) continue;
      const bool beside = !around.empty() && path.starts_with(around + ".") && !used_before(pass, piece);
      if (instance_[piece] == 0 && !maker.empty() && (beside || path.starts_with(maker + "."))) {
        size_t& kept = kept_until_[piece];
        kept = std::max({kept, freed_[piece], until});
      }
    }
  }

  // The next pass is given it, and computes from it again; the copy is made again then.
  void keep_results() {
    for (size_t i = 0; i + 1 < passes_.size(); ++i) {
      const Pass& pass = passes_[i];
      const Pass& next = passes_[i + 1];
      if (pass.result == kNone || next.begin < pass.end || next.begins != pass.begins) continue;
      size_t until = 0;
      for (uint32_t piece : next.saved) {
        if (freed_[piece] != SIZE_MAX) until = std::max(until, freed_[piece]);
      }
      if (until != 0) kept_until_[pass.result] = until;
    }
  }

  void insert() {
    std::vector<uint8_t> dropped(replay_.blocks.size());
    std::map<size_t, std::vector<uint32_t>> freed_before;
    std::map<size_t, std::vector<const Pass*>> at_again;
    for (const Pass& pass : passes_) {
      for (uint32_t piece : pass.saved) {
        dropped[piece] = 1;
        const bool cached = replay_.blocks[piece].autocasts && pass.begins != SIZE_MAX;
        freed_before[cached ? pass.begins : left(pass, piece)].push_back(piece);
      }
      at_again[pass.again].push_back(&pass);
      keep_arguments(pass);
    }
    keep_results();
    for (const auto& [piece, until] : kept_until_) freed_before[until + 1].push_back(piece);
    std::vector<Change> changes;
    for (size_t i = 0; i < replay_.changes.size(); ++i) {
      if (const auto freed = freed_before.find(i); freed != freed_before.end()) {
        for (uint32_t piece : freed->second) changes.push_back({piece, false});
      }
      if (const auto again = at_again.find(i); again != at_again.end()) {
        for (const Pass* pass : again->second) compute_again(*pass, dropped, changes);
      }
      const auto [piece, made] = replay_.changes[i];
      if (made || !kept_until_.contains(piece)) changes.push_back(replay_.changes[i]);
    }
    replay_.changes = std::move(changes);
  }

  // The pass once more, with what it frees itself.
  void compute_again(const Pass& pass, const std::vector<uint8_t>& dropped, std::vector<Change>& changes) const {
    size_t end = pass.end;  // with what is freed as its functions return
    while (end + 1 < replay_.changes.size() && !replay_.changes[end + 1].made) ++end;
    for (size_t i = pass.begin; i <= end; ++i) {
      const auto [piece, made] = replay_.changes[i];
      if (instance_[piece] != pass.instance || !is_forward(piece)) continue;
      const bool passing = freed_[piece] != SIZE_MAX && freed_[piece] <= end;
      if (dropped[piece] ? made : passing) changes.push_back({piece, made});
    }
  }

  Replay& replay_;
  const Sample& base_;
  const std::vector<std::string>& patterns_;
  std::vector<uint32_t> instance_;                   // of each piece: number of its module, 0 for none
  std::map<uint32_t, size_t> kept_until_;            // of pieces that are arguments: the change that frees them
  std::vector<size_t> made_;                         // of each piece: the change that makes it
  std::vector<size_t> freed_;                        // of each piece: the change that frees it
  std::unordered_map<uint64_t, std::string> paths_;  // of modules, by site and forward site
  std::vector<size_t> backward_;                     // the changes that make something in backward
  std::vector<Pass> passes_;
};

}  // namespace

std::optional<OptimizerKind> optimizer_named(std::string_view word) {
  for (size_t i = 0; i < kOptimizers.size(); ++i) {
    if (word == kOptimizers[i].word) return OptimizerKind(i);
  }
  return std::nullopt;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> words;
  for (const OptimizerNeeds& needs : kOptimizers) words.emplace_back(needs.word);
  return words;
}

Replay with_changes(const Replay& replay, const Sample& base, const Changes& changes) {
  Replay changed = replay;
  if (changes.optimizer) with_optimizer(changed, base, *changes.optimizer);
  if (changes.ranks > 1) apply_sharding(changed, base, changes.ranks);
  if (changes.autocast) {
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
    under_autocast(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.dtype.empty()) {
    apply_dtype(changed, base, operations_of(changed, base));
    add_im2col_buffers(changed, base, operations_of(changed, base), weights_of(base));
  }
  if (!changes.checkpointed.empty()) Checkpointer(changed, base, changes.checkpointed).apply();
  return changed;
}

}  // namespace tensorscope::analyzer::forecast
