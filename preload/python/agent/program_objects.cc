#include "python/agent/program_objects.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/agent/attributes.h"
#include "python/agent/chains.h"
#include "python/agent/collection_paused.h"
#include "python/agent/frame_locals.h"
#include "python/agent/main_script.h"
#include "python/agent/module_tree.h"
#include "python/agent/object_graph.h"
#include "python/agent/object_kinds.h"
#include "python/agent/object_paths.h"
#include "python/agent/optimizers.h"
#include "python/agent/roots.h"
#include "python/agent/slot_names.h"
#include "python/agent/tensor_batches.h"
#include "python/agent/tensor_objects.h"
#include "python/agent/type_fields.h"
#include "python/module_outputs.h"
#include "python/named_tensors.h"
#include "python/objects.h"
#include "support/enough_memory.h"
#include "tensorscope/rules/utf8.h"

namespace tensorscope::python::agent {

namespace {

using format::NamesLimit;
using format::ReferenceRoot;
using format::WrapperState;

// How far each part of the look may go, of the time and the memory that there are. Reading costs more than all that
// comes before the tensors are named, for the same objects.
struct LimitShare {
  double time, memory;
};
constexpr LimitShare kReading = {0.45, 0.33}, kKinds = {0.48, 0.36}, kPaths = {0.65, 0.6}, kTensors = {0.8, 0.8},
                     kModules = {0.88, 0.9}, kNaming = {1, 1};
constexpr double kFoundMemory = 0.45;  // what is written exists twice for a moment, in rows and in the chunk

constexpr size_t kMostRows = 16;       // of one tensor
constexpr size_t kMostNodeRows = 4;    // of one node
constexpr size_t kMostOutputRows = 8;  // of one tensor: calls within calls that returned it
constexpr char kTimeWasUp[] = "the time limit for finding names was reached (TENSORSCOPE_NAMES_GIL_MS)";
constexpr char kMemoryWasUp[] = "the memory limit for finding names was reached (TENSORSCOPE_NAMES_MEMORY)";

class Look {
 public:
  Look(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, const KnownClasses& classes, Names& names,
       References& references)
      : gil_(gil),
        limits_(deadline),
        facts_(facts),
        classes_(classes),
        names_(names),
        out_(references),
        kinds_(gil, classes),
        graph_(gil, limits_, &kinds_),
        functions_(gil),
        attributes_(gil) {}

  void run() {
    const char* detail = "";
    look(detail);
    out_.objects = graph_.size();
    const LookLimits::Stop stop = limits_.stop();
    if (stop != LookLimits::Stop::none) {
      const bool time = stop == LookLimits::Stop::time;
      detail = time ? kTimeWasUp : kMemoryWasUp;
      out_.stopped_by = time ? NamesLimit::time : NamesLimit::memory;
    }
    names_.complete = out_.complete = *detail == 0;
    names_.detail = out_.detail = detail;
  }

 private:
  struct Row {
    uint32_t holder, object, answer;
  };
  struct NodeRow {
    uint32_t holder, object, node, answer;
  };
  // Not by a reference: said by the program, or by what a module returned.
  struct GivenName {
    ReferenceRoot root;
    std::string text;
  };

  void begin(LimitShare part) { limits_.begin_part(part.time, part.memory); }

  void look(const char*& detail) {
    const std::vector<Frame> running = running_frames(gil_);
    begin(kReading);
    bool complete = graph_.read(first_objects(running), detail);
    begin(kKinds);
    graph_.tell_other_kinds();
    begin(kPaths);
    if (complete) reachable_ = reachable_objects(graph_);
    complete = complete && reachable_.size() == graph_.size();
    if (!complete) reachable_.assign(graph_.size(), true);

    ObjectPaths paths(graph_, limits_);
    if (!paths.ready()) return;
    const TensorFields fields(graph_);
    Roots roots(gil_, graph_, fields, functions_, paths, running, facts_.graph.get(), limits_);
    roots.run(reachable_, complete);
    begin(kTensors);
    const TensorObjects tensors(gil_, graph_, fields, paths, facts_.serial, facts_.sizes.get(), limits_);
    for (const LocalReference& local : roots.locals()) locals_[local.object].push_back(&local);

    begin(kModules);
    const ModuleTree modules(gil_, graph_, attributes_, limits_);
    modules.lead(paths);
    const Optimizers optimizers(gil_, graph_, attributes_, limits_);
    optimizers.lead(paths);
    Chains chains(gil_, graph_, paths, functions_, attributes_, classes_, limits_);
    name_modules(tensors, modules, optimizers, paths, chains);
    read_given_names();
    read_outputs();
    write_nodes(paths, chains);
    find_slot_names(gil_, out_);

    begin(kNaming);
    write_tensors(tensors, optimizers, paths, chains);
    write_given_names();
  }

  // Where the program's own objects begin, and what gc.freeze() may have hidden with nothing that refers to it but the
  // interpreter itself.
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
      holders.insert(at, holder);
      if (holders.size() > kMostRows) holders.pop_back();
    }
    for (const uint32_t holder : repeated_) {
      if (holders.size() >= kMostRows) break;
      const auto at = std::lower_bound(holders.begin(), holders.end(), holder, nearer);
      if (at != holders.end() && *at == holder) holders.insert(at, holder);
    }
    repeated_.clear();
    return holders;
  }

  // What refers to nodes from nearest, as far as the graph shows.
  void write_nodes(const ObjectPaths& paths, Chains& chains) {
    if (!facts_.graph) return;
    std::unordered_map<uint32_t, uint32_t> nodes;  // object -> node
    for (const auto& node : facts_.graph->nodes) {
      if (limits_.reached()) return;
      const uint32_t object = node.object == 0 ? kNoObject : graph_.find(reinterpret_cast<const Object*>(node.object));
      if (object != kNoObject && has_word(graph_.object(object), node.address)) nodes[object] = node.number;
    }
    if (nodes.empty()) return;
    PageArray<NodeRow> rows;
    if (!choose_node_rows(nodes, paths, chains, rows) || !chains.find_steps()) return;
    std::sort(rows.begin(), rows.end(), [](const NodeRow& a, const NodeRow& b) {
      return std::tie(a.node, a.holder) < std::tie(b.node, b.holder);
    });
    for (const NodeRow& row : rows) {
      Chain chain = chains.of(row.holder == kNoObject ? row.object : row.holder);
      if (row.holder != kNoObject) chains.lead_on(chain, row.holder, row.object, row.answer);
      const uint32_t text = out_.strings.intern(chain.text), scope = out_.strings.intern(chain.scope);
      if (!chains.ready() || out_.strings.full()) return;
      if (!out_.nodes.emplace_back(text, scope, row.node, chain.root)) return limits_.memory_ran_out();
    }
  }

  bool choose_node_rows(const std::unordered_map<uint32_t, uint32_t>& nodes, const ObjectPaths& paths, Chains& chains,
                        PageArray<NodeRow>& rows) {
    bool room = true;
    std::unordered_map<uint32_t, size_t> count;
    for (uint32_t from = 0; from < graph_.size(); ++from) {
      for (const uint32_t to : graph_.references(from)) {
        const auto found = nodes.find(to);
        if (found == nodes.end() || !paths.reached(from) || count[to]++ >= kMostNodeRows) continue;
        if (limits_.reached()) return false;
        room = room && rows.push({from, to, found->second, chains.want(from, to)});
      }
      if (limits_.reached()) return false;
    }
    for (const auto& [object, node] : nodes) {
      if (limits_.reached()) return false;
      if (!paths.is_root(object)) continue;
      if (paths.root(object)->kind == ReferenceRoot::local) room = room && rows.push({kNoObject, object, node, 0});
      chains.want(object);
    }
    if (!room) limits_.memory_ran_out();
    return room;
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
      chains.lead_on(chain, called.row.holder, called.object, called.row.answer);
      if (!chains.ready()) return;
      chains.call(called.object, std::move(chain.text));
    }
  }

  void read_given_names() {
    auto remember = [](const NamedTensor& named, void* context) {
      auto* look = static_cast<Look*>(context);
      if (named.serial > look->facts_.serial || look->limits_.reached()) return;
      look->given_[named.serial].push_back({ReferenceRoot::user, named.text});
    };
    each_named_tensor(gil_, remember, this);
  }

  // After the names that the program gave. Inner calls end first, and the outermost is wanted first.
  void read_outputs() {
    struct Found {
      uint64_t serial;
      std::string text;
    };
    struct Search {
      LookLimits& limits;
      std::unordered_map<uint64_t, const std::string*> paths;  // by module
      std::vector<Found> found;
    } search = {limits_, {}, {}};
    auto remember = [](const ModuleOutput& output, Object* module, void* context) {
      auto* into = static_cast<Search*>(context);
      const auto path = into->paths.find(uint64_t(reinterpret_cast<uintptr_t>(module)));
      if (path == into->paths.end() || into->limits.reached()) return;
      into->found.push_back({output.serial, *path->second + ".out" + output.way});
    };
    for (const ModuleName& module : names_.modules) search.paths[module.object] = &module.path;
    each_module_output(gil_, remember, &search);
    std::unordered_map<uint64_t, size_t> rows;
    for (size_t i = search.found.size(); i-- > 0 && !limits_.reached();) {
      Found& output = search.found[i];
      if (output.serial > facts_.serial || rows[output.serial]++ >= kMostOutputRows) continue;
      given_[output.serial].push_back({ReferenceRoot::output, std::move(output.text)});
    }
  }

  void write_given(uint64_t serial, const std::vector<GivenName>& names) {
    for (size_t i = 0; i < names.size() && i < kMostRows; ++i) {
      add_row(serial, names[i].text, "", "", UINT32_MAX, 0, names[i].root, format::ReferenceRole::plain);
    }
  }

  // Of tensors that have no Python object any more.
  void write_given_names() {
    for (const auto& [serial, names] : given_) {
      if (limits_.reached() || found_too_much()) return;
      write_given(serial, names);
    }
  }

  bool found_too_much() {
    const MemoryLimit* limit = MemoryLimit::current();
    const uint64_t bytes = out_.strings.bytes() + out_.references.size() * sizeof(format::Reference) +
                           out_.tensors.size() * (sizeof(format::TensorObject) + sizeof(uint64_t));
    if (!limit || double(bytes) < double(limit->bytes()) * kFoundMemory) return false;
    limits_.memory_ran_out();
    return true;
  }

  void write_tensors(const TensorObjects& tensors, const Optimizers& optimizers, const ObjectPaths& paths,
                     Chains& chains) {
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
        if (!write_tensor(tensors, all[i], own, optimizers, paths, chains) || found_too_much()) return;
      }
      batches.end(questions);
    }
  }

  bool choose_rows(const TensorObjects& tensors, const TensorObjects::Tensor& tensor, const ObjectPaths& paths,
                   Chains& chains, PageArray<Row>& rows, PageArray<uint32_t>& first) {
    bool room = first.push(uint32_t(rows.size()));
    size_t nth = 0;
    uint32_t last = kNoObject;
    for (const uint32_t holder : chosen(tensors, tensor, paths)) {
      nth = holder == last ? nth + 1 : 0;
      last = holder;
      const uint32_t object = tensors.held_object(graph_, tensor, holder, nth);
      room = room && rows.push({holder, object, chains.want(holder, object)});
    }
    if (!room) limits_.memory_ran_out();
    return !limits_.reached();
  }

  struct TypeFacts {
    uint32_t name;
    bool parameter;
  };
  TypeFacts facts_of(Object* type) {
    const auto [found, fresh] = types_.try_emplace(type);
    if (fresh) {
      found->second = {out_.strings.intern(short_name_of_class(gil_, type)),
                       classes_.parameter && gil_->PyType_IsSubtype(type, classes_.parameter) != 0};
    }
    return found->second;
  }

  // All of a tensor's rows or none. Nothing is said of a tensor of which nothing was found where not all was looked at.
  bool write_tensor(const TensorObjects& tensors, const TensorObjects::Tensor& tensor, std::span<const Row> rows,
                    const Optimizers& optimizers, const ObjectPaths& paths, Chains& chains) {
    Object* const object = graph_.object(tensor.object);
    const bool capsule = graph_.kind(tensor.object) == Kind::capsule;
    const TypeFacts type =
        capsule ? TypeFacts{out_.strings.intern("DLPack capsule"), false} : facts_of(type_of(object));
    const auto local = locals_.find(tensor.object);
    const size_t variables = local == locals_.end() ? 0 : local->second.size();
    const size_t before = out_.references.size();
    write_rows(tensor, rows, local == locals_.end() ? nullptr : &local->second, paths, chains);
    if (!graph_.complete() && out_.references.size() == before && chains.ready()) return true;
    const bool written =
        chains.ready() && !out_.strings.full() &&
        out_.tensors.emplace_back(tensor.serial, type.name, uint32_t(tensor.holders + variables),
                                  state(tensors, tensor, variables), uint8_t(optimizers.trains(tensor.object)),
                                  uint8_t(type.parameter)) &&
        out_.ids.push(capsule ? 0 : uint64_t(reinterpret_cast<uintptr_t>(object)));
    if (written) return true;
    out_.references.resize(before);
    out_.tensors.resize(out_.ids.size());
    limits_.memory_ran_out();  // or another limit was reached before
    return false;
  }

  WrapperState state(const TensorObjects& tensors, const TensorObjects::Tensor& tensor, size_t variables) const {
    const int64_t unexplained = graph_.outside_references(tensor.object) - tensor.kept_by_cpp;
    const bool all_known = tensor.holders == graph_.inside_references(tensor.object);
    if (variables != 0 || unexplained > 0 || !all_known) return WrapperState::referenced;
    bool any = false;
    for (const uint32_t holder : tensors.holders(tensor)) {
      if (reachable_[holder]) return WrapperState::referenced;
      any = true;
    }
    return any ? WrapperState::garbage : WrapperState::kept_by_cpp;
  }

  void write_rows(const TensorObjects::Tensor& tensor, std::span<const Row> rows,
                  const std::vector<const LocalReference*>* locals, const ObjectPaths& paths, Chains& chains) {
    const size_t first = out_.references.size();
    size_t left = kMostRows;
    if (const auto given = given_.find(tensor.serial); given != given_.end()) {
      write_given(tensor.serial, given->second);
      left -= std::min(left, given->second.size());
      given_.erase(given);
    }
    if (const std::string_view name = own_name(tensor.object); !name.empty() && left > 0) {
      --left;
      add_row(tensor.serial, std::string(name), "", "", UINT32_MAX, 0, ReferenceRoot::user,
              format::ReferenceRole::plain);
    }
    const size_t first_holder = out_.references.size();
    for (const LocalReference* local : locals ? *locals : std::vector<const LocalReference*>()) {
      if (left == 0) break;
      --left;
      add_row(tensor.serial, local->name, local->scope, "", UINT32_MAX, 0, ReferenceRoot::local,
              format::ReferenceRole::plain);
    }
    for (const Row& row : rows) {
      if (left == 0) break;
      --left;
      write_row(tensor, row, chains);
    }
    const bool alone = first_holder == out_.references.size() && paths.is_root(tensor.object);
    if (alone && graph_.outside_references(tensor.object) > int64_t(tensor.kept_by_cpp)) {
      const Root root = *paths.root(tensor.object);
      add_row(tensor.serial, root.name, root.scope, "", root.node, 0, root.kind, format::ReferenceRole::plain);
    }
    const auto begin = out_.references.begin() + ptrdiff_t(first);
    std::stable_sort(begin, out_.references.end(), [](const auto& a, const auto& b) { return a.steps() < b.steps(); });
  }

  // `tensor.__name__ = "..."` of the program.
  std::string_view own_name(uint32_t tensor) const {
    Object* dict = own_dict(gil_, graph_.object(tensor));
    Object* name = dict ? entry(gil_, dict, "__name__") : nullptr;
    return name ? text_beginning(text_of(gil_, name), kLongestName) : std::string_view();
  }

  void write_row(const TensorObjects::Tensor& tensor, const Row& row, Chains& chains) {
    Chain chain = chains.of(row.holder);
    const Chain::Position position = chain.position;
    chains.lead_on(chain, row.holder, row.object, row.answer);
    const Kind kind = graph_.kind(row.holder);
    const bool variable =
        position == Chain::Position::globals || kind == Kind::cell || kind == Kind::frame || kind == Kind::generator;
    const bool packed = chain.root == ReferenceRoot::node && chain.text.starts_with("packed");
    add_row(tensor.serial, chain.text, chain.scope, variable ? "" : short_class_name(gil_, graph_.object(row.holder)),
            chain.node, chain.steps > 0 ? chain.steps - 1 : 0, chain.root,
            packed ? format::ReferenceRole::saved : chain.role);
    if (chain.within == format::ReferenceWithin::nothing) return;
    if (!out_.within.emplace_back(tensor.serial, out_.strings.intern(chain.text), chain.within))
      limits_.memory_ran_out();
  }

  void add_row(uint64_t tensor, const std::string& text, const std::string& scope, const char* holder, uint32_t node,
               uint32_t steps, ReferenceRoot root, format::ReferenceRole role) {
    const bool room = out_.references.emplace_back(
        tensor, out_.strings.intern(text), out_.strings.intern(scope), out_.strings.intern(holder),
        root == ReferenceRoot::node ? node : UINT32_MAX, uint16_t(std::min<uint32_t>(steps, UINT16_MAX)), root, role);
    if (!room) limits_.memory_ran_out();
  }

  const Gil& gil_;
  LookLimits limits_;
  const SnapshotFacts& facts_;
  const KnownClasses& classes_;
  Names& names_;
  References& out_;
  Kinds kinds_;
  ObjectGraph graph_;
  Functions functions_;
  Attributes attributes_;
  std::vector<bool> reachable_;
  std::vector<uint32_t> chosen_, repeated_;
  std::map<uint64_t, std::vector<GivenName>> given_;  // by serial
  std::unordered_map<uint32_t, std::vector<const LocalReference*>> locals_;
  std::unordered_map<const Object*, TypeFacts> types_;
};

}  // namespace

void check_layouts(const Gil& gil) {
  check_locals(gil);
  check_attributes(gil);
  main_script(gil);
}

void look_at_objects(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, Names& names,
                     References& references) {
  const KnownClasses classes = KnownClasses::find(gil);
  names.complete = references.complete = true;
  if (!classes.nn_module && !classes.tensor) return;  // torch was never imported
  if (!check_type_fields(gil)) {
    names.complete = references.complete = false;
    names.detail = references.detail = "this interpreter's types have an unknown layout";
    return;
  }
  const CollectionPaused paused(gil);
  Look(gil, deadline, facts, classes, names, references).run();
}

}  // namespace tensorscope::python::agent
