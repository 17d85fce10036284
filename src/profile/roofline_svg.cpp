// SPDX-License-Identifier: MIT
#include "profile/roofline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/printable.h"
#include "profile/profile_files.h"

namespace rochound::profile {
namespace {

constexpr double kWidth = 900, kHeight = 560;
constexpr double kLeft = 80, kRight = 870, kTop = 50, kBottom = 500;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : base::Printable(text)) {
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
  double attainable;   // operations per second, at best
  double seconds;      // at least
};

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     Escaped(text));
}

}  // namespace

std::string RooflineSvg(const Device& device, const Peaks& peaks,
                        const std::vector<KernelRoofline>& kernels) {
  std::vector<Point> points;
  std::set<std::string> types;
  for (const KernelRoofline& kernel : kernels) {
    const double operations = kernel.Operations();
    if (operations == 0 || !kernel.bytes || !kernel.compute_seconds ||
        !kernel.memory_seconds_least || kernel.LeastSeconds() == 0 || kernel.bytes->compulsory == 0)
      continue;
    points.push_back({&kernel, operations / kernel.bytes->uncached,
                      operations / kernel.bytes->compulsory, operations / kernel.LeastSeconds(),
                      kernel.LeastSeconds()});
    for (const auto& [type, count] : kernel.operations) types.insert(type);
  }
  const double bandwidth = peaks.memory_bytes ? peaks.memory_bytes->per_second : 0;
  double least = 0.01, most = 1000, slowest = 1e15, fastest = 1;
  for (const Point& point : points) {
    least = std::min(least, point.least);
    most = std::max(most, point.most);
    slowest = std::min(slowest, point.attainable);
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
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Text(kLeft, 24, "start",
              fmt::format("{} ({}): where kernels can be at best; counted, not measured",
                          device.name, device.target));
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
  for (const std::string& type : types) {
    const double peak = peaks.operations.at(type).per_second;
    const double from = bandwidth > 0 ? peak / bandwidth : std::pow(10, x.from);
    svg += fmt::format(
        "<path class=\"roof\" data-type=\"{}\" data-per-second=\"{:.17g}\" d=\"M{:.1f} {:.1f}H{}\" "
        "stroke=\"#c40\" stroke-width=\"2\"/>\n",
        Escaped(type), peak, x.At(from), y.At(peak), kRight);
    svg += Text(kRight, y.At(peak) - 4, "end", fmt::format("{} {:.4g}/s", type, peak));
  }
  double all = 0;
  for (const Point& point : points) all += point.seconds;
  for (const Point& point : points) {
    const std::string name = ReadableName(point.kernel->kernel);
    const double height = y.At(point.attainable);
    svg += fmt::format(
        "<g class=\"kernel\" data-kernel=\"{}\" data-most=\"{:.17g}\" data-least=\"{:.17g}\" "
        "data-attainable=\"{:.17g}\">\n<title>{}: {}\n{:.4g} operations per byte at best, {:.4g} "
        "without caches; {:.4g} operations/s at best; at least {:.3g} us</title>\n",
        Escaped(point.kernel->kernel), point.most, point.least, point.attainable, Escaped(name),
        NameOf(point.kernel->verdict), point.most, point.least, point.attainable,
        1e6 * point.seconds);
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#063\" stroke-dasharray=\"3 3\"/>\n",
        x.At(point.least), height, x.At(point.most));
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"#063\" fill-opacity=\"0.6\"/>\n",
        x.At(point.most), height, 4 + 12 * std::sqrt(point.seconds / all));
    svg += Text(x.At(point.most), height - 8, "middle",
                name.size() > 32 ? name.substr(0, 29) + "..." : name);
    svg += "</g>\n";
  }
  if (points.size() < kernels.size()) {
    svg += Text(kLeft, kHeight - 8, "start",
                fmt::format("{} kernels without floating-point operations, or with types whose "
                            "peak is not known, are not shown",
                            kernels.size() - points.size()));
  }
  return svg + "</svg>\n";
}

}  // namespace rochound::profile
