// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/program_objects.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "python/heap_inspector/foreign/arrow_sizes.h"
#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/graph/frozen_objects.h"
#include "python/heap_inspector/graph/object_graph.h"
#include "python/heap_inspector/graph/object_kinds.h"
#include "python/heap_inspector/graph/object_paths.h"
#include "python/heap_inspector/graph/roots.h"
#include "python/heap_inspector/graph/type_fields.h"
#include "python/heap_inspector/layout_check.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/heap_inspector/naming/given_names.h"
#include "python/heap_inspector/naming/module_tree.h"
#include "python/heap_inspector/naming/optimizers.h"
#include "python/heap_inspector/naming/process_groups.h"
#include "python/heap_inspector/naming/running_calls.h"
#include "python/heap_inspector/naming/slot_names.h"
#include "python/heap_inspector/rows/container_rows.h"
#include "python/heap_inspector/rows/node_rows.h"
#include "python/heap_inspector/rows/opaque_rows.h"
#include "python/heap_inspector/rows/profiler_rows.h"
#include "python/heap_inspector/rows/reference_rows.h"
#include "python/heap_inspector/rows/script_values.h"
#include "python/heap_inspector/rows/shared_rows.h"
#include "python/heap_inspector/rows/tensor_batches.h"
#include "python/heap_inspector/rows/tensor_objects.h"
#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {

namespace {

using format::NamesLimit;

// How far each part of the look may go, of the time and the memory that there are. Reading costs more than all that
// comes before the tensors are named, for the same objects.
struct LimitShare {
  double time, memory;
};
constexpr LimitShare kReading = {0.45, 0.33}, kKinds = {0.48, 0.36}, kPaths = {0.65, 0.6}, kTensors = {0.8, 0.8},
                     kModules = {0.88, 0.9}, kNaming = {0.96, 0.96}, kContainers = {1, 1};

constexpr char kTimeWasUp[] = "the time limit for finding names was reached (TENSORSCOPE_NAMES_GIL_MS)";
constexpr char kContainersNotReached[] = "a limit was reached before all of Python's objects were added up";
constexpr char kMemoryWasUp[] = "the memory limit for finding names was reached (TENSORSCOPE_NAMES_MEMORY)";

class Look {
 public:
  Look(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, const KnownClasses& classes, Names& names,
       References& references, ProcessGroups& groups)
      : gil_(gil),
        limits_(deadline),
        facts_(facts),
        classes_(classes),
        names_(names),
        out_(references),
        groups_(groups),
        kinds_(gil, classes),
        sizes_(gil, classes),
        frozen_(gil),
        graph_(gil, limits_, &kinds_, &sizes_, &frozen_),
        functions_(gil),
        attributes_(gil) {}

  void run() {
    const char* detail = "";
    look(detail);
    if (*detail == 0) detail = layout_trouble();
    out_.objects = graph_.size();
    const LookLimits::Stop stop = stop_of_names_.value_or(limits_.stop());
    if (stop != LookLimits::Stop::none) {
      const bool time = stop == LookLimits::Stop::time;
      detail = time ? kTimeWasUp : kMemoryWasUp;
      out_.stopped_by = time ? NamesLimit::time : NamesLimit::memory;
    }
    names_.complete = out_.complete = *detail == 0;
    names_.detail = out_.detail = detail;
  }

 private:
  using Row = ReferenceRows::Holder;

  void begin(LimitShare part) { limits_.begin_part(part.time, part.memory); }

  void look(const char*& detail) {
    const std::vector<Frame> running = running_frames(gil_);
    begin(kReading);
    bool complete = graph_.read(first_objects(running), detail) && *layout_trouble() == 0;
    begin(kKinds);
    graph_.tell_other_kinds();
    begin(kPaths);
    if (complete) reachable_ = reachable_objects(graph_);
    complete = complete && reachable_.size() == graph_.size();
    if (!complete) reachable_.assign(graph_.size(), true);  // what was not seen may hold it

    ObjectPaths paths(graph_, limits_);
    if (!paths.ready()) return;
    const TensorFields fields(graph_);
    Roots roots(gil_, graph_, fields, functions_, paths, running, facts_.graph.get(), limits_);
    roots.run(reachable_, complete);
    begin(kTensors);
    const TensorObjects tensors(gil_, graph_, fields, paths, facts_.serial, facts_.sizes.get(), limits_);
    for (const LocalReference& local : roots.locals()) locals_[local.object].push_back(&local);

    begin(kModules);
    read_mesh_dimensions(gil_, graph_, attributes_, limits_, groups_);
    const ModuleTree modules(gil_, graph_, attributes_, limits_);
    modules.lead(paths);
    const Optimizers optimizers(gil_, graph_, attributes_, limits_);
    optimizers.lead(paths);
    Chains chains(gil_, graph_, paths, functions_, attributes_, classes_, limits_);
    name_modules(tensors, modules, optimizers, paths, chains);
    GivenNames given(gil_, facts_.serial, limits_);
    given.read(names_.modules);
    const std::vector<RunningCall> calls = running_calls(gil_, running, attributes_);
    Beginnings beginnings(graph_, calls, out_);
    if (facts_.graph) write_node_rows(graph_, *facts_.graph, paths, chains, limits_, beginnings, out_);
    find_slot_names(gil_, out_);
    write_profiler_rows(gil_, graph_, attributes_, paths, chains, limits_, out_);

    begin(kNaming);
    ScriptValues script(graph_, paths, chains, limits_);
    script.read(facts_.serial);
    ReferenceRows rows(gil_, classes_,
                       {graph_, complete, reachable_, paths, locals_, beginnings, tensors, optimizers, given, script},
                       chains, limits_, out_);
    write_tensors(tensors, paths, chains, rows);
    rows.write_without_object();

    stop_of_names_ = limits_.stop();
    out_.containers_detail = kContainersNotReached;
    begin(kContainers);
    const bool arrow = add_arrow_memory(gil_, facts_.sizes.get(), graph_, limits_);
    Keepers keepers(graph_, paths, limits_);
    if (!keepers.run()) return;
    ContainerRows containers(gil_, kinds_, graph_, paths, chains, keepers, beginnings, limits_, out_);
    if (containers.write() && arrow && graph_.complete()) out_.containers_detail = "";
    write_opaque_rows(gil_, kinds_, graph_, roots, attributes_, beginnings, limits_, out_);
    SharedRows(graph_, paths, keepers, chains, beginnings, limits_, out_).write(rows.holders());
  }

  // Where the program's own objects begin.
  std::vector<Object*> first_objects(const std::vector<Frame>& running) {
    Object* const modules = gil_->PyImport_GetModuleDict();
    Object* const main = module_globals(gil_, "__main__");
    std::vector<Object*> objects = {main ? main : modules};
    for (const Frame& frame : running) {
      const FunctionFacts* facts = functions_.of(frame.code);
      for (size_t i = 0; facts && i < facts->variables.size() && !memory_is_short(); ++i) {
        if (Object* value = slot_of(gil_, frame, i)) objects.push_back(value);
      }
    }
    objects.push_back(modules);
    return objects;
  }

  void name_modules(const TensorObjects& tensors, const ModuleTree& modules, const Optimizers& optimizers,
                    const ObjectPaths& paths, Chains& chains) {
    modules.want(chains, paths);
    if (!chains.find_steps()) return;
    optimizers.call(chains);
    modules.call_parameters(chains, paths);
    call_parameters_by_holder(tensors, optimizers, paths, chains);
    modules.name(chains, paths, names_.modules);
  }

  // The holders of a tensor that get a row: the nearest, and one that refers to it several times so often, as far as
  // the others leave room.
  const std::vector<uint32_t>& chosen(const TensorObjects& tensors, const TensorObjects::Tensor& tensor,
                                      const ObjectPaths& paths) {
    std::vector<uint32_t>& holders = chosen_;
    const size_t most = kMaxReferenceRows + std::min(kMoreReferenceRows, more_rows_);
    holders.clear();
    const auto nearer = [&](uint32_t a, uint32_t b) {
      return std::pair(paths.depth(a), a) < std::pair(paths.depth(b), b);
    };
    for (const uint32_t holder : tensors.holders(tensor)) {
      if (limits_.reached()) break;
      if (!paths.reached(holder)) continue;
      const auto at = std::lower_bound(holders.begin(), holders.end(), holder, nearer);
      if (at != holders.end() && *at == holder) {
        repeated_.push_back(holder);
        continue;
      }
      if (size_t(at - holders.begin()) >= most) continue;
      holders.insert(at, holder);
      if (holders.size() > most) holders.pop_back();
    }
    for (const uint32_t holder : repeated_) {
      if (holders.size() >= most) break;
      const auto at = std::lower_bound(holders.begin(), holders.end(), holder, nearer);
      if (at != holders.end() && *at == holder) holders.insert(at, holder);
    }
    repeated_.clear();
    return holders;
  }

  // Tensors that no module has registered and an optimizer trains, by whatever refers to them from nearest.
  void call_parameters_by_holder(const TensorObjects& tensors, const Optimizers& optimizers, const ObjectPaths& paths,
                                 Chains& chains) {
    struct Called {
      uint32_t object;
      Row row;
    };
    PageArray<Called> all;
    for (const TensorObjects::Tensor& tensor : tensors.all()) {
      const uint32_t object = tensor.object;
      if (!optimizers.trains(object) || chains.called(object)) continue;
      if (limits_.reached()) return;
      const std::vector<uint32_t>& holders = chosen(tensors, tensor, paths);
      const auto local = locals_.find(object);
      if (holders.empty() && local != locals_.end()) chains.call(object, local->second[0]->name);
      if (holders.empty()) continue;
      if (!all.push({object, {holders[0], object, chains.want(holders[0], object)}})) return limits_.memory_ran_out();
    }
    if (!chains.find_steps()) return;
    for (const Called& called : all) {
      Chain chain = chains.of(called.row.holder);
      chains.extend_to_held(chain, called.row.holder, called.object, called.row.answer);
      if (!chains.ready()) return;
      chains.call(called.object, std::move(chain.text));
    }
  }

  void write_tensors(const TensorObjects& tensors, const ObjectPaths& paths, Chains& chains, ReferenceRows& writer) {
    TensorBatches batches(limits_);
    const PageArray<TensorObjects::Tensor>& all = tensors.all();
    PageArray<Row> rows;
    PageArray<uint32_t> first;  // row of each tensor of the batch, and the end
    for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      if (!batches.begin()) return limits_.end_part(batches.stop());
      rows.clear();
      first.clear();
      do {
        if (!choose_rows(tensors, all[end], paths, chains, rows, first)) return;
      } while (++end < all.size() && batches.takes_more(end - begin, chains.questions()));
      const size_t questions = chains.questions();
      if (!first.push(uint32_t(rows.size())) || !chains.find_steps()) return;
      for (size_t i = begin; i < end; ++i) {
        const std::span<const Row> own(rows.begin() + first[i - begin], rows.begin() + first[i - begin + 1]);
        if (!writer.write(all[i], own)) return;
      }
      batches.end(questions);
    }
  }

  bool choose_rows(const TensorObjects& tensors, const TensorObjects::Tensor& tensor, const ObjectPaths& paths,
                   Chains& chains, PageArray<Row>& rows, PageArray<uint32_t>& first) {
    bool room = first.push(uint32_t(rows.size()));
    size_t nth = 0;
    uint32_t last = kNoObject;
    const std::vector<uint32_t>& holders = chosen(tensors, tensor, paths);
    more_rows_ -= holders.size() - std::min(holders.size(), kMaxReferenceRows);
    for (const uint32_t holder : holders) {
      nth = holder == last ? nth + 1 : 0;
      last = holder;
      const uint32_t object = tensors.held_object(graph_, tensor, holder, nth);
      room = room && rows.push({holder, object, chains.want(holder, object)});
    }
    if (!room) limits_.memory_ran_out();
    return !limits_.reached();
  }

  const Gil& gil_;
  LookLimits limits_;
  const SnapshotFacts& facts_;
  const KnownClasses& classes_;
  Names& names_;
  References& out_;
  ProcessGroups& groups_;
  Kinds kinds_;
  ObjectSizes sizes_;
  const FrozenObjects frozen_;
  ObjectGraph graph_;
  Functions functions_;
  Attributes attributes_;
  std::vector<bool> reachable_;
  std::vector<uint32_t> chosen_, repeated_;
  size_t more_rows_ = kMoreRowsOfAll;
  LocalsByObject locals_;
  std::optional<LookLimits::Stop> stop_of_names_;  // before containers were added up
};

}  // namespace

void look_at_objects(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, Names& names,
                     References& references, ProcessGroups& groups) {
  const KnownClasses classes = KnownClasses::find(gil);
  names.complete = references.complete = true;
  if (!classes.nn_module && !classes.tensor) return;  // torch was never imported
  if (!check_type_fields(gil)) {
    names.complete = references.complete = false;
    names.detail = references.detail = "this interpreter's types have an unknown layout";
    return;
  }
  read_process_groups(gil, groups);
  Look(gil, deadline, facts, classes, names, references, groups).run();
}

}  // namespace tensorscope::python::heap_inspector
