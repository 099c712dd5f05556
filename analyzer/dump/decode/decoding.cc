// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/decoding.h"

#include <algorithm>

namespace tensorscope::analyzer {

std::string Decoding::charged(std::string_view text) {
  if (text.size() < sizeof(std::string)) return std::string(text);
  if (text.size() > text_budget) {
    count("too many repeated texts");
    return {};
  }
  text_budget -= text.size();
  return std::string(text);
}

std::string Decoding::text(uint32_t index) {
  if (index < strings.size()) return charged(strings[index]);
  count("references to missing texts");
  return {};
}

void Decoding::check_row(uint32_t& site, uint32_t& thread, uint64_t& created_ns) {
  if (site >= dump.sites.size()) site = 0, count("references to missing sites");
  if (thread >= dump.threads.size()) thread = 0, count("references to missing threads");
  if (dump.process.dump_ns != 0) created_ns = std::min(created_ns, dump.process.dump_ns);
}

uint32_t Decoding::tensor_with(uint64_t serial) {
  const uint32_t index = tensors.by_serial.find(serial);
  if (index == kNone) count("references to missing tensors");
  return index;
}

uint32_t Decoding::graph_class(const std::string& class_name) {
  auto [found, fresh] = graph.classes.try_emplace(class_name, uint32_t(dump.graph.class_names.size()));
  if (fresh) dump.graph.class_names.push_back(class_name);
  return found->second;
}

}  // namespace tensorscope::analyzer
