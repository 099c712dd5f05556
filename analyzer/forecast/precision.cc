#include "forecast/precision.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbols/user_code.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::analyzer::forecast {

namespace {

// What model.to(dtype) surely halves: the program itself casts no weights back.
bool of_the_model(Category category) {
  return category == Category::parameter || category == Category::buffer || category == Category::gradient ||
         category == Category::optimizer_state || category == Category::input_batch;
}

// "hidden.to(torch.float32)", and what goes with it: "x.to(input_dtype)", "scores.type_as(query)".
bool casts(std::string_view line) {
  constexpr std::array<std::string_view, 6> kCasts = {"float32", ".float()", ".double()", "type_as(", "_dtype)", ".dtype)"};
  return std::ranges::any_of(kCasts, [&](std::string_view word) { return line.find(word) != line.npos; });
}

// Which places of a program may compute in float32 whatever the model's type is.
class Upcasts {
 public:
  explicit Upcasts(const Sample& base) : dump_(base.opened->dump), package_(torch_package(dump_)) {
    casting_code_.resize(dump_.codes.size());
    casting_line_.resize(dump_.python_frames.size());
    for (size_t i = 1; i < dump_.python_frames.size(); ++i) {
      const PythonFrame& python = dump_.python_frames[i];
      const Code& code = dump_.codes[python.code];
      if (python_owner(code.file, package_) == Owner::torch) continue;
      Frame frame;
      frame.language = Frame::Language::python;
      frame.file = code.file;
      frame.line = python.line;
      const std::string line = base.opened->symbols.source_line(frame);
      known_ = known_ || !line.empty();
      if (!casts(line)) continue;
      casting_line_[i] = casting_code_[python.code] = true;
    }
  }

  // Without any source line every place may.
  bool possible(uint32_t site) {
    if (!known_ || site >= dump_.sites.size()) return true;
    const auto [found, fresh] = answers_.try_emplace(site, false);
    if (fresh) found->second = looked_up(site);
    return found->second;
  }

 private:
  // Within a module's forward any line of a running function counts; a training loop casts its inputs elsewhere.
  bool looked_up(uint32_t site) const {
    const uint32_t leaf = dump_.sites[site].python;
    uint32_t outermost = 0;
    for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
      if (dump_.python_frames[i].module_object != 0) outermost = i;
    }
    bool inside = outermost != 0;
    for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
      const uint32_t code = dump_.python_frames[i].code;
      if (casting_line_[i] || (inside && casting_code_[code]) || is_loss(dump_.codes[code])) return true;
      if (i == outermost) inside = false;
    }
    return false;
  }
  bool is_loss(const Code& code) const {
    return python_owner(code.file, package_) == Owner::torch &&
           (code.function.find("cross_entropy") != std::string::npos || code.function.ends_with("_loss"));
  }

  const Dump& dump_;
  const std::string package_;
  std::vector<bool> casting_code_, casting_line_;
  std::unordered_map<uint32_t, bool> answers_;
  bool known_ = false;
};

}  // namespace

void in_half(Play& play, const Sample& base) {
  Upcasts upcasts(base);
  for (Piece& piece : play.pieces) {
    if (piece.block == kNone) {
      piece.factor *= 0.5;
      continue;
    }
    const Block& block = base.blocks[piece.block];
    const bool float32 = block.shape_known && block.dtype == rules::kFloat32;
    if (float32 && (of_the_model(piece.category) || block.optimizer || !upcasts.possible(block.place()))) {
      piece.factor *= 0.5;
    } else if (float32 || !block.shape_known) {
      piece.factor *= 0.75;
      piece.unsure = 1.0 / 3;  // 0.5 to 1
    }
  }
}

}  // namespace tensorscope::analyzer::forecast
