// SPDX-License-Identifier: Apache-2.0
#include "text/values/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "dump/type_names.h"
#include "text/units.h"
#include "values/element_type.h"

namespace tensorscope::text {

namespace {

// torch.set_printoptions()'s defaults.
constexpr int kPrecision = 4;
constexpr uint64_t kThreshold = 1000;
constexpr int64_t kEdgeItems = 3;
constexpr size_t kLineWidth = 80;

// How numbers of one tensor are written: all as integers, with a fixed number of digits, or with exponents
// (torch/_tensor_str.py, _Formatter).
class NumberForm {
 public:
  explicit NumberForm(const std::vector<double>& numbers) {
    double smallest = HUGE_VAL, largest = 0;
    for (double x : numbers) {
      if (!std::isfinite(x) || x == 0) continue;
      smallest = std::min(smallest, std::fabs(x));
      largest = std::max(largest, std::fabs(x));
      if (x != std::ceil(x)) whole_ = false;
    }
    if (largest == 0) return;
    exponent_ = largest / smallest > 1000 || largest > 1e8 || (!whole_ && smallest < 1e-4);
    for (double x : numbers) {
      if (std::isfinite(x) && x != 0) width_ = std::max(width_, text(x).size());
    }
  }
  size_t width() const { return width_; }
  std::string text(double x) const {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    if (exponent_) return fmt::format("{:.{}e}", x, kPrecision);
    return whole_ ? fmt::format("{:.0f}.", x) : fmt::format("{:.{}f}", x, kPrecision);
  }
  std::string padded(double x) const { return fmt::format("{:>{}}", text(x), width_); }

 private:
  bool whole_ = true, exponent_ = false;
  size_t width_ = 1;
};

class ElementPrinter {
 public:
  explicit ElementPrinter(const values::Elements& elements)
      : elements_(elements), count_(values::element_count(elements.shape)), summarized_(count_ > kThreshold) {
    gather(0, 0);
    if (values::is_complex(elements.dtype)) {
      std::vector<double> real, imaginary;
      for (size_t index : shown_) {
        real.push_back(values::real_of(elements.dtype, data(), index));
        imaginary.push_back(values::imaginary_of(elements.dtype, data(), index));
      }
      real_.emplace(real);
      imaginary_.emplace(imaginary);
      width_ = real_->width() + imaginary_->width() + 1;
    } else if (values::is_floating(elements.dtype)) {
      std::vector<double> real;
      for (size_t index : shown_) real.push_back(values::real_of(elements.dtype, data(), index));
      real_.emplace(real);
      width_ = real_->width();
    } else {
      for (size_t index : shown_) width_ = std::max(width_, whole_text(index).size());
    }
  }

  std::string text(size_t indent) const { return part(0, 0, indent); }

 private:
  const char* data() const { return elements_.bytes.data(); }
  int64_t size(size_t dimension) const { return elements_.shape[dimension]; }
  bool cut(size_t dimension) const { return summarized_ && size(dimension) > 2 * kEdgeItems; }
  // Elements that one step of this dimension stands for.
  size_t stride(size_t dimension) const {
    size_t out = 1;
    for (size_t d = dimension + 1; d < elements_.shape.size(); ++d) out *= size_t(size(d));
    return out;
  }
  template <typename F>
  void each_shown(size_t dimension, F f) const {
    for (int64_t i = 0; i < size(dimension); ++i) {
      if (cut(dimension) && i == kEdgeItems) i = size(dimension) - kEdgeItems;
      f(i);
    }
  }

  void gather(size_t dimension, size_t offset) {
    if (dimension == elements_.shape.size()) {
      shown_.push_back(offset);
      return;
    }
    each_shown(dimension, [&](int64_t i) { gather(dimension + 1, offset + size_t(i) * stride(dimension)); });
  }

  std::string whole_text(size_t index) const {
    const int64_t number = values::integer_of(elements_.dtype, data(), index);
    if (elements_.dtype == values::kBool) return number != 0 ? "True" : "False";
    return elements_.dtype == values::kUint64 ? fmt::format("{}", uint64_t(number)) : fmt::format("{}", number);
  }

  std::string element(size_t index) const {
    if (!real_) return fmt::format("{:>{}}", whole_text(index), width_);
    std::string text = real_->padded(values::real_of(elements_.dtype, data(), index));
    if (!imaginary_) return text;
    std::string imaginary = imaginary_->padded(values::imaginary_of(elements_.dtype, data(), index)) + "j";
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    return text + (imaginary[0] == '-' ? "" : "+") + imaginary;
  }

  std::string part(size_t dimension, size_t offset, size_t indent) const {
    if (dimension == elements_.shape.size()) return element(offset);
    std::vector<std::string> items;
    const bool last = dimension + 1 == elements_.shape.size();
    each_shown(dimension, [&](int64_t i) {
      if (cut(dimension) && i == size(dimension) - kEdgeItems) items.emplace_back(last ? " ..." : "...");
      items.push_back(part(dimension + 1, offset + size_t(i) * stride(dimension), indent + 1));
    });
    const std::string newline = "\n" + std::string(indent + 1, ' ');
    std::string out = "[";
    if (!last) {
      const std::string between = "," + std::string(elements_.shape.size() - dimension - 2, '\n') + newline;
      for (size_t i = 0; i < items.size(); ++i) out += (i == 0 ? "" : between) + items[i];
      return out + "]";
    }
    const size_t a_line = std::max<size_t>(1, (kLineWidth > indent ? kLineWidth - indent : 0) / (width_ + 2));
    for (size_t i = 0; i < items.size(); ++i) {
      out += (i == 0 ? "" : i % a_line == 0 ? "," + newline : ", ") + items[i];
    }
    return out + "]";
  }

  const values::Elements& elements_;
  const uint64_t count_;
  const bool summarized_;
  std::vector<size_t> shown_;  // indexes of the elements that are printed
  std::optional<NumberForm> real_, imaginary_;
  size_t width_ = 0;
};

bool is_default(int dtype) {
  return dtype == values::kFloat32 || dtype == values::kComplex64 || dtype == values::kInt64 || dtype == values::kBool;
}

std::string sizes_text(const std::vector<int64_t>& shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string tensor_text(const values::Elements& elements, const analyzer::Device& device) {
  if (values::element_size(elements.dtype) == 0) {
    return fmt::format("{} of {}", bytes(elements.bytes.size()), analyzer::dtype_name(elements.dtype));
  }
  const std::string prefix = "tensor(";
  const bool empty = values::element_count(elements.shape) == 0;
  std::string out = prefix + (empty ? "[]" : ElementPrinter(elements).text(prefix.size()));
  std::vector<std::string> suffixes;
  if (!device.is_cpu()) suffixes.push_back("device='" + device.text() + "'");
  if (empty && elements.shape.size() != 1) suffixes.push_back("size=" + sizes_text(elements.shape));
  const bool said = empty ? elements.dtype != values::kFloat32 : !is_default(elements.dtype);
  if (said) suffixes.push_back("dtype=torch." + analyzer::dtype_name(elements.dtype));
  const size_t newline = out.rfind('\n');
  size_t line = newline == std::string::npos ? out.size() + 2 : out.size() - newline + 1;
  for (const std::string& suffix : suffixes) {
    if (line + suffix.size() + 2 > kLineWidth) {
      out += ",\n" + std::string(prefix.size(), ' ') + suffix;
      line = prefix.size() + suffix.size();
    } else {
      out += ", " + suffix;
      line += suffix.size() + 2;
    }
  }
  return out + ")";
}

}  // namespace tensorscope::text
