// SPDX-License-Identifier: Apache-2.0
#include "cli/dump_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "text/choice_words.h"
#include "text/units.h"
#include "text/unread_words.h"

namespace tensorscope::cli {

int finish(Invocation& invocation, const analyzer::Dump& dump, int status) {
  for (const std::string& problem : dump.problems) invocation.report_once(problem);
  return dump.problems.empty() && dump.complete ? status : kBadInput;
}

int finish(Invocation& invocation, analyzer::OpenedDump& opened, int status) {
  report_unread(invocation, opened.places.unread().files());
  return finish(invocation, opened.dump, status);
}

int finish(Invocation& invocation, const analyzer::ComparedDumps& dumps, int status) {
  report_unread(invocation, dumps.unread());
  return finish_each(invocation, dumps, status);
}

int finish_each(Invocation& invocation, const analyzer::ComparedDumps& dumps, int status) {
  for (size_t i = 0; i < dumps.size(); ++i) status = std::max(status, finish(invocation, dumps[i].dump));
  return status;
}

void report_new_order(Invocation& invocation, const analyzer::ComparedDumps& dumps) {
  if (dumps.reordered()) {
    invocation.say("the dumps were not in chronological order; they are compared from oldest to newest.");
  }
}

void report_without_names(Invocation& invocation, const analyzer::ComparedDumps& dumps) {
  for (size_t i = 0; i < dumps.size(); ++i) {
    const analyzer::Dump& dump = dumps[i].dump;
    if (analyzer::has_names(dump)) continue;
    const std::string& why = dump.references.detail;
    invocation.report_once(dump.path + " has no tensor names" + (why.empty() ? "" : " (" + why + ")") +
                           "; its holders are unknown.");
  }
}

void report_unread(Invocation& invocation, const analyzer::UnreadFiles& files) {
  const std::string words = text::unread_names_phrase(files);
  if (!words.empty()) invocation.say(words);
}

namespace {

constexpr const char* kSymbols = "Symbols";

}  // namespace

void add_frame_options(CLI::App& verb, analyzer::SymbolOptions& options) {
  const char* group = kSymbols;
  verb.add_option("--sysroot", options.sysroot, "root directory of the machine that wrote the dump")
      ->type_name("DIR")
      ->group(group);
  verb.add_option("--source", options.source_folders,
                  "directory with the program's source files, for lines not in the dump; repeatable")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->check(CLI::ExistingDirectory.description(""))
      ->group(group);
  verb.add_option("--debug-dir", options.debug_dirs, "directory with .build-id/xx/yyyy.debug files; repeatable")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->group(group);
  verb.add_flag_callback(
          "--no-symbols", [&options] { options.native = false; }, "do not resolve native frames")
      ->group(group);
  verb.add_flag_callback(
          "--no-cache", [&options] { options.use_cache = false; }, "do not use the symbol cache")
      ->group(group);
}

void add_symbol_options(CLI::App& verb, analyzer::SymbolOptions& options) {
  add_frame_options(verb, options);
  verb.add_option("--names-from", options.name_dumps,
                  "dump of the run that a recording is of, whose names, categories and holders its moments have; "
                  "repeatable. Default: those beside the recording")
      ->type_name("DUMP")
      ->expected(1)
      ->take_all()
      ->group(kSymbols);
}

namespace {

// An option whose text is parsed into a number; `mistake` says what is wrong with one that is not.
CLI::Option* add_quantity(CLI::App& verb, const std::string& name, std::optional<uint64_t>& value,
                          const std::string& help, std::optional<uint64_t> (*parse)(std::string_view),
                          const char* mistake) {
  return verb.add_option_function<std::string>(
      name,
      [name, &value, parse, mistake](const std::string& text) {
        value = parse(text);
        if (!value) throw CLI::ValidationError("invalid value '" + text + "' for " + name + "; " + mistake);
      },
      help);
}

}  // namespace

CLI::Option* add_size(CLI::App& verb, const std::string& name, std::optional<uint64_t>& value,
                      const std::string& help) {
  return add_quantity(verb, name, value, help, text::parse_size, "sizes look like 4096, 64K, 10MiB, 1.5G")
      ->type_name("SIZE");
}

CLI::Option* add_time(CLI::App& verb, const std::string& name, std::optional<uint64_t>& ns, const std::string& help) {
  return add_quantity(verb, name, ns, help, text::parse_duration, "times look like 250ms, 90s, 5m, 2h, 1d")
      ->type_name("TIME");
}

void add_top(CLI::App& verb, size_t& top) {
  verb.add_option("--top", top, "number of rows; 0 for all. Default: " + std::to_string(top))
      ->check(CLI::Range(0, 1 << 30).description(""))
      ->type_name("N");
}

void add_full_stacks(CLI::App& verb, bool& full_stacks) {
  verb.add_flag("--full-stacks", full_stacks, "full Python and native stack of each allocation site");
}

void add_filters(CLI::App& verb, analyzer::Filter& filter) {
  const char* group = "Filters";
  auto add = [&](const char* name, std::vector<std::string>& values, const char* help, const char* type) {
    verb.add_option(name, values, help)->type_name(type)->expected(1)->take_all()->group(group);
  };
  add("--line,--file", filter.lines, "made in this file or at this line: train.py, model.py:88", "FILE[:LINE]");
  add("--function", filter.functions, "made in this function (substring, or pattern with * ?)", "NAME");
  add("--module", filter.modules, "belongs to this nn.Module: 'model.layers.*.attn'", "PATH");
  add("--name", filter.names, "tensor name (substring, or pattern with * ?)", "NAME");
  add("--holder", filter.holders, "holder: 'losses', 'saved by Softmax*', 'C++ only'", "HOLDER");
  add("--stack", filter.stacks, "regular expression that matches a stack frame (file:line function library)", "REGEX");
  add("--dtype", filter.dtypes, "float32, bfloat16, ...", "DTYPE");
  add("--device", filter.devices, "cpu, cuda (all of them), cuda:0, ...", "DEVICE");
  add("--shape", filter.shapes, "64,1024 or 64,* or ...,3 (*: any size, ...: any number of dimensions)", "SHAPE");
  add("--class", filter.classes, "Python or C++ class of the tensor: Parameter, SparseTensorImpl", "NAME");
  add("--thread", filter.threads, "name or number of the thread that made it", "THREAD");
  const std::vector<std::string> words = analyzer::category_names();
  const std::string categories = text::listed(words, words.size()) + " (workspace: in no tensor)";
  add("--category", filter.categories, categories.c_str(), "CATEGORY");
  verb.add_flag("--leaf", filter.leaf, "leaves of the autograd graph")->group(group);
  verb.add_flag("--with-grad", filter.with_grad, "tensors with a .grad")->group(group);
  verb.add_flag("--requires-grad", filter.requires_grad, "tensors that require grad")->group(group);
  verb.add_flag("--not-in-optimizer", filter.not_in_optimizer, "leaves that require grad but are in no optimizer")
      ->group(group);
  add_size(verb, "--min-size", filter.min_size, "storages and blocks at least this large")->group(group);
  add_size(verb, "--max-size", filter.max_size, "storages and blocks at most this large")->group(group);
  add_time(verb, "--min-age", filter.min_age_ns, "at least this old at the dump")->group(group);
  add_time(verb, "--max-age", filter.max_age_ns, "at most this old at the dump")->group(group);
}

void add_grouping(CLI::App& verb, analyzer::GroupBy& by) {
  std::vector<std::string> names(std::begin(analyzer::kByNames), std::end(analyzer::kByNames));
  verb.add_option_function<std::string>(
          "--by",
          [&by, names](const std::string& name) {
            const std::optional<analyzer::GroupBy> found = analyzer::by_named(name);
            if (!found) throw CLI::ValidationError(text::invalid_choice("--by", name, names));
            by = *found;
          },
          "site (whole stack), line, function, module, dtype, device, shape, thread, category, holder")
      ->type_name("WHAT")
      ->default_str(analyzer::kByNames[size_t(by)]);
}

}  // namespace tensorscope::cli
