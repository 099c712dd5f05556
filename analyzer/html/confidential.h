// SPDX-License-Identifier: Apache-2.0
// What a report that is sent to others leaves out: source lines, host, user, command line, settings, and folders.
#pragma once

#include <string>
#include <vector>

#include "dump/dump.h"
#include "html/payload.h"

namespace tensorscope::html {

// Takes it out of a dump, so that no question asked of it later can show it.
void make_confidential(analyzer::Dump& dump);

// "/home/ann/lib/x.py:3 f" -> "x.py:3 f": every absolute path becomes its last part, a home folder nothing. Also "~/x"
// and "../x". A blank ends a path, so folders with blanks in their names are learnt from the
// dumps that have them.
class WithoutFolders {
 public:
  void add(const analyzer::Dump& dump);
  std::string in_text(std::string text) const;
  // Every text and key in it.
  Json in_json(const Json& json) const;

 private:
  std::vector<std::string> with_blanks_;  // each ends with '/'
};

}  // namespace tensorscope::html
