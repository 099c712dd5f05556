// SPDX-License-Identifier: Apache-2.0
// The web report: one file that a browser opens from disk, without any network. Its data are a JSON head and columns of
// numbers (payload.h); dump_data.cc and analyzer/web/src/data.ts have the fields.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "html/confidential.h"
#include "html/payload.h"
#include "memory/compared_dumps.h"

namespace tensorscope::html {

// The page without data; "" where this build has none, and then why.
std::string_view page_template();
std::string_view why_no_page();

class Page {
 public:
  Page(std::string version, bool confidential);

  // Takes out what a confidential page leaves out. Call before anything else reads the dump.
  void prepare(analyzer::Dump& dump);
  void add(analyzer::ComparedDumps& dumps);

  // What one part of the page shows: "timeline", "values", ... A page leaves out what is not there.
  void set_part(const std::string& name, Json part) { head_[name] = std::move(part); }
  // What could not be read of stacks that the page shows.
  void add_unread(const analyzer::UnreadFiles& files);
  const analyzer::UnreadFiles& unread() const { return unread_; }
  Payload& payload() { return payload_; }

  // `page`: with the mark where data go.
  void write(std::ostream& out, std::string_view page = page_template()) const;

 private:
  const bool confidential_;
  WithoutFolders without_folders_;
  Json head_;
  analyzer::UnreadFiles unread_;
  Payload payload_;
};

}  // namespace tensorscope::html
