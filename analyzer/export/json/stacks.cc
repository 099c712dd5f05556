// SPDX-License-Identifier: Apache-2.0
#include "export/json/stacks.h"

#include "export/json/scalars.h"

namespace tensorscope::exports {

const std::string& StackTexts::stack(uint32_t site) {
  constexpr size_t kMaxKept = size_t{64} << 20;
  auto [found, fresh] = stacks_.try_emplace(site);
  if (!fresh) return found->second;
  std::string text = "[";
  if (site != 0) {
    for (const analyzer::Frame& f : symbols_.shown(dump_.sites[site], full_)) {
      if (text.size() > 1) text += ',';
      append_frame(text, f);
    }
  }
  text += ']';
  kept_bytes_ += text.size();
  if (kept_bytes_ > kMaxKept) {
    kept_bytes_ = text.size();
    stacks_.clear();
    return stacks_[site] = std::move(text);
  }
  return found->second = std::move(text);
}

// By hand: there may be millions.
void StackTexts::append_frame(std::string& out, const analyzer::Frame& f) {
  const bool native = f.language == analyzer::Frame::Language::native;
  out += native ? "{\"language\":\"native\",\"function\":" : "{\"language\":\"python\",\"function\":";
  out += quoted(f.function);
  out += ",\"file\":";
  out += quoted(f.file);
  out += ",\"line\":";
  out += f.line > 0 ? std::to_string(f.line) : "null";
  out += ",\"module\":";
  out += quoted(native ? f.object : f.module);
  if (native) {
    out += ",\"address\":" + std::to_string(f.address);
    out += f.inlined ? ",\"inlined\":true" : ",\"inlined\":false";
  }
  out += '}';
}

const std::string& StackTexts::quoted(const std::string& text) {
  auto [found, fresh] = quoted_.try_emplace(text);
  if (fresh) found->second = text_of(text_or_null(text));
  return found->second;
}

}  // namespace tensorscope::exports
