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

// "softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)": what backward needs of it is float32, with a copy.
bool casts_and_back(std::string_view line) {
  const size_t up = std::min(line.find("float32"), line.find(".float()"));
  return up != line.npos && (line.find(".to(", up) != line.npos || line.find("type_as(", up) != line.npos);
}

enum class Upcast : uint8_t { none, possible, with_copy };

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
      casting_line_[i] = casts_and_back(line) ? Upcast::with_copy : Upcast::possible;
      casting_code_[python.code] = true;
    }
  }

  // Without any source line every place may.
  Upcast at(uint32_t site) {
    if (!known_ || site >= dump_.sites.size()) return Upcast::possible;
    const auto [found, fresh] = answers_.try_emplace(site, Upcast::none);
    if (fresh) found->second = looked_up(site);
    return found->second;
  }

 private:
  // Within a module's forward any line of a running function counts; a training loop casts its inputs elsewhere.
  Upcast looked_up(uint32_t site) const {
    const uint32_t leaf = dump_.sites[site].python;
    uint32_t outermost = 0;
    for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
      if (dump_.python_frames[i].module_object != 0) outermost = i;
    }
    bool inside = outermost != 0, innermost = true;
    for (uint32_t i = leaf; i != 0; i = dump_.python_frames[i].parent) {
      const uint32_t code = dump_.python_frames[i].code;
      if (innermost && casting_line_[i] == Upcast::with_copy) return Upcast::with_copy;
      if (casting_line_[i] != Upcast::none || (inside && casting_code_[code]) || is_loss(dump_.codes[code])) {
        return Upcast::possible;
      }
      if (python_owner(dump_.codes[code].file, package_) != Owner::torch) innermost = false;
      if (i == outermost) inside = false;
    }
    return Upcast::none;
  }
  bool is_loss(const Code& code) const {
    return python_owner(code.file, package_) == Owner::torch &&
           (code.function.find("cross_entropy") != std::string::npos || code.function.ends_with("_loss"));
  }

  const Dump& dump_;
  const std::string package_;
  std::vector<bool> casting_code_;
  std::vector<Upcast> casting_line_;
  std::unordered_map<uint32_t, Upcast> answers_;
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
    if (block.shape_known && !float32) continue;
    const bool surely = float32 && (of_the_model(piece.category) || block.optimizer);
    double least = 0.5, most = 0.5;
    if (!surely) {
      const Upcast upcast = float32 ? upcasts.at(block.place()) : Upcast::possible;
      const bool copied = upcast == Upcast::with_copy && block.past_backward && !block.backward;
      least = copied ? 1 : 0.5;
      most = copied ? 1.5 : upcast == Upcast::none ? 0.5 : 1;
    }
    piece.factor *= (least + most) / 2;
    piece.unsure = (most - least) / (most + least);
  }
}

}  // namespace tensorscope::analyzer::forecast
