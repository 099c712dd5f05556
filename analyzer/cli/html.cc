// html: dumps and values files as one page for a browser; a file appears whole or not at all.
#include <fmt/format.h>

#include <cstring>

#include "cli/dump_options.h"
#include "cli/replaced_file.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "html/page.h"

namespace tensorscope::cli {

namespace {

struct HtmlOptions {
  std::vector<std::string> files;
  std::string output;
  bool force = false, confidential = false;
  analyzer::SymbolOptions symbols;
};

int write_page(const html::Page& page, const std::string& path, Invocation& invocation) {
  ReplacedFile file(path);
  int error = file.error();
  if (error == 0) {
    page.write(file.stream());
    error = file.finish();
  }
  if (error == 0) return kOk;
  invocation.say(fmt::format("cannot write {}: {}.", path, strerror(error)));
  return kBadInput;
}

int run_html(const HtmlOptions& options, Invocation& invocation) {
  if (html::page_template().empty()) {
    invocation.say(std::string(html::why_no_page()));
    return kBadInput;
  }
  if (!may_write(options.output, options.force, invocation)) return kBadInput;
  html::Page page(TENSORSCOPE_VERSION, options.confidential);
  std::vector<analyzer::Dump> read;
  for (const std::string& path : options.files) {
    read.push_back(analyzer::read_dump(path));
    page.prepare(read.back());
  }
  analyzer::SymbolOptions symbols = options.symbols;
  if (options.confidential) symbols.source_folders.clear();
  analyzer::ComparedDumps dumps(std::move(read), {}, symbols);
  say_new_order(invocation, dumps);
  page.add(dumps);
  const int status = write_page(page, options.output, invocation);
  return status == kOk ? finish(invocation, dumps) : status;
}

}  // namespace

void add_html(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "html",
                                  "one page for a browser: overview, tensors; opens offline, can be sent", run_html);
  verb->add_option("FILE", options->files, "dump files")->required()->type_name("");
  verb->add_option("-o,--output", options->output, "output file: report.html")->required()->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite FILE");
  verb->add_flag("--confidential", options->confidential,
                 "leave out source lines, host, user, command line, settings and folders above the project");
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope html train.4242.1.tscope -o report.html\n"
      "  tensorscope html train.4242.*.tscope -o report.html --force\n"
      "  tensorscope html train.4242.oom-1.tscope -o report.html --confidential\n"
      "\n"
      "The file loads nothing from the network. docs/cli/html.md says what a page shows and which browsers open it.");
}

}  // namespace tensorscope::cli
