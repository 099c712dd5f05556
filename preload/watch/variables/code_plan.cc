// SPDX-License-Identifier: Apache-2.0
#include "watch/variables/code_plan.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "python/file_bytes.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/objects.h"
#include "python/own_source.h"
#include "tensor_values/nearest.h"
#include "tensorscope/rules/user_code.h"
#include "values_file/value_store.h"
#include "watch/variables/code_plan.py.h"

namespace tensorscope::watch {

namespace {

using python::Gil;
using python::Object;
using python::Owned;
using python::text_of;
using rules::match_path;
using rules::PathMatch;
using rules::WatchSpec;
using tensor_values::nearest_of;

constexpr size_t kMaxNoted = 500;
constexpr size_t kMaxVariables = 256;
constexpr int kQualifiedNames = 311;

constexpr long long kOptimized = 0x1, kGenerator = 0x20, kCoroutine = 0x80, kAsyncGenerator = 0x200;

long long number_attribute(const Gil& gil, Object* object, const char* name) {
  const Owned value(gil, gil->PyObject_GetAttrString(object, name));
  const long long number = value ? gil->PyLong_AsLongLong(value.get()) : 0;
  gil->PyErr_Clear();
  return number;
}

std::string text_attribute(const Gil& gil, Object* object, const char* name) {
  const Owned value(gil, gil->PyObject_GetAttrString(object, name));
  return value ? std::string(text_of(gil, value.get())) : std::string();
}

std::vector<std::string> text_attributes(const Gil& gil, Object* object, const char* name) {
  const Owned value(gil, gil->PyObject_GetAttrString(object, name));
  std::vector<std::string> texts;
  python::each_element(gil, value.get(), [&](ptrdiff_t, Object* text) {
    texts.emplace_back(text_of(gil, text));
    return true;
  });
  return texts;
}

std::vector<std::string> function_segments(std::string_view name) {
  std::vector<std::string> all = rules::code_path_detail::split(name, '.');
  std::erase(all, "<locals>");
  return all;
}

std::string joined(const std::vector<std::string>& parts, char between) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : std::string(1, between)).append(part);
  return text;
}

// As many of the path's last parts as the pattern names; with `**` within it all of them.
std::string shown_file(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  const size_t any = pattern.front() == "**" ? 1 : 0;
  const bool more = std::find(pattern.begin() + ptrdiff_t(any), pattern.end(), "**") != pattern.end();
  if (any == 0 || more) return "/" + joined(path, '/');
  const size_t count = std::min(pattern.size() - any, path.size());
  return joined({path.end() - ptrdiff_t(count), path.end()}, '/');
}

// torch.compile() made it of a function of the program, or of the rest of one.
bool is_compiled(const Gil& gil, Object* code, std::string_view name) {
  if (name.starts_with("torch_dynamo_resume_in_")) return true;
  const std::vector<std::string> names = text_attributes(gil, code, "co_names");
  return std::any_of(names.begin(), names.end(), [](const std::string& each) {
    return each.starts_with("__compiled_fn_") || each.starts_with("__resume_at_");
  });
}

}  // namespace

struct CodePlans::Facts {
  Object* code;
  std::string path, name;
  std::vector<std::string> file, function;
  bool qualified = false;
};

int CodePlan::run_at(int offset) const {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), offset, [](int at, const CodeRun& run) { return at < run.begin; });
  return int(after - runs.begin()) - 1;
}

bool CodePlan::returns_at(int offset) const {
  return std::find(returns.begin(), returns.end(), offset) != returns.end();
}

Object* CodePlans::helper(const Gil& gil, const char* name) {
  if (!helpers_) helpers_ = python::run_own_source(gil, embedded::kCodePlan, {&python::g_file_bytes});
  return helpers_ ? python::entry(gil, helpers_, name) : nullptr;
}

bool CodePlans::fits(const Gil& gil, const WatchSpec& watch, Facts& facts) {
  const rules::CodePath& wanted = watch.code;
  if (!wanted.file.empty() && match_path(wanted.file, facts.file) != PathMatch::whole) return false;
  if (wanted.function.empty()) return number_attribute(gil, facts.code, "co_firstlineno") <= wanted.line;
  if (!rules::segment_matches(wanted.function.back(), facts.name) && wanted.function.back() != "**") return false;
  if (!wanted.module.empty()) return true;
  if (!facts.qualified) {
    facts.qualified = true;
    if (gil->series >= kQualifiedNames) {
      facts.function = function_segments(text_attribute(gil, facts.code, "co_qualname"));
    } else if (Object* function = helper(gil, "qualified"); function && !facts.name.starts_with("<")) {
      const Owned text(gil, gil->PyObject_CallFunctionObjArgs(function, facts.code, nullptr));
      if (text) facts.function = function_segments(text_of(gil, text.get()));
    }
    if (facts.function.empty()) facts.function = {facts.name};
  }
  if (match_path(wanted.function, facts.function) != PathMatch::whole) return false;
  return std::none_of(watch.exclude.begin(), watch.exclude.end(),
                      [&](const auto& pattern) { return match_path(pattern, facts.function) == PathMatch::whole; });
}

// Of the functions that a file has, also those that are never called.
void CodePlans::note(const Gil& gil, Object* code, const Facts& facts) {
  if (files_.size() < kMaxNoted) files_.insert(facts.file.empty() ? facts.path : facts.file.back());
  const bool of_file = std::any_of(watches_.begin(), watches_.end(), [&](const WatchSpec& watch) {
    return rules::is_of_code(watch.of) && !watch.code.file.empty() &&
           match_path(watch.code.file, facts.file) == PathMatch::whole;
  });
  if (!of_file || functions_.size() >= kMaxNoted) return;
  if (!facts.name.starts_with("<")) functions_.insert(facts.name);
  if (facts.name != "<module>") return;
  Object* function = helper(gil, "functions");
  if (!function) return;
  const Owned names(gil, gil->PyObject_CallFunctionObjArgs(function, code, nullptr));
  python::each_element(gil, names.get(), [&](ptrdiff_t, Object* name) {
    functions_.emplace(text_of(gil, name));
    return functions_.size() < kMaxNoted;
  });
}

CodePlan* CodePlans::make(const Gil& gil, Object* code) {
  Facts facts;
  facts.code = code;
  facts.path = text_attribute(gil, code, "co_filename");
  facts.name = text_attribute(gil, code, "co_name");
  facts.file = rules::file_segments(facts.path);
  note(gil, code, facts);
  std::vector<uint32_t> fitting;
  for (uint32_t i = 0; i < watches_.size(); ++i) {
    if (rules::is_of_code(watches_[i].of) && fits(gil, watches_[i], facts)) fitting.push_back(i);
  }
  if (fitting.empty() || facts.path == "<tensorscope>") return nullptr;
  if (is_compiled(gil, code, facts.name)) {
    values_file::count_loss("variables", "inside what torch.compile() compiled");
    return nullptr;
  }

  python::heap_inspector::Functions functions(gil);
  const python::heap_inspector::FunctionFacts* slots = functions.of(code);
  if (!slots) return nullptr;
  const long long flags = number_attribute(gil, code, "co_flags");
  auto plan = std::make_unique<CodePlan>();
  plan->file = code::short_path(facts.path, directory_);
  plan->function = facts.name;
  plan->first_line = uint32_t(number_attribute(gil, code, "co_firstlineno"));
  plan->yields_results = (flags & (kGenerator | kAsyncGenerator)) != 0;
  plan->frame_is_passed_on = plan->yields_results || (flags & kCoroutine) != 0;
  plan->has_self = slots->parameters > 0 && !slots->variables.empty();

  struct Stores {
    size_t run;
    std::string name;
  };
  std::vector<Stores> stores;
  const bool any_variable =
      std::any_of(fitting.begin(), fitting.end(), [&](uint32_t i) { return !watches_[i].code.variable.empty(); });
  Object* function = any_variable || plan->frame_is_passed_on ? helper(gil, "runs") : nullptr;
  const Owned read(gil, function ? gil->PyObject_CallFunctionObjArgs(function, code, nullptr) : nullptr);
  if (read) {
    python::each_element(gil, gil->PyTuple_GetItem(read.get(), 1), [&](ptrdiff_t, Object* offset) {
      plan->returns.push_back(int(gil->PyLong_AsLongLong(offset)));
      return true;
    });
    python::each_element(gil, gil->PyTuple_GetItem(read.get(), 0), [&](ptrdiff_t, Object* row) {
      const auto number = [&](ptrdiff_t i) { return gil->PyLong_AsLongLong(gil->PyTuple_GetItem(row, i)); };
      CodeRun run;
      run.begin = int(number(0));
      run.line = uint32_t(number(1));
      run.last_line = uint32_t(number(2));
      run.loop_end = int(number(3));
      python::each_element(gil, gil->PyTuple_GetItem(row, 4), [&](ptrdiff_t, Object* name) {
        stores.push_back({plan->runs.size(), std::string(text_of(gil, name))});
        return true;
      });
      plan->runs.push_back(std::move(run));
      return true;
    });
    gil->PyErr_Clear();
  }

  // Every variable that there is, once.
  struct Known {
    std::string name;
    VariablePlace place;
    size_t slot;
  };
  std::vector<Known> known;
  for (size_t i = 0; i < slots->variables.size(); ++i) known.push_back({slots->variables[i], VariablePlace::slot, i});
  const auto is_known = [&](const std::string& name) {
    return std::any_of(known.begin(), known.end(), [&](const Known& each) { return each.name == name; });
  };
  if ((flags & kOptimized) == 0) {
    for (const Stores& each : stores) {
      if (!is_known(each.name)) known.push_back({each.name, VariablePlace::body, 0});
    }
  }
  const std::vector<std::string> names =
      any_variable ? text_attributes(gil, code, "co_names") : std::vector<std::string>();
  if (variables_.size() < kMaxNoted) {
    for (const Known& each : known) variables_.insert(each.name);
  }

  for (const uint32_t number : fitting) {
    const WatchSpec& watch = watches_[number];
    const rules::CodePath& wanted = watch.code;
    const auto add = [&](const std::string& name, VariablePlace place, size_t slot) {
      CodeVariable variable;
      variable.watch = number;
      variable.name = name;
      variable.place = place;
      variable.slot = slot;
      variable.of_module = !wanted.module.empty();
      const std::string behind = name.empty() ? "" : ":" + name;
      if (variable.of_module) {
        variable.text = "." + facts.name + behind;
      } else if (wanted.line != 0) {
        variable.text = shown_file(wanted.file, facts.file) + ":" + std::to_string(wanted.line) + behind;
        variable.line = variable.last_line = wanted.line;
        for (const CodeRun& run : plan->runs) {
          if (run.line == wanted.line) variable.last_line = std::max(variable.last_line, run.last_line);
        }
        for (const Stores& each : stores) {
          const CodeRun& run = plan->runs[each.run];
          variable.stored_there |= each.name == name && run.line >= variable.line && run.line <= variable.last_line;
        }
      } else {
        variable.text = shown_file(wanted.file, facts.file) + ":" + joined(facts.function, '.') + behind;
      }
      for (const Stores& each : stores) {
        if (!name.empty() && each.name == name) plan->runs[each.run].stores.push_back(uint16_t(plan->variables.size()));
      }
      (variable.of_module ? plan->any_of_module : plan->any_for_all) = true;
      plan->variables.push_back(std::move(variable));
    };
    if (plan->variables.size() >= kMaxVariables) break;
    if (wanted.variable.empty()) {
      plan->wants_returns = true;
      add("", VariablePlace::slot, 0);
      continue;
    }
    if (wanted.line != 0 && std::none_of(plan->runs.begin(), plan->runs.end(),
                                         [&](const CodeRun& run) { return run.line == wanted.line; })) {
      continue;
    }
    const size_t before = plan->variables.size();
    for (const Known& each : known) {
      if (rules::segment_matches(wanted.variable, each.name) && !each.name.starts_with(".")) {
        add(each.name, each.place, each.slot);
      }
    }
    const bool is_name = wanted.variable.find('*') == std::string::npos;
    if (plan->variables.size() == before && is_name &&
        std::find(names.begin(), names.end(), wanted.variable) != names.end()) {
      const bool body = (flags & kOptimized) == 0;
      if (wanted.line != 0 || body) add(wanted.variable, body ? VariablePlace::body : VariablePlace::globals, 0);
    }
    plan->wants_lines |= plan->variables.size() != before;
  }
  return plan->variables.empty() ? nullptr : plan.release();
}

std::vector<std::string> CodePlans::nearest(const WatchSpec& watch) const {
  const rules::CodePath& wanted = watch.code;
  if (!wanted.file.empty()) {
    const bool seen = std::any_of(files_.begin(), files_.end(), [&](const std::string& file) {
      return rules::segment_matches(wanted.file.back(), file);
    });
    if (!seen) return nearest_of(wanted.file.back(), files_);
    const std::string function = joined(wanted.function, '.');
    if (!function.empty() && functions_.count(function) == 0) return nearest_of(function, functions_);
  }
  return wanted.variable.empty() ? std::vector<std::string>() : nearest_of(wanted.variable, variables_);
}

}  // namespace tensorscope::watch
