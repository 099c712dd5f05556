// SPDX-License-Identifier: Apache-2.0
// Reads a watch that is written as one path, as `--watch` and TENSORSCOPE_WATCH take it.
//
// Context: run_or_abandon_on_oom() in the preload.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tensorscope/rules/code_path.h"
#include "tensorscope/rules/watch_spec.h"
#include "tensorscope/rules/watch_words.h"

namespace tensorscope::rules {

// One path from the command line: "model.fc", "inputs:model.fc", "full:model.fc", "full:gradients:model.**",
// "full:train.py:step:loss".
inline void read_watch_path(std::string_view text, std::string_view origin, WatchSettings& out) {
  WatchSpec spec;
  spec.text = text;
  spec.origin = origin;
  for (bool more = true; more;) {
    more = false;
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) break;
    const std::string_view word = text.substr(0, colon);
    for (const watch_detail::Word& each : watch_detail::kOf) {
      if (each.text == word) {
        spec.of = WatchOf(each.value);
        more = true;
      }
    }
    more |= watch_detail::add_kept(word, spec);
    if (!more && (names_file(word) || word == "forward" || word.find('.') != std::string_view::npos)) break;
    if (!more) {
      out.errors.push_back({std::string(origin), "'" + std::string(word) + ":' is unknown; choose from " +
                                                     watch_detail::choices(watch_detail::kOf) + ", " +
                                                     watch_detail::choices(watch_detail::kKeep) +
                                                     ", or write a file such as train.py"});
      return;
    }
    text.remove_prefix(colon + 1);
  }
  if (const std::string problem = watch_detail::set_path(text, spec); !problem.empty()) {
    out.errors.push_back({std::string(origin), "path '" + std::string(text) + "': " + problem});
    return;
  }
  out.watches.push_back(std::move(spec));
}

}  // namespace tensorscope::rules
