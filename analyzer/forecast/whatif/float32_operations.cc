// SPDX-License-Identifier: Apache-2.0
#include "forecast/whatif/float32_operations.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "symbols/user_code.h"

namespace tensorscope::analyzer::forecast {

namespace {

bool contains_one_of(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != line.npos; });
}

// "hidden.to(torch.float32)": what follows may be float32.
bool casts_up(std::string_view line) { return contains_one_of(line, {"float32", ".float()", ".double()"}); }
// "x.to(input_dtype)", "scores.type_as(query)": what came before may be.
bool casts_back(std::string_view line) { return contains_one_of(line, {"type_as(", "_dtype)"}); }
// "x.to(y.dtype)" says that of the line alone: it often stands where nothing was cast.
bool casts(std::string_view line) { return casts_up(line) || casts_back(line) || contains_one_of(line, {".dtype)"}); }

// "softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)": what backward needs of it is float32, with a copy.
bool casts_and_back(std::string_view line) {
  const size_t up = std::min(line.find("float32"), line.find(".float()"));
  return up != line.npos && (line.find(".to(", up) != line.npos || line.find("type_as(", up) != line.npos);
}

}  // namespace

Upcasts::Upcasts(const Sample& base)
    : dump_(base.opened->dump), symbols_(base.opened->symbols), package_(torch_package(dump_)) {
  casts_from_.resize(dump_.codes.size(), INT32_MAX);
  casting_line_.resize(dump_.python_frames.size());
  line_known_.resize(dump_.python_frames.size());
  for (const Code& code : dump_.codes) of_loss_.push_back(is_loss(code));
  for (size_t i = 1; i < dump_.python_frames.size(); ++i) {
    const PythonFrame& python = dump_.python_frames[i];
    const Code& code = dump_.codes[python.code];
    if (python_owner(code.file, package_) == Owner::torch) continue;
    Frame frame;
    frame.language = Frame::Language::python;
    frame.file = code.file;
    frame.line = python.line;
    const std::string line = symbols_.source_line(frame);
    line_known_[i] = !line.empty();
    known_ = known_ || line_known_[i];
    if (!casts(line)) continue;
    casting_line_[i] = casts_and_back(line) ? Upcast::with_copy : Upcast::possible;
    if (casting_line_[i] == Upcast::with_copy) continue;
    int32_t& from = casts_from_[python.code];
    if (casts_back(line)) from = 0;
    if (casts_up(line)) from = std::min(from, python.line);
  }
}

Upcast Upcasts::at(uint32_t site) {
  if (site >= dump_.sites.size()) return Upcast::possible;
  const auto [found, fresh] = answers_.try_emplace(site, Upcast::none);
  if (fresh) found->second = by_torch(site) ? Upcast::by_torch : known_ ? looked_up(site) : Upcast::possible;
  return found->second;
}

// Within a module's forward lines of running functions count; a training loop casts its inputs elsewhere.
Upcast Upcasts::looked_up(uint32_t site) const {
  const uint32_t leaf = dump_.sites[site].python;
  uint32_t outermost = 0;
  for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
    if (dump_.python_frames[i].module_object != 0) outermost = i;
  }
  bool inside = outermost != 0, innermost = true;
  for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
    const uint32_t code = dump_.python_frames[i].code;
    if (innermost && casting_line_[i] == Upcast::with_copy) return Upcast::with_copy;
    if (casting_line_[i] != Upcast::none || (inside && casts_from_[code] <= dump_.python_frames[i].line) ||
        (of_loss_[code] && !is_known(loss_at(site)))) {
      return Upcast::possible;
    }
    if (python_owner(dump_.codes[code].file, package_) != Owner::torch) innermost = false;
    if (i == outermost) inside = false;
  }
  return Upcast::none;
}

// Attention without a kernel of its own, as with dropout on a CPU, computes in float32, and returns a copy.
bool Upcasts::by_torch(uint32_t site) const {
  return std::ranges::any_of(symbols_.native(dump_.sites[site].native), [](const Frame& frame) {
    return frame.function.find("_scaled_dot_product_attention_math") != std::string::npos;
  });
}

// The outermost, where one calls another.
uint32_t Upcasts::loss_at(uint32_t site) const {
  uint32_t found = 0;
  for (uint32_t i = site < dump_.sites.size() ? dump_.sites[site].python : 0; i != 0;
       i = dump_.python_frames[i].parent) {
    if (of_loss_[dump_.python_frames[i].code]) found = i;
  }
  return found;
}

bool Upcasts::on_line_of_loss(uint32_t loss, uint32_t site) const {
  // Two calls of one line are different frames of it.
  const uint32_t calls = program_frame(loss), made = program_frame(dump_.sites[site].python);
  const PythonFrame &a = dump_.python_frames[calls], &b = dump_.python_frames[made];
  return calls != 0 && made != 0 && a.parent == b.parent && a.code == b.code && a.line == b.line &&
         line_known_[calls] && casting_line_[calls] == Upcast::none;
}

// The innermost of the program's own around a frame; 0: none.
uint32_t Upcasts::program_frame(uint32_t frame) const {
  while (frame != 0 && python_owner(dump_.codes[dump_.python_frames[frame].code].file, package_) == Owner::torch) {
    frame = dump_.python_frames[frame].parent;
  }
  return frame;
}

bool Upcasts::is_loss(const Code& code) const {
  return python_owner(code.file, package_) == Owner::torch &&
         (code.function.find("cross_entropy") != std::string::npos || code.function.ends_with("_loss"));
}

}  // namespace tensorscope::analyzer::forecast
