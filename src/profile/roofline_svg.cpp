// SPDX-License-Identifier: MIT
#include "profile/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/markup.h"
#include "codeobj/demangle.h"

namespace rochound::profile {
namespace {

constexpr double kWidth = 900, kHeight = 570;
constexpr double kLeft = 80, kRight = 870, kTop = 50, kBottom = 500;

// Powers of ten that values lie between.
struct Axis {
  int from, to;       // exponents
  double begin, end;  // on the picture
  double At(double value) const {
    const double part = (std::log10(value) - from) / (to - from);
    return begin + std::clamp(part, 0.0, 1.0) * (end - begin);
  }
};

struct Point {
  const KernelRoofline* kernel;
  double least, most;  // operations per byte, without caches and at best
  double rate;         // operations per second, at best or as measured
  double seconds;      // at least, or as measured
};

// Nothing: it has no place in the picture.
std::optional<Point> PointOf(const KernelRoofline& kernel) {
  const double operations = kernel.Operations();
  const std::optional<double> most = kernel.MostIntensity();
  if (operations == 0 || !most || !kernel.compute_seconds || !kernel.memory_seconds_least ||
      kernel.LeastSeconds() == 0)
    return std::nullopt;
  double seconds = kernel.LeastSeconds();
  if (kernel.measured && kernel.measured->seconds.value_or(0) > 0)
    seconds = *kernel.measured->seconds;
  const double least = kernel.bytes ? operations / kernel.bytes->uncached : *most;
  return Point{&kernel, least, *most, operations / seconds, seconds};
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     base::MarkupText(text));
}

// Puts labels where they cover no other.
class Labels {
 public:
  // A label that belongs to a point of this radius, with a line to it where it is not beside it;
  // empty: there is no room.
  std::string Near(double x, double y, double radius, const std::string& text) {
    // The memory's roof rises to the right, so there is most room to the right and below.
    for (int step = 0; step < kSteps; ++step)
      for (const double side : {1.0, -1.0}) {
        const double at_x = x + side * (radius + kGap + 4 * step);
        const double at_y = y + side * kLine * step + 4;
        const char* const anchor = side > 0 ? "start" : "end";
        if (!Take(at_x, at_y, side, text)) continue;
        std::string line;
        if (step > 0)
          line = fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#999\"/>\n", x, y,
                             at_x - side * 2, at_y - 4);
        return line + Text(at_x, at_y, anchor, text);
      }
    return "";
  }

  // side: 1, the text begins at x; -1, it ends there. False: it would cover another or leave the
  // picture.
  bool Take(double x, double y, double side, const std::string& text) {
    const double width = kCharacter * static_cast<double>(text.size());
    const Box box{side > 0 ? x : x - width, side > 0 ? x + width : x, y - kLine + 2, y + 2};
    if (box.left < kLeft || box.right > kWidth || box.top < kTop || box.bottom > kBottom)
      return false;
    for (const Box& other : taken_)
      if (box.left < other.right && other.left < box.right && box.top < other.bottom &&
          other.top < box.bottom)
        return false;
    taken_.push_back(box);
    return true;
  }

 private:
  struct Box {
    double left, right, top, bottom;
  };
  static constexpr double kCharacter = 7, kLine = 14, kGap = 4;  // of a font of 12 pixels
  static constexpr int kSteps = 8;
  std::vector<Box> taken_;
};

}  // namespace

std::string RooflineSvg(const Device& device, const Peaks& peaks,
                        const std::vector<KernelRoofline>& kernels) {
  std::vector<Point> points;
  std::set<std::string> types;
  for (const KernelRoofline& kernel : kernels) {
    const std::optional<Point> point = PointOf(kernel);
    if (!point) continue;
    points.push_back(*point);
    for (const auto& [type, count] : kernel.operations) types.insert(type);
  }
  const bool is_measured = !kernels.empty() && kernels[0].measured;
  const double bandwidth = peaks.memory_bytes ? peaks.memory_bytes->per_second : 0;
  double least = 0.01, most = 1000, slowest = 1e15, fastest = 1;
  for (const Point& point : points) {
    least = std::min(least, point.least);
    most = std::max(most, point.most);
    slowest = std::min(slowest, point.rate);
  }
  for (const std::string& type : types)
    fastest = std::max(fastest, peaks.operations.at(type).per_second);
  if (bandwidth > 0) slowest = std::min(slowest, least * bandwidth);
  const Axis x{static_cast<int>(std::floor(std::log10(least))),
               static_cast<int>(std::ceil(std::log10(most))), kLeft, kRight};
  const Axis y{static_cast<int>(std::floor(std::log10(std::min(slowest, fastest)))),
               static_cast<int>(std::ceil(std::log10(fastest * 1.01))), kBottom, kTop};

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<style>text {{ paint-order: stroke; stroke: white; stroke-width: 3px }}"
      "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Text(kLeft, 24, "start",
              fmt::format("{} ({}): {}", device.name, device.target,
                          is_measured ? "kernels as they were measured"
                                      : "where kernels can be at best; counted, not measured"));
  for (int power = x.from; power <= x.to; ++power) {
    const double at = x.At(std::pow(10, power));
    svg += fmt::format("<path d=\"M{:.1f} {}V{}\" stroke=\"#ddd\"/>\n", at, kTop, kBottom);
    svg += Text(at, kBottom + 18, "middle", fmt::format("{:g}", std::pow(10, power)));
  }
  for (int power = y.from; power <= y.to; ++power) {
    const double at = y.At(std::pow(10, power));
    svg += fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/>\n", kLeft, at, kRight);
    svg += Text(kLeft - 6, at + 4, "end", fmt::format("1e{}", power));
  }
  svg += Text((kLeft + kRight) / 2, kBottom + 40, "middle", "operations per byte");
  svg += Text(kLeft, kTop - 8, "start", "operations per second");
  if (bandwidth > 0 && !types.empty()) {
    const double from = std::max(std::pow(10, x.from), std::pow(10, y.from) / bandwidth);
    const double to = std::min(std::pow(10, x.to), fastest / bandwidth);
    svg += fmt::format(
        "<path class=\"memory\" data-per-second=\"{:.17g}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" "
        "stroke=\"#06c\" stroke-width=\"2\"><title>memory: {:.4g} bytes/s</title></path>\n",
        bandwidth, x.At(from), y.At(from * bandwidth), x.At(to), y.At(to * bandwidth), bandwidth);
  }
  Labels labels;
  std::map<double, std::string> roofs;  // names of the types with this peak
  for (const std::string& type : types) {
    const double peak = peaks.operations.at(type).per_second;
    roofs[peak] += (roofs[peak].empty() ? "" : ", ") + type;
    const double from = bandwidth > 0 ? peak / bandwidth : std::pow(10, x.from);
    svg += fmt::format(
        "<path class=\"roof\" data-type=\"{}\" data-per-second=\"{:.17g}\" d=\"M{:.1f} {:.1f}H{}\" "
        "stroke=\"#c40\" stroke-width=\"2\"/>\n",
        base::MarkupText(type), peak, x.At(from), y.At(peak), kRight);
  }
  std::string names;  // above all lines
  for (const auto& [peak, of_types] : roofs) {
    const std::string label = fmt::format("{} {:.4g}/s", of_types, peak);
    labels.Take(kRight, y.At(peak) - 4, -1, label);
    names += Text(kRight, y.At(peak) - 4, "end", label);
  }
  double all = 0;
  for (const Point& point : points) all += point.seconds;
  // Where there is no room for all names, those of the longest have it.
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.seconds > b.seconds; });
  for (const Point& point : points) {
    const std::string name = codeobj::Demangle(point.kernel->kernel);
    const double height = y.At(point.rate);
    svg += fmt::format(
        "<g class=\"kernel\" data-kernel=\"{}\" data-most=\"{:.17g}\" data-least=\"{:.17g}\" "
        "data-rate=\"{:.17g}\">\n<title>{}: {}\n{}</title>\n",
        base::MarkupText(point.kernel->kernel), point.most, point.least, point.rate,
        base::MarkupText(name), NameOf(point.kernel->verdict),
        is_measured ? fmt::format("{:.4g} operations per byte; {:.4g} operations/s in {:.3g} us",
                                  point.most, point.rate, 1e6 * point.seconds)
                    : fmt::format("{:.4g} operations per byte at best, {:.4g} without caches; "
                                  "{:.4g} operations/s at best; at least {:.3g} us",
                                  point.most, point.least, point.rate, 1e6 * point.seconds));
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#063\" stroke-dasharray=\"3 3\"/>\n",
        x.At(point.least), height, x.At(point.most));
    const double radius = 4 + 12 * std::sqrt(point.seconds / all);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"#063\" fill-opacity=\"0.6\"/>\n",
        x.At(point.most), height, radius);
    svg += "</g>\n";
    names += labels.Near(x.At(point.most), height, radius,
                         name.size() > 32 ? name.substr(0, 29) + "..." : name);
  }
  svg += names;
  if (points.size() < kernels.size()) {
    svg += Text(kLeft, kHeight - 8, "start",
                fmt::format("{} kernels without floating-point operations, or with types whose "
                            "peak is not known, are not shown",
                            kernels.size() - points.size()));
  }
  return svg + "</svg>\n";
}

}  // namespace rochound::profile
