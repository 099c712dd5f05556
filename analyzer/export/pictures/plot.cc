// SPDX-License-Identifier: Apache-2.0
#include "export/pictures/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "export/pictures/dot_text.h"
#include "support/printable.h"
#include "text/units.h"
#include "text/values/phrases.h"
#include "text/values/report.h"

namespace tensorscope::exports {

namespace {

using values::Point;

constexpr double kSheetTop = 40;
constexpr double kPlotLeft = 62, kPlotRight = 12, kPlotTop = 26, kPlotBottom = 48;
constexpr size_t kMaxTicks = 5, kMaxMarks = 256;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
                                    "#8c564b", "#7f7f7f", "#aec7e8", "#98df8a", "#c5b0d5", "#ffbb78"};

enum class Anchor { begin, middle, end };

struct Label {
  double x = 0, y = 0;
  std::string text;
  Anchor anchor = Anchor::begin;
  double size = 9;
  const char* colour = "#444444";
};

// What a chart is drawn with; y grows downwards.
class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void line(const std::vector<Point>& points, const char* colour, double width) = 0;
  virtual void text(const Label& label) = 0;
  // Between the points of an upper line and those of a lower one, which have the same x.
  virtual void area(const std::vector<Point>& upper, const std::vector<Point>& lower, const char* colour) = 0;
  virtual void mark(double x, double y, const std::string& what, const char* colour) = 0;
};

struct Axis {
  double low = 0, high = 1;
  std::vector<double> ticks;
};

// Ticks at multiples of 1, 2 or 5 times a power of ten.
Axis axis_of(double low, double high, bool whole) {
  if (!(low < high)) {
    const double room = low == 0 ? 1 : std::fabs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double rough = (high - low) / double(kMaxTicks - 1), power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough) {
      step = power * factor;
      break;
    }
  }
  if (whole) step = std::max(step, 1.0);
  Axis axis{low, high, {}};
  const double first = std::ceil(low / step);
  const auto tick = [&] { return (first + double(axis.ticks.size())) * step; };
  while (tick() <= high + step * 1e-9 && axis.ticks.size() <= kMaxTicks) axis.ticks.push_back(tick());
  return axis;
}

class ChartDrawing {
 public:
  ChartDrawing(const Chart& chart, const ChartSheet& sheet, double left, double top, Canvas& canvas)
      : chart_(chart), sheet_(sheet), left_(left + kPlotLeft), top_(top + kPlotTop), canvas_(canvas) {
    double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;
    for (const Chart::Curve& curve : chart.curves) {
      for (const Point& point : curve.points) {
        low_x = std::min(low_x, point.x);
        high_x = std::max(high_x, point.x);
        if (!std::isfinite(point.y)) continue;
        low_y = std::min(low_y, point.y);
        high_y = std::max(high_y, point.y);
      }
    }
    if (chart.stacked || chart.bytes) low_y = 0;
    if (chart.stacked) high_y = std::max(high_y, highest_stack());
    x_ = axis_of(std::isfinite(low_x) ? low_x : 0, std::isfinite(high_x) ? high_x : 0, !chart.bytes);
    y_ = axis_of(std::isfinite(low_y) ? low_y : 0, std::isfinite(high_y) ? high_y : 0, false);
  }

  void draw() {
    canvas_.text({.x = left_ - kPlotLeft + 8, .y = top_ - 10, .text = chart_.title, .size = 11, .colour = "#000000"});
    for (double tick : y_.ticks) {
      canvas_.line({{left_, y(tick)}, {left_ + width(), y(tick)}}, "#e0e0e0", 0.5);
      canvas_.text({.x = left_ - 5, .y = y(tick) + 3, .text = number(tick), .anchor = Anchor::end});
    }
    for (double tick : x_.ticks) {
      canvas_.line({{x(tick), top_ + height()}, {x(tick), top_ + height() + 4}}, "#888888", 0.5);
      canvas_.text(
          {.x = x(tick), .y = top_ + height() + 14, .text = text::short_number(tick), .anchor = Anchor::middle});
    }
    canvas_.line({{left_, top_}, {left_, top_ + height()}, {left_ + width(), top_ + height()}}, "#888888", 0.8);
    canvas_.text({.x = left_ + width(), .y = top_ + height() + 27, .text = chart_.x_label, .anchor = Anchor::end});
    if (chart_.stacked) draw_stacked();
    double legend = left_;
    for (size_t i = 0; i < chart_.curves.size(); ++i) {
      const char* colour = kColours[i % std::size(kColours)];
      if (!chart_.stacked) draw(chart_.curves[i], colour);
      if (legend > left_ + width() - 60) continue;
      canvas_.text({.x = legend, .y = top_ + height() + 27, .text = chart_.curves[i].label, .colour = colour});
      legend += 8 + 6 * double(chart_.curves[i].label.size());
    }
  }

 private:
  double width() const { return sheet_.chart_width - kPlotLeft - kPlotRight; }
  double height() const { return sheet_.chart_height - kPlotTop - kPlotBottom; }
  std::string number(double tick) const {
    if (chart_.bytes) return text::bytes(uint64_t(std::max(0.0, tick)));
    return text::short_number(std::fabs(tick) < (y_.high - y_.low) * 1e-9 ? 0 : tick);
  }
  double highest_stack() const {
    double highest = 0;
    for (size_t i = 0; !chart_.curves.empty() && i < chart_.curves.front().points.size(); ++i) {
      double sum = 0;
      for (const Chart::Curve& curve : chart_.curves) sum += curve.points[i].y;
      highest = std::max(highest, sum);
    }
    return highest;
  }
  void draw_stacked() {
    std::vector<Point> lower;
    std::vector<double> sums;
    for (size_t c = 0; c < chart_.curves.size(); ++c) {
      const std::vector<Point>& points = chart_.curves[c].points;
      sums.resize(points.size());
      std::vector<Point> upper;
      for (size_t i = 0; i < points.size(); ++i) {
        if (c == 0) lower.push_back({x(points[i].x), y(0)});
        upper.push_back({x(points[i].x), y(sums[i] += points[i].y)});
      }
      canvas_.area(upper, lower, kColours[c % std::size(kColours)]);
      lower = std::move(upper);
    }
  }
  double x(double at) const { return left_ + (at - x_.low) / (x_.high - x_.low) * width(); }
  double y(double at) const { return top_ + (y_.high - at) / (y_.high - y_.low) * height(); }

  void draw(const Chart::Curve& curve, const char* colour) {
    std::vector<Point> line;
    const auto end = [&] {
      if (line.size() > 1) canvas_.line(line, colour, 1.2);
      line.clear();
    };
    for (const Point& point : curve.points) {
      const std::string what = fmt::format("{} {}: {}", chart_.x_label, point.x,
                                           chart_.bytes ? number(point.y) : text::short_number(point.y));
      if (std::isfinite(point.y)) {
        line.push_back({x(point.x), y(point.y)});
        if (curve.points.size() <= kMaxMarks) canvas_.mark(line.back().x, line.back().y, what, colour);
      } else {
        end();
        canvas_.text({.x = x(point.x),
                      .y = top_ + height() - 2,
                      .text = "×",
                      .anchor = Anchor::middle,
                      .size = 12,
                      .colour = "#d62728"});
      }
    }
    end();
  }

  const Chart& chart_;
  const ChartSheet& sheet_;
  double left_, top_;
  Canvas& canvas_;
  Axis x_, y_;
};

std::string xml(const std::string& text) {
  std::string out;
  for (char c : analyzer::printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

class SvgCanvas final : public Canvas {
 public:
  void line(const std::vector<Point>& points, const char* colour, double width) override {
    out_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" points=\"", colour, width);
    for (const Point& point : points) out_ += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
    out_ += "\"/>\n";
  }
  void text(const Label& label) override {
    static constexpr const char* kAnchors[] = {"start", "middle", "end"};
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\">{}</text>\n",
                        label.x, label.y, label.size, label.colour, kAnchors[int(label.anchor)], xml(label.text));
  }
  void area(const std::vector<Point>& upper, const std::vector<Point>& lower, const char* colour) override {
    out_ += fmt::format("<polygon fill=\"{0}\" fill-opacity=\"0.75\" stroke=\"{0}\" stroke-width=\"0.4\" points=\"",
                        colour);
    for (const Point& point : upper) out_ += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
    for (size_t i = lower.size(); i-- > 0;) out_ += fmt::format("{:.1f},{:.1f} ", lower[i].x, lower[i].y);
    out_ += "\"/>\n";
  }
  void mark(double x, double y, const std::string& what, const char* colour) override {
    out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\" fill=\"{}\"><title>{}</title></circle>\n", x, y,
                        colour, xml(what));
  }
  const std::string& body() const { return out_; }

 private:
  std::string out_;
};

// A node for each text, one that is not seen for each end of a line.
class DotCanvas final : public Canvas {
 public:
  explicit DotCanvas(double height) : height_(height) {}
  void line(const std::vector<Point>& points, const char* colour, double width) override {
    const size_t from = node(points.front()), to = node(points.back());
    std::string places = fmt::format("{:.1f},{:.1f}", points.front().x, height_ - points.front().y);
    for (size_t i = 1; i < points.size(); ++i) {  // straight pieces of Bézier's
      for (double share : {1.0 / 3, 2.0 / 3, 1.0}) {
        const double x = points[i - 1].x + (points[i].x - points[i - 1].x) * share;
        const double y = points[i - 1].y + (points[i].y - points[i - 1].y) * share;
        places += fmt::format(" {:.1f},{:.1f}", x, height_ - y);
      }
    }
    out_ += fmt::format("  n{} -> n{} [pos=\"{}\", color=\"{}\", penwidth={}];\n", from, to, places, colour, width);
  }
  void text(const Label& label) override {
    const double half = 0.25 * label.size * double(label.text.size());
    const double middle = label.anchor == Anchor::begin ? label.x + half
                          : label.anchor == Anchor::end ? label.x - half
                                                        : label.x;
    out_ += fmt::format("  n{} [pos=\"{:.1f},{:.1f}\", label={}, fontsize={}, fontcolor=\"{}\"];\n", nodes_++, middle,
                        height_ - label.y + label.size / 3, dot_quoted({label.text}), label.size, label.colour);
  }
  // Upright lines side by side: Graphviz fills no shape between given points.
  void area(const std::vector<Point>& upper, const std::vector<Point>& lower, const char* colour) override {
    for (size_t i = 0; i < upper.size(); ++i) {
      if (lower[i].y - upper[i].y < 0.05) continue;
      const double next = i + 1 < upper.size() ? upper[i + 1].x : upper[i].x + 1;
      line({lower[i], upper[i]}, colour, std::max(1.0, next - upper[i].x + 0.5));
    }
  }
  void mark(double, double, const std::string&, const char*) override {}
  const std::string& body() const { return out_; }

 private:
  size_t node(const Point& at) {
    out_ += fmt::format("  n{} [pos=\"{:.1f},{:.1f}\", style=invis, label=\"\"];\n", nodes_, at.x, height_ - at.y);
    return nodes_++;
  }

  double height_;
  std::string out_;
  size_t nodes_ = 0;
};

double sheet_width(const ChartSheet& sheet) {
  return sheet.chart_width * double(std::clamp<size_t>(sheet.charts.size(), 1, sheet.in_row));
}
double sheet_height(const ChartSheet& sheet) {
  return kSheetTop + sheet.chart_height * double((sheet.charts.size() + sheet.in_row - 1) / sheet.in_row);
}

void draw_sheet(const ChartSheet& sheet, Canvas& canvas) {
  canvas.text({.x = 8, .y = 22, .text = sheet.title, .size = 13, .colour = "#000000"});
  for (size_t i = 0; i < sheet.charts.size(); ++i) {
    ChartDrawing(sheet.charts[i], sheet, sheet.chart_width * double(i % sheet.in_row),
                 kSheetTop + sheet.chart_height * double(i / sheet.in_row), canvas)
        .draw();
  }
}

}  // namespace

ChartSheet chart_sheet(const std::vector<std::unique_ptr<values::ValuesFile>>& files,
                       const std::vector<values::NameSeries>& series, const std::string& title) {
  const std::vector<std::string> labels = values::file_labels(files);
  ChartSheet sheet;
  sheet.title = title;
  for (const values::NameSeries& each : series) {
    Chart chart;
    chart.title = std::string(each.name);
    if (!each.operation.empty()) chart.title += " " + std::string(each.operation);
    const bool eval = each.mode == format::StepMode::eval;
    if (eval) chart.title += " (eval)";
    chart.x_label = eval ? "pass" : "step";
    for (const values::NameLine& line : each.lines) {
      const std::string& whose = labels[line.file];
      std::string label = values::word_of(line.stat);
      if (!whose.empty()) label += isdigit(static_cast<unsigned char>(whose[0])) ? " rank " + whose : " " + whose;
      chart.curves.push_back({std::move(label), line.line.points()});
    }
    sheet.charts.push_back(std::move(chart));
  }
  return sheet;
}

std::string charts_svg(const ChartSheet& sheet) {
  SvgCanvas canvas;
  draw_sheet(sheet, canvas);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
             sheet_width(sheet), sheet_height(sheet)) +
         canvas.body() + "</svg>\n";
}

std::string charts_html(const ChartSheet& sheet) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + xml(sheet.title) +
         "</title></head>\n<body style=\"margin:0\">\n" + charts_svg(sheet) + "</body></html>\n";
}

std::string charts_dot(const ChartSheet& sheet) {
  DotCanvas canvas(sheet_height(sheet));
  draw_sheet(sheet, canvas);
  return "digraph tensorscope {\n  graph [layout=nop2, splines=true, bgcolor=white];\n"
         "  node [shape=plaintext, fontname=\"sans-serif\", margin=0, width=0, height=0];\n"
         "  edge [arrowhead=none];\n" +
         canvas.body() + "}\n";
}

}  // namespace tensorscope::exports
