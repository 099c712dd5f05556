#include "dump/running_calls.h"

#include <map>
#include <set>
#include <string>

namespace tensorscope::analyzer {

namespace {

// What tells the calls of one function apart.
struct Differences {
  bool threads = false, depths = false;
};

struct Calls {
  std::set<uint64_t> threads;
  std::set<CallId> all;
};

std::map<std::string, Differences> differences_of(std::span<References* const> dumps) {
  std::map<std::string, Differences> functions;
  for (const References* references : dumps) {
    std::map<std::string, Calls> calls;
    for (const Reference& row : references->rows) {
      if (!row.call.known()) continue;
      Calls& function = calls[row.scope];
      function.threads.insert(row.call.thread);
      function.all.insert(row.call);
    }
    for (const auto& [scope, function] : calls) {
      if (function.all.size() < 2) continue;
      Differences& differences = functions[scope];
      differences.threads |= function.threads.size() > 1;
      differences.depths |= function.all.size() > function.threads.size();
    }
  }
  return functions;
}

// Threads by their names; by their numbers too, where several have one name or none.
std::map<uint64_t, std::string> thread_labels(std::span<References* const> dumps) {
  std::map<uint64_t, std::string> labels;
  std::map<std::string, std::set<uint64_t>> threads;
  for (const References* references : dumps) {
    for (const RunningCall& call : references->calls) threads[call.thread_name].insert(call.id.thread);
  }
  for (const auto& [name, numbers] : threads) {
    for (const uint64_t number : numbers) {
      const bool named = !name.empty() && numbers.size() == 1;
      std::string& label = labels[number];
      label = name.empty() ? "thread" : "thread " + name;
      if (!named) label += " #" + std::to_string(number);
    }
  }
  return labels;
}

}  // namespace

void tell_calls_apart(std::span<References* const> dumps) {
  const std::map<std::string, Differences> functions = differences_of(dumps);
  if (functions.empty()) return;
  const std::map<uint64_t, std::string> labels = thread_labels(dumps);
  for (References* references : dumps) {
    for (Reference& row : references->rows) {
      if (!row.call.known()) continue;
      const auto found = functions.find(row.scope);
      if (found == functions.end()) continue;
      row.which.clear();
      if (found->second.threads) row.which = labels.at(row.call.thread);
      if (found->second.depths) {
        row.which += (row.which.empty() ? "call " : ", call ") + std::to_string(row.call.depth);
      }
    }
  }
}

}  // namespace tensorscope::analyzer
