// SPDX-License-Identifier: Apache-2.0
// What one variable or container refers to in every dump.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dump/references.h"
#include "leaks/growth.h"

namespace tensorscope::analyzer {

// By a handler that the program registered with Python's atexit.
bool kept_by_atexit(const Reference& row);

// What one variable or container refers to, in every dump: "losses[0]", "losses[1]", ... are one series.
struct Series {
  Reference example;       // of the last dump that has it
  std::string form;        // "losses[*]", "model.adapters.*.weight": what its references have in common
  bool container = false;  // an index in the text, a chain of objects, an object of C without field names, many threads
  bool several = false;    // what entries hold under several names: x[*].state and x[*].action
  std::vector<std::string> joined;  // forms of what was joined with it: several containers that are one for the reader
  bool keys_too = false;            // entries are reached in several ways: as keys and as values, as attributes
  std::vector<Beginning> beginnings;           // running calls and objects that have it; empty: any
  std::vector<uint64_t> beginning_counts;      // by dump: how many of them have it; empty: not known
  std::vector<std::vector<uint32_t>> members;  // tensors, by dump
  Growth growth;                               // bytes: of the storages they lie in

  // What a threading.local keeps, each thread its own.
  bool of_many_threads() const { return example.scope.ends_with("thread *"); }
  // What modules have that are imported under one name after the other.
  bool of_many_modules() const;
  bool of_atexit() const { return kept_by_atexit(example); }
  bool of_beginning(const Reference& row) const {
    return beginnings.empty() || std::find(beginnings.begin(), beginnings.end(), row.begin) != beginnings.end();
  }
};

// Adds the members that `from` has in each dump; growth and names stay.
void add_members(const Series& from, Series& to);

// What scopes of the same variables have in common: "serve.py, thread *"; of what waiting generators and coroutines
// have, without the keys of what keeps these: "windows (serve.py: open_streams[*])"; of modules that are imported,
// without the numbers in their names: "config_*".
std::string scope_form(const Reference& row);

// Whether two references are of one variable or container, indexes and keys apart.
bool same_form(const Reference& a, const Reference& b);
// Whether a reference is one of a series' own.
bool same_form(const Reference& row, const Series& series);
// Whether a reference begins at a variable, and is not what a module or an optimizer needs.
bool in_plain_variable(const Reference& row);

}  // namespace tensorscope::analyzer
