// SPDX-License-Identifier: MIT
#include "optimize/launches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/pattern.h"
#include "codeobj/demangle.h"
#include "store/rpd/database.h"

namespace rochound::optimize {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

// Shapes come in the order of their first launch.
constexpr const char* kShapes = R"(
SELECT s.string, d.gridX, d.gridY, d.gridZ, d.workgroupX, d.workgroupY, d.workgroupZ,
       count(*), sum(o."end" - o.start)
FROM rochound_dispatch d
JOIN rocpd_op o ON o.id = d.op_id
JOIN rochound_kernel k ON k.id = d.kernel_id
JOIN rocpd_string s ON s.id = k.mangledName_id
GROUP BY 1, 2, 3, 4, 5, 6, 7
ORDER BY min(d.op_id)
)";

int64_t TotalOf(const std::vector<LaunchShape>& shapes) {
  int64_t total = 0;
  for (const LaunchShape& shape : shapes) total += shape.total_ns;
  return total;
}

}  // namespace

Result<KernelLaunches> ReadLaunches(const std::filesystem::path& rpd, const std::string& pattern) {
  ROCHOUND_TRY(const base::Pattern wanted, base::Pattern::Compile(pattern));
  ROCHOUND_TRY(store::Database database, store::Database::Open(rpd, store::Database::Mode::kRead));
  ROCHOUND_TRY(store::Statement statement, database.Prepare(kShapes));
  std::map<std::string, std::vector<LaunchShape>> kernels;
  for (;;) {
    ROCHOUND_TRY(const bool row, statement.Step());
    if (!row) break;
    std::string name = statement.Text(0);
    if (name.ends_with(".kd")) name.resize(name.size() - 3);
    if (!wanted.FoundIn(name) && !wanted.FoundIn(codeobj::Demangle(name))) continue;
    LaunchShape& shape = kernels[name].emplace_back();
    for (size_t i = 0; i < 3; ++i) {
      shape.grid[i] = static_cast<uint32_t>(statement.Int(1 + static_cast<int>(i)));
      shape.workgroup[i] = static_cast<uint32_t>(statement.Int(4 + static_cast<int>(i)));
    }
    shape.launches = static_cast<uint64_t>(statement.Int(7));
    shape.total_ns = statement.Int(8);
  }
  if (kernels.empty())
    return Error{fmt::format("the program launched no kernel that '{}' matches", pattern)};
  const auto most =
      std::max_element(kernels.begin(), kernels.end(), [](const auto& one, const auto& other) {
        return TotalOf(one.second) < TotalOf(other.second);
      });
  KernelLaunches launches{most->first, std::move(most->second)};
  std::stable_sort(launches.shapes.begin(), launches.shapes.end(),
                   [](const LaunchShape& one, const LaunchShape& other) {
                     return one.total_ns > other.total_ns;
                   });
  return launches;
}

LaunchChoice ChooseLaunches(const KernelLaunches& launches, size_t most) {
  LaunchChoice choice{launches.kernel, {}};
  const auto total = static_cast<double>(TotalOf(launches.shapes));
  const auto add = [&](const LaunchShape& shape, uint64_t nth) {
    if (choice.launches.size() == most) return;
    choice.launches.push_back({shape, nth, choice.launches.size() % 2 == 1,
                               total > 0 ? static_cast<double>(shape.total_ns) / total : 0});
  };
  for (const LaunchShape& shape : launches.shapes) add(shape, 1);
  // Other data. One from the middle: a program does not always launch equally often.
  for (const LaunchShape& shape : launches.shapes)
    if (shape.launches > 1) add(shape, shape.launches / 2 + 1);
  return choice;
}

std::string DescribeLaunch(const ChosenLaunch& launch) {
  return fmt::format("grid {} in workgroups of {}, launch {} of {} ({:.0f}% of the kernel's time)",
                     fmt::join(launch.shape.grid, "x"), fmt::join(launch.shape.workgroup, "x"),
                     launch.nth, launch.shape.launches, launch.share * 100);
}

std::string ShapeOption(const LaunchShape& shape) {
  return fmt::format("grid={},workgroup={}", fmt::join(shape.grid, "x"),
                     fmt::join(shape.workgroup, "x"));
}

std::string LaunchChoiceJson(const LaunchChoice& choice) {
  ordered_json json = {{"kernel", choice.kernel}, {"launches", ordered_json::array()}};
  for (const ChosenLaunch& launch : choice.launches)
    json["launches"].push_back({{"grid", launch.shape.grid},
                                {"workgroup", launch.shape.workgroup},
                                {"nth", launch.nth},
                                {"of", launch.shape.launches},
                                {"total_ns", launch.shape.total_ns},
                                {"share", launch.share},
                                {"held_out", launch.held_out}});
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<LaunchChoice> ParseLaunchChoice(const std::string& text) {
  LaunchChoice choice;
  try {
    const auto json = ordered_json::parse(text);
    choice.kernel = json.at("kernel").get<std::string>();
    for (const ordered_json& one : json.at("launches")) {
      ChosenLaunch& launch = choice.launches.emplace_back();
      launch.shape.grid = one.at("grid").get<std::array<uint32_t, 3>>();
      launch.shape.workgroup = one.at("workgroup").get<std::array<uint32_t, 3>>();
      launch.nth = one.at("nth").get<uint64_t>();
      launch.shape.launches = one.at("of").get<uint64_t>();
      launch.shape.total_ns = one.at("total_ns").get<int64_t>();
      launch.share = one.at("share").get<double>();
      launch.held_out = one.at("held_out").get<bool>();
    }
  } catch (const ordered_json::exception& error) {
    return Error{fmt::format("it is not what rochound optimize wrote: {}", error.what())};
  }
  if (choice.launches.empty()) return Error{"it names no launch"};
  return choice;
}

}  // namespace rochound::optimize
