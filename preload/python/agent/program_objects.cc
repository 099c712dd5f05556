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
#include "python/agent/module_tree.h"
#include "python/agent/object_graph.h"
#include "python/agent/object_kinds.h"
#include "python/agent/object_paths.h"
#include "python/agent/optimizers.h"
#include "python/agent/roots.h"
#include "python/agent/slot_names.h"
#include "python/agent/steps.h"
#include "python/agent/tensor_objects.h"
#include "python/agent/type_fields.h"
#include "python/module_outputs.h"
#include "python/named_tensors.h"
#include "python/objects.h"

namespace tensorscope::python::agent {

namespace {

using dump::ReferenceRoot;
using dump::WrapperState;

constexpr double kReadingPart = 0.6;   // of the time that is left: the rest is for naming what was read
constexpr size_t kMostRows = 16;       // of one tensor
constexpr size_t kMostNodeRows = 4;    // of one node
constexpr size_t kMostOutputRows = 8;  // of one tensor: calls within calls that returned it
constexpr char kNoTime[] = "the time was up before all objects were named";

class Look {
 public:
  Look(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, const KnownClasses& classes, Names& names,
       References& references)
      : gil_(gil),
        deadline_(deadline),
        facts_(facts),
        classes_(classes),
        names_(names),
        out_(references),
        graph_(gil, deadline.after_part(kReadingPart)),
        functions_(gil),
        attributes_(gil) {}

  void run() {
    const char* detail = "";
    const std::vector<Frame> running = running_frames(gil_);
    bool complete = graph_.read(held_by_interpreter(running), detail);
    Kinds kinds(gil_, classes_);
    kinds_.reserve(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i) kinds_.push_back(kinds.of(graph_.object(i)));
    reachable_ = complete ? reachable_objects(graph_) : std::vector<bool>(graph_.size(), true);

    ObjectPaths paths(graph_, deadline_);
    Roots roots(gil_, graph_, kinds_, functions_, paths, running, facts_.graph.get());
    const bool in_time = roots.run(reachable_, complete);
    if (complete && !in_time) detail = kNoTime;
    complete = complete && in_time;
    const ModuleTree modules(gil_, graph_, kinds_, attributes_);
    modules.lead(paths);
    const Optimizers optimizers(gil_, graph_, kinds_, attributes_);
    optimizers.lead(paths);
    const TensorObjects tensors(gil_, graph_, kinds_, facts_.serial);

    Steps steps(gil_, graph_, kinds_, functions_, attributes_);
    Chains chains(gil_, graph_, kinds_, paths, steps, functions_);
    modules.want(chains, paths);
    for (const LocalReference& local : roots.locals()) locals_[local.object].push_back(&local);
    choose_rows(tensors, paths, chains);
    choose_node_rows(paths, chains);
    chains.find_steps();
    optimizers.call(chains);
    modules.call_parameters(chains, paths);
    call_parameters_by_holder(tensors, optimizers, paths, chains);
    modules.name(chains, paths, names_.modules);
    read_given_names();
    read_outputs();
    write_tensors(tensors, optimizers, paths, chains);
    write_given_names();
    write_nodes(chains);
    find_slot_names(gil_, out_);
    out_.objects = graph_.size();
    names_.complete = out_.complete = complete;
    names_.detail = out_.detail = detail;
  }

 private:
  struct NodeRow {
    uint32_t holder, object, node;
  };
  // Not by a reference: said by the program, or by what a module returned.
  struct GivenName {
    ReferenceRoot root;
    std::string text;
  };

  // What gc.freeze() may have hidden with nothing that refers to it but the interpreter itself.
  std::vector<Object*> held_by_interpreter(const std::vector<Frame>& running) {
    std::vector<Object*> objects = {gil_->PyImport_GetModuleDict()};
    for (const Frame& frame : running) {
      const FunctionFacts* facts = functions_.of(frame.code);
      for (size_t i = 0; facts && i < facts->variables.size(); ++i) {
        if (Object* value = slot_of(gil_, frame, i)) objects.push_back(value);
      }
    }
    return objects;
  }

  // The holders of a tensor that get a row: registers of modules first, then the nearest.
  std::vector<uint32_t> chosen(const TensorObjects& tensors, const TensorObjects::Tensor& tensor,
                               const ObjectPaths& paths) const {
    std::vector<uint32_t> holders;
    for (const uint32_t holder : tensors.holders(tensor)) {
      if (paths.reached(holder)) holders.push_back(holder);
    }
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    const auto nearer = [&](uint32_t a, uint32_t b) {
      return std::pair(paths.depth(a), a) < std::pair(paths.depth(b), b);
    };
    if (holders.size() > kMostRows) {
      std::nth_element(holders.begin(), holders.begin() + kMostRows, holders.end(), nearer);
      holders.resize(kMostRows);
    }
    std::sort(holders.begin(), holders.end(), nearer);
    return holders;
  }

  void choose_rows(const TensorObjects& tensors, const ObjectPaths& paths, Chains& chains) {
    rows_.resize(tensors.all().size());
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i] = chosen(tensors, tensors.all()[i], paths);
      for (const uint32_t holder : rows_[i]) chains.want(holder, tensors.all()[i].object);
    }
  }

  void choose_node_rows(const ObjectPaths& paths, Chains& chains) {
    if (!facts_.graph) return;
    std::unordered_map<uint32_t, uint32_t> nodes;  // object -> node
    for (const auto& node : facts_.graph->nodes) {
      const uint32_t object = node.object == 0 ? kNoObject : graph_.find(reinterpret_cast<const Object*>(node.object));
      if (object != kNoObject && has_word(graph_.object(object), node.address)) nodes[object] = node.number;
    }
    if (nodes.empty()) return;
    std::unordered_map<uint32_t, size_t> rows;
    for (uint32_t from = 0; from < graph_.size(); ++from) {
      for (const uint32_t to : graph_.references(from)) {
        const auto found = nodes.find(to);
        if (found == nodes.end() || !paths.reached(from) || rows[to]++ >= kMostNodeRows) continue;
        node_rows_.push_back({from, to, found->second});
        chains.want(from, to);
      }
    }
    for (const auto& [object, node] : nodes) {
      const Root* root = paths.root(object);
      if (root && root->kind == ReferenceRoot::local) node_rows_.push_back({kNoObject, object, node});
      if (root) chains.want(object);
    }
    std::sort(node_rows_.begin(), node_rows_.end(), [](const NodeRow& a, const NodeRow& b) {
      return std::tie(a.node, a.holder) < std::tie(b.node, b.holder);
    });
  }

  // Tensors that no module has registered and an optimizer trains, by whatever refers to them from nearest.
  void call_parameters_by_holder(const TensorObjects& tensors, const Optimizers& optimizers, const ObjectPaths&,
                                 Chains& chains) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint32_t object = tensors.all()[i].object;
      if (!optimizers.trains(object) || chains.called(object)) continue;
      const auto local = locals_.find(object);
      if (!rows_[i].empty()) {
        chains.call(object, chains.of(rows_[i][0], object).text);
      } else if (local != locals_.end()) {
        chains.call(object, local->second[0]->name);
      }
    }
  }

  void read_given_names() {
    auto remember = [](const NamedTensor& named, void* context) {
      auto* look = static_cast<Look*>(context);
      if (named.serial <= look->facts_.serial) look->given_[named.serial].push_back({ReferenceRoot::user, named.text});
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
      std::unordered_map<uint64_t, const std::string*> paths;  // by module
      std::vector<Found> found;
    } search;
    for (const ModuleName& module : names_.modules) search.paths[module.object] = &module.path;
    auto remember = [](const ModuleOutput& output, Object* module, void* context) {
      auto* into = static_cast<Search*>(context);
      const auto path = into->paths.find(uint64_t(reinterpret_cast<uintptr_t>(module)));
      if (path != into->paths.end()) into->found.push_back({output.serial, *path->second + ".out" + output.way});
    };
    each_module_output(gil_, remember, &search);
    std::unordered_map<uint64_t, size_t> rows;
    for (size_t i = search.found.size(); i-- > 0;) {
      Found& output = search.found[i];
      if (output.serial > facts_.serial || rows[output.serial]++ >= kMostOutputRows) continue;
      given_[output.serial].push_back({ReferenceRoot::output, std::move(output.text)});
    }
  }

  void write_given(uint64_t serial, const std::vector<GivenName>& names) {
    for (size_t i = 0; i < names.size() && i < kMostRows; ++i) {
      add_row(serial, names[i].text, "", "", UINT32_MAX, 0, names[i].root, dump::ReferenceRole::plain);
    }
  }

  // Of tensors that have no Python object any more.
  void write_given_names() {
    for (const auto& [serial, names] : given_) write_given(serial, names);
  }

  void write_tensors(const TensorObjects& tensors, const Optimizers& optimizers, const ObjectPaths& paths,
                     Chains& chains) {
    std::unordered_map<const Object*, std::pair<uint32_t, bool>> types;  // name, Parameter
    for (size_t i = 0; i < rows_.size(); ++i) {
      const TensorObjects::Tensor& tensor = tensors.all()[i];
      Object* type = type_of(graph_.object(tensor.object));
      const auto [found, fresh] = types.try_emplace(type);
      if (fresh) {
        found->second = {out_.strings.intern(short_name_of_class(gil_, type)),
                         classes_.parameter && gil_->PyType_IsSubtype(type, classes_.parameter) != 0};
      }
      const auto local = locals_.find(tensor.object);
      const size_t variables = local == locals_.end() ? 0 : local->second.size();
      write_rows(tensor, rows_[i], local == locals_.end() ? nullptr : &local->second, paths, chains);
      out_.tensors.emplace_back(tensor.serial, found->second.first, uint32_t(tensor.holders + variables),
                                state(tensors, tensor, variables), uint8_t(optimizers.trains(tensor.object)),
                                uint8_t(found->second.second));
    }
  }

  WrapperState state(const TensorObjects& tensors, const TensorObjects::Tensor& tensor, size_t variables) const {
    const int64_t unexplained = graph_.outside_references(tensor.object) - tensor.kept_by_cpp;
    if (variables != 0 || unexplained > 0) return WrapperState::referenced;
    bool any = false;
    for (const uint32_t holder : tensors.holders(tensor)) {
      if (reachable_[holder]) return WrapperState::referenced;
      any = true;
    }
    return any ? WrapperState::garbage : WrapperState::kept_by_cpp;
  }

  void write_rows(const TensorObjects::Tensor& tensor, const std::vector<uint32_t>& holders,
                  const std::vector<const LocalReference*>* locals, const ObjectPaths& paths, Chains& chains) {
    const size_t first = out_.references.size();
    size_t left = kMostRows;
    if (const auto given = given_.find(tensor.serial); given != given_.end()) {
      write_given(tensor.serial, given->second);
      left -= std::min(left, given->second.size());
      given_.erase(given);
    }
    const size_t first_holder = out_.references.size();
    for (const LocalReference* local : locals ? *locals : std::vector<const LocalReference*>()) {
      if (left == 0) break;
      --left;
      add_row(tensor.serial, local->name, local->scope, "", UINT32_MAX, 0, ReferenceRoot::local,
              dump::ReferenceRole::plain);
    }
    for (const uint32_t holder : holders) {
      if (left == 0) break;
      --left;
      const Chain chain = chains.of(holder, tensor.object);
      const Kind kind = kinds_[holder];
      const bool variable = chains.of(holder).place == Chain::Place::globals || kind == Kind::cell ||
                            kind == Kind::frame || kind == Kind::generator;
      const bool packed = chain.root == ReferenceRoot::node && chain.text.starts_with("packed");
      add_row(tensor.serial, chain.text, chain.scope, variable ? "" : short_class_name(gil_, graph_.object(holder)),
              chain.node, chain.steps > 0 ? chain.steps - 1 : 0, chain.root,
              packed ? dump::ReferenceRole::saved : chain.role);
    }
    const Root* root = first_holder == out_.references.size() ? paths.root(tensor.object) : nullptr;
    if (root && graph_.outside_references(tensor.object) > int64_t(tensor.kept_by_cpp)) {
      add_row(tensor.serial, root->name, root->scope, "", root->node, 0, root->kind, dump::ReferenceRole::plain);
    }
    const auto begin = out_.references.begin() + ptrdiff_t(first);
    std::stable_sort(begin, out_.references.end(), [](const auto& a, const auto& b) { return a.steps() < b.steps(); });
  }

  void add_row(uint64_t tensor, const std::string& text, const std::string& scope, const char* holder, uint32_t node,
               uint32_t steps, ReferenceRoot root, dump::ReferenceRole role) {
    out_.references.emplace_back(tensor, out_.strings.intern(text), out_.strings.intern(scope),
                                 out_.strings.intern(holder), root == ReferenceRoot::node ? node : UINT32_MAX,
                                 uint16_t(std::min<uint32_t>(steps, UINT16_MAX)), root, role);
  }

  void write_nodes(Chains& chains) {
    for (const NodeRow& row : node_rows_) {
      const Chain chain = row.holder == kNoObject ? chains.of(row.object) : chains.of(row.holder, row.object);
      out_.nodes.emplace_back(out_.strings.intern(chain.text), out_.strings.intern(chain.scope), row.node, chain.root);
    }
  }

  const Gil& gil_;
  Deadline deadline_;
  const SnapshotFacts& facts_;
  const KnownClasses& classes_;
  Names& names_;
  References& out_;
  ObjectGraph graph_;
  Functions functions_;
  Attributes attributes_;
  std::vector<Kind> kinds_;
  std::vector<bool> reachable_;
  std::vector<std::vector<uint32_t>> rows_;  // of each tensor: the holders that are written
  std::vector<NodeRow> node_rows_;
  std::map<uint64_t, std::vector<GivenName>> given_;  // by serial
  std::unordered_map<uint32_t, std::vector<const LocalReference*>> locals_;
};

}  // namespace

void check_layouts(const Gil& gil) {
  check_locals(gil);
  check_attributes(gil);
}

void look_at_objects(const Gil& gil, Deadline deadline, const SnapshotFacts& facts, Names& names,
                     References& references) {
  const KnownClasses classes = KnownClasses::find(gil);
  names.complete = references.complete = true;
  if (!classes.nn_module && !classes.tensor) return;  // torch was never imported
  if (!check_type_fields(gil)) {
    names.complete = references.complete = false;
    names.detail = references.detail = "this interpreter's types are laid out in an unknown way";
    return;
  }
  const CollectionPaused paused(gil);
  Look(gil, deadline, facts, classes, names, references).run();
}

}  // namespace tensorscope::python::agent
