// SPDX-License-Identifier: Apache-2.0
#include "collector/written_dumps.h"

#include <errno.h>
#include <stdio.h>

#include <string>

#include "support/copy_text.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "support/process_info.h"

namespace tensorscope::collector {

namespace {
constinit WrittenDumps g_written;
FreshInChild g_fresh_written{g_written};
}  // namespace

WrittenDumps& written_dumps() { return g_written; }

void dump_directory(char (&out)[PATH_MAX]) {
  const char* wanted = options().directory;
  const char* start = process_info().directory;
  if (wanted == nullptr || *wanted == 0) wanted = start;
  if (*wanted == 0) wanted = ".";
  const bool absolute = *wanted == '/' || *start == 0;
  const std::string whole = absolute ? wanted : std::string(start) + "/" + wanted;
  copy_text(whole, out);
}

const char* trigger_name(Reason reason) {
  switch (reason) {
    case Reason::signal:
      break;
    case Reason::exit:
      return "exit";
    case Reason::call:
      return "call";
    case Reason::out_of_memory:
      return "oom";
    case Reason::growth:
      return "growth";
    case Reason::low_memory:
      return "low-memory";
  }
  return "signal";
}

void dump_kind(Reason reason, char (&kind)[32]) {
  kind[0] = 0;
  if (reason == Reason::exit) snprintf(kind, sizeof(kind), "exit");
  if (reason == Reason::out_of_memory) snprintf(kind, sizeof(kind), "oom-%u", g_written.out_of_memory + 1);
  if (reason == Reason::low_memory) snprintf(kind, sizeof(kind), "low-memory-%u", g_written.low_memory + 1);
  if (reason == Reason::growth) snprintf(kind, sizeof(kind), "growth-%u", g_written.at_growth + 1);
}

void count_dump(Reason reason) {
  ++g_written.all;
  if (reason == Reason::out_of_memory) {
    ++g_written.out_of_memory;
  } else if (reason == Reason::low_memory) {
    ++g_written.low_memory;
  } else if (reason == Reason::growth) {
    ++g_written.at_growth;
  } else if (reason != Reason::exit) {
    ++g_written.asked_for;
  }
}

bool name_file(dump::DumpFile& file, const dump::DumpName& base, char (&name)[NAME_MAX + 1]) {
  constexpr unsigned kAttempts = 10000;
  for (unsigned attempt = 1; attempt <= kAttempts; ++attempt) {
    dump::dump_name(options().name, process_info(), base, attempt, name);
    if (file.give_name(name)) return true;
    if (file.error() != EEXIST) return false;
  }
  return false;
}

}  // namespace tensorscope::collector
