// SPDX-License-Identifier: Apache-2.0
// A file under a temporary name beside its place, that becomes the real one or goes away: it appears whole or not at
// all.
#pragma once

#include <fstream>
#include <ostream>
#include <string>

#include "cli/invocation.h"

namespace tensorscope::cli {

class ReplacedFile {
 public:
  explicit ReplacedFile(const std::string& path);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  std::ostream& stream() { return stream_; }
  const std::string& temporary() const { return temporary_; }  // for a library that writes by itself
  int error() const { return error_; }                         // of opening; 0: none
  // 0, or the error.
  int finish();

 private:
  std::string path_, temporary_;
  std::ofstream stream_;
  int error_ = 0;
  bool done_ = false;
};

// Whether nothing is lost by writing there; says on standard error what prevents it.
bool may_write(const std::string& path, bool force, Invocation& invocation);
// The same for a folder of files.
bool may_write_folder(const std::string& folder, bool force, Invocation& invocation);
// The whole of it at once; says on standard error why not.
bool write_file(const std::string& path, const std::string& text, bool force, Invocation& invocation);

}  // namespace tensorscope::cli
