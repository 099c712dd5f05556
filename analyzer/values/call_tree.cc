// SPDX-License-Identifier: Apache-2.0
#include "values/call_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "support/dotted_path.h"

namespace tensorscope::values {

namespace {

constexpr size_t kMaxDigits = 18;  // that an index has room for

bool is_index(std::string_view name) { return name.size() <= kMaxDigits && analyzer::is_number(name); }

void sort_unique(std::vector<uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

// One module path, with what its calls did and what those below it did that no call of it covers.
struct PathNode {
  uint32_t parent = 0;
  uint32_t depth = 0;
  std::string name;
  std::string path;
  std::map<std::string, uint32_t, std::less<>> by_name;
  std::vector<uint32_t> children;  // in the order of their first calls
  CallNode sums;
  std::optional<std::tuple<format::StepMode, uint32_t, uint32_t>> pass;  // whose saved bytes `pass_saved` is
  uint64_t pass_saved = 0;
  bool has_peak = false;
};

class PathTree {
 public:
  explicit PathTree(const CallSequence& sequence) : sequence_(sequence) {
    nodes_.emplace_back();
    for (uint32_t i = 0; i < sequence.calls().size(); ++i) paths_.push_back(node_of(sequence.calls()[i].module));
    for (uint32_t i = 0; i < sequence.calls().size(); ++i) {
      if (sequence.calls()[i].backward) forwards_with_backward_.insert(sequence.parent(i));
    }
    for (uint32_t i = 0; i < sequence.calls().size(); ++i) add(i);
  }
  std::vector<PathNode>& nodes() { return nodes_; }  // the first is above all roots

 private:
  uint32_t node_of(std::string_view module) {
    const auto known = by_path_.find(module);
    if (known != by_path_.end()) return known->second;
    uint32_t at = 0;
    for (std::string& name : path_names(module.empty() ? "?" : module)) {
      auto child = nodes_[at].by_name.find(name);
      if (child == nodes_[at].by_name.end()) {
        const uint32_t made = uint32_t(nodes_.size());
        child = nodes_[at].by_name.emplace(name, made).first;
        nodes_[at].children.push_back(made);
        PathNode node;
        node.parent = at;
        node.depth = nodes_[at].depth + 1;
        node.path = at == 0 ? name : nodes_[at].path + "." + name;
        node.name = std::move(name);
        nodes_.push_back(std::move(node));
        at = made;
      } else {
        at = child->second;
      }
    }
    by_path_.emplace(module, at);
    return at;
  }

  uint32_t common_depth(uint32_t a, uint32_t b) const {
    while (a != b) {
      if (nodes_[a].depth < nodes_[b].depth) std::swap(a, b);
      a = nodes_[a].parent;
    }
    return nodes_[a].depth;
  }

  // How deep in its path a call around this one counts for already.
  uint32_t covered(uint32_t call) const {
    const bool backward = sequence_.calls()[call].backward;
    uint32_t at = sequence_.parent(call), depth = 0;
    if (backward && at != CallSequence::kNoCall) at = sequence_.parent(at);
    for (; at != CallSequence::kNoCall; at = sequence_.parent(at)) {
      if (backward && !forwards_with_backward_.contains(at)) continue;
      depth = std::max(depth, common_depth(paths_[call], paths_[at]));
    }
    return depth;
  }

  void add_own(uint32_t index) {
    const Call& call = sequence_.calls()[index];
    CallNode& sums = nodes_[paths_[index]].sums;
    (call.backward ? sums.backward_calls : sums.calls) += 1;
    sums.raised += call.raised;
    sums.unfinished += call.unfinished;
    if (!call.backward) sums.self_ns += sequence_.self_ns(index);
    if (sums.class_name.empty()) sums.class_name = call.class_name;
  }

  void add(uint32_t index) {
    const Call& call = sequence_.calls()[index];
    add_own(index);
    const uint32_t begin = covered(index);
    const bool in_order = !call.backward && orders(index);
    for (uint32_t at = paths_[index]; nodes_[at].depth > begin; at = nodes_[at].parent) {
      PathNode& node = nodes_[at];
      if (call.backward) {
        node.sums.backward_ns += duration_ns(call);
        continue;
      }
      node.sums.total_ns += duration_ns(call);
      if (in_order) node.sums.order.push_back(sequence_.position(index));
      if (!node.has_peak || call.peak > node.sums.peak) {
        node.has_peak = true;
        node.sums.live_before = call.live_before;
        node.sums.live_after = call.live_after;
        node.sums.peak = call.peak;
      }
      const std::tuple pass{call.mode, call.step, call.pass};
      if (node.pass != pass) node.pass_saved = 0;
      node.pass = pass;
      node.pass_saved += call.saved;
      node.sums.saved = std::max(node.sums.saved, node.pass_saved);
    }
  }

  // Whether the call is in the first call of its caller; without one, in the first pass of the thread that was first.
  bool orders(uint32_t index) {
    const uint32_t parent = sequence_.parent(index);
    if (parent != CallSequence::kNoCall) return first_calls_.emplace(paths_[parent], parent).first->second == parent;
    const Call &call = sequence_.calls()[index], &first = sequence_.calls().front();
    return std::tie(call.thread, call.mode, call.step, call.pass) ==
           std::tie(first.thread, first.mode, first.step, first.pass);
  }

  const CallSequence& sequence_;
  std::vector<PathNode> nodes_;
  std::vector<uint32_t> paths_;  // of each call
  std::unordered_map<std::string_view, uint32_t> by_path_;
  std::unordered_map<uint32_t, uint32_t> first_calls_;
  std::set<uint32_t> forwards_with_backward_;
};

void add_to(CallNode& sum, const CallNode& other) {
  sum.calls += other.calls;
  sum.backward_calls += other.backward_calls;
  sum.raised += other.raised;
  sum.unfinished += other.unfinished;
  sum.total_ns += other.total_ns;
  sum.self_ns += other.self_ns;
  sum.backward_ns += other.backward_ns;
  sum.saved += other.saved;
  if (other.peak > sum.peak) {
    sum.peak = other.peak;
    sum.live_before = other.live_before;
    sum.live_after = other.live_after;
  }
  if (sum.class_name != other.class_name) sum.class_name.clear();
  sum.order.insert(sum.order.end(), other.order.begin(), other.order.end());
}

// Makes the tree that is shown of the tree of paths.
class TreeMaker {
 public:
  TreeMaker(std::vector<PathNode>& paths, const CallTreeOptions& options) : paths_(paths), options_(options) {
    if (options.fold) sign();
    for (uint32_t root : paths_[0].children) place({root}, tree_.roots, 1, true);
  }
  CallTree take() { return std::move(tree_); }

 private:
  // A number for all that is below a path: equal numbers, equal classes and names all the way down.
  void sign() {
    std::map<std::pair<std::string, std::vector<std::pair<std::string, uint32_t>>>, uint32_t> known;
    shapes_.resize(paths_.size());
    for (size_t i = paths_.size(); i-- > 0;) {  // children come after their parents
      std::vector<std::pair<std::string, uint32_t>> below;
      for (const auto& [name, child] : paths_[i].by_name) below.emplace_back(name, shapes_[child]);
      shapes_[i] = known.emplace(std::pair{paths_[i].sums.class_name, below}, uint32_t(known.size())).first->second;
    }
  }

  bool only_holds(uint32_t path) const {
    const PathNode& node = paths_[path];
    return node.sums.calls == 0 && node.sums.backward_calls == 0 && !node.children.empty() &&
           std::all_of(node.children.begin(), node.children.end(),
                       [this](uint32_t child) { return is_index(paths_[child].name); });
  }

  // Which of the paths a node stands for together: those below `holders` with this name, or these numbers.
  std::vector<std::vector<uint32_t>> groups_below(const std::vector<uint32_t>& holders) const {
    std::vector<std::vector<uint32_t>> groups;
    std::map<uint32_t, size_t> by_shape;
    for (uint32_t child : paths_[holders.front()].children) {
      const bool folds = options_.fold && is_index(paths_[child].name);
      if (folds) {
        const auto [known, is_new] = by_shape.emplace(shapes_[child], groups.size());
        if (!is_new) {
          groups[known->second].push_back(child);
          continue;
        }
      }
      groups.push_back({child});
    }
    if (holders.size() == 1) return groups;
    for (std::vector<uint32_t>& group : groups) {
      const std::vector<uint32_t> first = group;
      for (size_t i = 1; i < holders.size(); ++i) {
        for (uint32_t child : first) group.push_back(paths_[holders[i]].by_name.at(paths_[child].name));
      }
    }
    return groups;
  }

  // A node for `group`: paths of one shape. `named`: its name is not that of the node above.
  void place(const std::vector<uint32_t>& group, std::vector<uint32_t>& into, uint32_t depth, bool named) {
    if (options_.depth > 0 && depth > options_.depth) return;
    if (options_.fold && only_holds(group.front())) {
      for (const auto& below : groups_below(group)) place(below, into, depth, true);
      return;
    }
    std::vector<std::vector<uint32_t>> below = groups_below(group);
    if (options_.prune && below.empty() && depth > 1) return;

    const PathNode& first = paths_[group.front()];
    CallNode node = first.sums;
    for (size_t i = 1; i < group.size(); ++i) add_to(node, paths_[group[i]].sums);
    node.path = first.path;
    node.modules = uint32_t(group.size());
    node.named = named;
    node.name = first.name;
    if (is_index(first.name) && first.parent != 0) {
      for (uint32_t path : group) node.indices.push_back(std::stoull(paths_[path].name));
      uint32_t holder = first.parent;
      while (is_index(paths_[holder].name) && paths_[holder].parent != 0) holder = paths_[holder].parent;
      node.name = paths_[holder].name;
    }
    sort_unique(node.indices);
    sort_unique(node.order);
    const uint32_t made = uint32_t(tree_.nodes.size());
    into.push_back(made);
    tree_.nodes.push_back(std::move(node));
    std::vector<uint32_t> children;
    for (const auto& next : below) place(next, children, depth + 1, !is_index(paths_[next.front()].name));
    tree_.nodes[made].children = std::move(children);
  }

  std::vector<PathNode>& paths_;
  const CallTreeOptions& options_;
  std::vector<uint32_t> shapes_;
  CallTree tree_;
};

}  // namespace

std::vector<std::string> path_names(std::string_view path) {
  std::vector<std::string> names;
  size_t begin = 0;
  while (begin <= path.size()) {
    if (names.size() + 1 == kDeepestPath) {
      names.emplace_back(path.substr(begin));
      break;
    }
    const size_t end = std::min(path.find_first_of(".[", begin == 0 ? 1 : begin), path.size());
    std::string_view name = path.substr(begin, end - begin);
    if (name.ends_with(']')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
    begin = end + 1;
  }
  if (names.empty()) names.emplace_back(path);
  return names;
}

CallSequence::CallSequence(std::vector<Call> calls, std::optional<uint32_t> step) : calls_(std::move(calls)) {
  find_missing(step);
  if (step) std::erase_if(calls_, [step](const Call& call) { return call.step != *step; });
  // A backward has its number when all of it is over. Of those that begin together the longest is around the others.
  const auto place = [](const Call& call) {
    return std::tuple(call.begin_ns, call.backward, call.backward ? ~call.end_ns : 0, call.id);
  };
  std::stable_sort(calls_.begin(), calls_.end(), [&](const Call& a, const Call& b) { return place(a) < place(b); });
  uint64_t last = 0;
  for (const Call& call : calls_) last = std::max({last, call.begin_ns, call.end_ns});
  for (Call& call : calls_) {
    if (call.unfinished && call.end_ns < call.begin_ns) call.end_ns = last;
    call.end_ns = std::max(call.end_ns, call.begin_ns);
    call.peak = std::max({call.peak, call.live_before, call.live_after});
  }
  link();
  measure();
  count();
}

// A call is written when it ends: those that were running when the program was killed are not in the file.
void CallSequence::find_missing(std::optional<uint32_t> step) {
  std::unordered_set<uint64_t> known;
  for (const Call& call : calls_) known.insert(call.id);
  std::unordered_set<uint64_t> missing;
  for (const Call& call : calls_) {
    if (!call.backward && call.parent != 0 && !known.contains(call.parent) && (!step || call.step == *step)) {
      missing.insert(call.parent);
    }
  }
  counts_.unfinished = missing.size();
}

void CallSequence::link() {
  parents_.assign(calls_.size(), kNoCall);
  depths_.assign(calls_.size(), 0);
  positions_.assign(calls_.size(), 0);
  std::unordered_map<uint64_t, uint32_t> by_id;
  std::unordered_map<uint64_t, uint32_t> among;
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    // A parent began before: what the file says otherwise would make a loop.
    const auto parent = by_id.find(calls_[i].parent);
    if (parent != by_id.end()) {
      parents_[i] = parent->second;
      depths_[i] = depths_[parent->second] + 1;
    }
    by_id.emplace(calls_[i].id, i);
    if (!calls_[i].backward) positions_[i] = ++among[calls_[i].parent];
  }
}

void CallSequence::measure() {
  self_ns_.resize(calls_.size());
  for (uint32_t i = 0; i < calls_.size(); ++i) self_ns_[i] = duration_ns(calls_[i]);
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].backward || parents_[i] == kNoCall) continue;
    uint64_t& self = self_ns_[parents_[i]];
    self -= std::min(self, duration_ns(calls_[i]));
  }
}

void CallSequence::count() {
  std::set<std::string_view> modules;
  std::set<std::tuple<format::StepMode, uint32_t, uint32_t>> passes;
  std::set<uint32_t> threads;
  if (!calls_.empty()) counts_.first_step = UINT32_MAX;
  for (const Call& call : calls_) {
    (call.backward ? counts_.backward : counts_.forward) += 1;
    modules.insert(call.module);
    if (!call.backward) passes.emplace(call.mode, call.step, call.pass);
    threads.insert(call.thread);
    counts_.raised += call.raised;
    counts_.unfinished += call.unfinished;
    counts_.first_step = std::min(counts_.first_step, call.step);
    counts_.last_step = std::max(counts_.last_step, call.step);
  }
  counts_.modules = modules.size();
  counts_.passes = passes.size();
  counts_.threads = threads.size();
}

CallTree call_tree(const CallSequence& sequence, const CallTreeOptions& options) {
  PathTree paths(sequence);
  return TreeMaker(paths.nodes(), options).take();
}

namespace {

class Squasher {
 public:
  explicit Squasher(const CallTree& tree) : tree_(tree) {
    for (uint32_t root : tree.roots) {
      const uint32_t made = add(root, CallSequence::kNoCall);
      if (std::find(result_.roots.begin(), result_.roots.end(), made) == result_.roots.end()) {
        result_.roots.push_back(made);
      }
    }
    for (SquashedCalls::Edge& edge : result_.edges) sort_unique(edge.order);
    mark_loops();
  }
  SquashedCalls take() { return std::move(result_); }

 private:
  uint32_t add(uint32_t index, uint32_t above) {
    const CallNode& node = tree_.nodes[index];
    const auto [known, is_new] = by_name_.emplace(node.name, uint32_t(result_.nodes.size()));
    if (is_new) result_.nodes.emplace_back().name = node.name;
    const uint32_t at = known->second;
    SquashedCalls::Node& squashed = result_.nodes[at];
    squashed.modules += node.modules;
    squashed.calls += node.calls;
    squashed.self_ns += node.self_ns;
    if (std::find(names_above_.begin(), names_above_.end(), at) == names_above_.end()) {
      squashed.total_ns += node.total_ns;
    }
    // What is numbered below the node that bears its name is that node.
    if (above != CallSequence::kNoCall && (at != above || node.named)) connect(above, at, node);
    names_above_.push_back(at);
    for (uint32_t child : node.children) add(child, at);
    names_above_.pop_back();
    return at;
  }

  void connect(uint32_t from, uint32_t to, const CallNode& node) {
    const auto [known, is_new] = by_ends_.emplace(std::pair{from, to}, uint32_t(result_.edges.size()));
    if (is_new) {
      result_.edges.push_back({.from = from, .to = to, .order = {}});
      result_.nodes[from].edges.push_back(known->second);
    }
    SquashedCalls::Edge& edge = result_.edges[known->second];
    edge.modules += node.modules;
    edge.order.insert(edge.order.end(), node.order.begin(), node.order.end());
  }

  void mark_loops() {
    enum class State : uint8_t { unseen, above, done };
    std::vector<State> states(result_.nodes.size(), State::unseen);
    struct Visit {
      uint32_t node;
      size_t next;
    };
    for (uint32_t root : result_.roots) {
      if (states[root] != State::unseen) continue;
      std::vector<Visit> visits{{root, 0}};
      states[root] = State::above;
      while (!visits.empty()) {
        Visit& visit = visits.back();
        const auto& edges = result_.nodes[visit.node].edges;
        if (visit.next == edges.size()) {
          states[visit.node] = State::done;
          visits.pop_back();
          continue;
        }
        SquashedCalls::Edge& edge = result_.edges[edges[visit.next++]];
        edge.loop = states[edge.to] == State::above;
        if (states[edge.to] == State::unseen) {
          states[edge.to] = State::above;
          visits.push_back({edge.to, 0});
        }
      }
    }
  }

  const CallTree& tree_;
  SquashedCalls result_;
  std::map<std::string, uint32_t> by_name_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_ends_;
  std::vector<uint32_t> names_above_;
};

}  // namespace

SquashedCalls squash(const CallTree& tree) { return Squasher(tree).take(); }

}  // namespace tensorscope::values
