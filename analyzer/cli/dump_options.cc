#include "commands/opened_dump.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "model/filter_values.h"
#include "model/nearest_words.h"
#include "model/reader.h"
#include "render/units.h"

namespace tensorscope::commands {

OpenedDump::OpenedDump(const std::string& path, const model::SymbolOptions& options)
    : OpenedDump(model::read_dump(path), options) {}

OpenedDump::OpenedDump(model::Dump read, const model::SymbolOptions& options)
    : dump(std::move(read)), symbols(dump, options), places(dump, symbols), accounts(dump), holders(dump, &symbols) {}

model::Selection OpenedDump::select(const model::Filter& filter) {
  if (filter.empty()) return choose(filter);
  const model::Selection everything(dump, accounts, holders, places, {});
  model::check_values(filter, {view(everything)});
  return choose(filter);
}

std::string OpenedDump::why_nothing(const model::Selection& selection, const model::Filter& filter) {
  return model::why_nothing(filter, {view(selection)});
}

uint32_t OpenedDump::tensor_at(uint64_t address) const {
  if (by_address_.empty()) {
    for (uint32_t i = 0; i < dump.tensors.size(); ++i) by_address_.try_emplace(dump.tensors[i].address, i);
  }
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? model::kNone : found->second;
}

int finish(Invocation& invocation, const model::Dump& dump, int status) {
  for (const std::string& problem : dump.problems) invocation.say(problem);
  return dump.problems.empty() && dump.complete ? status : kBadInput;
}

void add_symbol_options(CLI::App& verb, model::SymbolOptions& options) {
  const char* group = "Symbols";
  verb.add_option("--sysroot", options.sysroot, "folder that stands for / of the machine that wrote the dump")
      ->type_name("DIR")
      ->group(group);
  verb.add_option("--source", options.source_folders,
                  "folder with the program's source files, for lines that are not in the dump; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->check(CLI::ExistingDirectory.description(""))
      ->group(group);
  verb.add_option("--debug-dir", options.debug_dirs, "folder with .build-id/xx/yyyy.debug files; may be repeated")
      ->type_name("DIR")
      ->expected(1)
      ->take_all()
      ->group(group);
  verb.add_flag_callback(
          "--no-symbols", [&options] { options.native = false; }, "leave native frames unresolved")
      ->group(group);
  verb.add_flag_callback(
          "--no-cache", [&options] { options.use_cache = false; }, "neither read nor write the symbol cache")
      ->group(group);
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
  return add_quantity(verb, name, value, help, render::parse_size, "sizes look like 4096, 64K, 10MiB, 1.5G")
      ->type_name("SIZE");
}

CLI::Option* add_time(CLI::App& verb, const std::string& name, std::optional<uint64_t>& ns, const std::string& help) {
  return add_quantity(verb, name, ns, help, render::parse_duration, "times look like 250ms, 90s, 5m, 2h, 1d")
      ->type_name("TIME");
}

void add_top(CLI::App& verb, size_t& top) {
  verb.add_option("--top", top, "how many rows; 0: all. Default " + std::to_string(top))
      ->check(CLI::Range(0, 1 << 30).description(""))
      ->type_name("N");
}

void add_full_stacks(CLI::App& verb, bool& full_stacks) {
  verb.add_flag("--full-stacks", full_stacks, "the whole Python and native stack under each place");
}

void add_filters(CLI::App& verb, model::Filter& filter) {
  const char* group = "Filters";
  auto add = [&](const char* name, std::vector<std::string>& values, const char* help, const char* type) {
    verb.add_option(name, values, help)->type_name(type)->expected(1)->take_all()->group(group);
  };
  add("--line,--file", filter.lines, "made in this file, or at this line of it: train.py, model.py:88", "FILE[:LINE]");
  add("--function", filter.functions, "made in a function of this name (part of it, or a pattern with * ?)", "NAME");
  add("--module", filter.modules, "of this nn.Module, or made in it: 'model.layers.*.attn'", "PATH");
  add("--name", filter.names, "that has such a name (part of it, or a pattern with * ?)", "NAME");
  add("--holder", filter.holders, "held by this: 'losses', 'saved by Softmax*', 'C++ only'", "HOLDER");
  add("--stack", filter.stacks, "a frame of the stack matches this regular expression (file:line function library)",
      "REGEX");
  add("--dtype", filter.dtypes, "float32, bfloat16, ...", "DTYPE");
  add("--device", filter.devices, "cpu, cuda (all of them), cuda:0, ...", "DEVICE");
  add("--shape", filter.shapes, "64,1024 or 64,* or ...,3 (* is any size, ... any number of them)", "SHAPE");
  add("--class", filter.classes, "class of the tensor, in Python or C++: Parameter, SparseTensorImpl", "NAME");
  add("--thread", filter.threads, "made by the thread of this name or number", "THREAD");
  const std::vector<std::string> words = model::category_words();
  const std::string categories = model::listed(words, words.size()) + " (workspace: in no tensor)";
  add("--category", filter.categories, categories.c_str(), "CATEGORY");
  verb.add_flag("--leaf", filter.leaf, "leaves of the autograd graph")->group(group);
  verb.add_flag("--with-grad", filter.with_grad, "tensors that have a .grad")->group(group);
  verb.add_flag("--requires-grad", filter.requires_grad, "tensors that require grad")->group(group);
  verb.add_flag("--not-in-optimizer", filter.not_in_optimizer,
                "leaves that require grad and are in no optimizer's param_groups")
      ->group(group);
  add_size(verb, "--min-size", filter.min_size, "storages and blocks of at least this size")->group(group);
  add_size(verb, "--max-size", filter.max_size, "storages and blocks of at most this size")->group(group);
  add_time(verb, "--min-age", filter.min_age_ns, "made at least this long before the dump")->group(group);
  add_time(verb, "--max-age", filter.max_age_ns, "made at most this long before the dump")->group(group);
}

void add_grouping(CLI::App& verb, model::By& by) {
  std::vector<std::string> names(std::begin(model::kByNames), std::end(model::kByNames));
  verb.add_option_function<std::string>(
          "--by",
          [&by, names](const std::string& name) {
            const std::optional<model::By> found = model::by_named(name);
            if (!found) throw CLI::ValidationError(model::invalid_choice("--by", name, names));
            by = *found;
          },
          "site (whole stack), line, function, module, dtype, device, shape, thread, category, holder")
      ->type_name("WHAT")
      ->default_str(model::kByNames[size_t(by)]);
}

}  // namespace tensorscope::commands
