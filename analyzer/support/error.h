// SPDX-License-Identifier: Apache-2.0
// What ends a command: one family of exceptions, each caught where the exit status is decided (cli/command_line.cc).
#pragma once

#include <stdexcept>

namespace tensorscope::analyzer {

// what(): one line for a person, with what failed, with which input, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Input that cannot be read at all. Exit status 2.
class BadInput : public Error {
 public:
  using Error::Error;
};

// A word on the command line that is none of those it could be. Exit status 2.
class BadChoice : public Error {
 public:
  using Error::Error;
};

// Another process that cannot be found, reached or stopped, or that refuses a request. Exit status 2.
class ProcessError : public Error {
 public:
  using Error::Error;
};

// A file that cannot be written, or a port that cannot be listened on. Exit status 2.
class OutputError : public Error {
 public:
  using Error::Error;
};

}  // namespace tensorscope::analyzer
