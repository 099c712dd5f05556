// SPDX-License-Identifier: Apache-2.0
#include "tables/inputs.h"

#include <algorithm>

#include "memory/compared_dumps.h"

namespace tensorscope::tables {

namespace {

constexpr size_t kMaxTogether = 16;  // dumps that are in memory at once

}  // namespace

std::shared_ptr<const SharedFindings> Inputs::find_together() {
  std::vector<std::string> dumps;
  std::copy_if(paths_.begin(), paths_.end(), std::back_inserter(dumps),
               [](const std::string& path) { return kind_of(path) == FileKind::dump; });
  if (dumps.size() < 2 || dumps.size() > kMaxTogether) return nullptr;
  analyzer::ComparedDumps compared(dumps, {}, options_);
  if (!compared.same_run()) return nullptr;
  const std::string last = compared.last().dump.path;
  compared.leave_out_incomparable();
  const auto at = std::find(paths_.begin(), paths_.end(), last);
  if (at == paths_.end() || compared.last().dump.path != last) return nullptr;
  const auto found = std::make_shared<SharedFindings>(
      SharedFindings{analyzer::find_leaks(compared.views(), true), size_t(at - paths_.begin()) + 1});
  unread_.add(compared.unread());
  return found;
}

void Inputs::each(bool findings, const std::function<void(InputFile&)>& take) {
  const std::shared_ptr<const SharedFindings> together = findings ? find_together() : nullptr;
  problems_.clear();
  for (size_t i = 0; i < paths_.size(); ++i) {
    InputFile file(paths_[i], i + 1, options_);
    if (together) file.share(together);
    take(file);
    unread_.add(file.unread());
    for (std::string& problem : file.problems()) problems_.push_back(std::move(problem));
  }
}

}  // namespace tensorscope::tables
