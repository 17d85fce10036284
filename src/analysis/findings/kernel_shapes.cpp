// SPDX-License-Identifier: MIT
#include "analysis/findings/kernel_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "base/files.h"
#include "codeobj/code_object.h"
#include "codeobj/fat_binary.h"
#include "store/open/duck.h"

namespace rochound::analysis {
namespace {

// Time on the path by shape (its text as in LoadKernelShapes), of kernels whose names fit.
std::map<std::string, int64_t> PathByShape(const Picture& picture,
                                           const std::function<bool(const std::string&)>& fits) {
  std::map<std::string, int64_t> times;
  const std::map<int64_t, int64_t> by_op = picture.PathByOp(fits);
  if (by_op.empty()) return times;
  std::string ids;
  for (const auto& [op, ns] : by_op) ids += (ids.empty() ? "" : ",") + std::to_string(op);
  const Table& table = picture.Rows(
      "SELECT op_id, concat_ws('|', op_id >> 32, agent, kernel_id, \"gridX\", \"gridY\", "
      "\"gridZ\", \"workgroupX\", \"workgroupY\", \"workgroupZ\", \"groupSegmentSize\") AS shape "
      "FROM rochound_dispatch WHERE op_id IN (" +
      ids + ")");
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    times[row.Text("shape")] += by_op.at(row.Int("op_id"));
  }
  return times;
}

}  // namespace

double WorkgroupsAtOnce(const Picture& picture, const KernelShape& shape) {
  const Table& table = picture.Rows(fmt::format(
      R"(WITH kernel AS (
           SELECT o.id, o."gpuId" AS gpu, o.start, o."end", o.description_id,
             concat_ws('x', "gridX", "gridY", "gridZ") AS grid,
             concat_ws('x', "workgroupX", "workgroupY", "workgroupZ") AS workgroup,
             ceil("gridX" / greatest("workgroupX", 1)) * ceil("gridY" / greatest("workgroupY", 1))
               * ceil("gridZ" / greatest("workgroupZ", 1)) AS workgroups
           FROM rochound_dispatch d JOIN rocpd_op o ON o.id = d.op_id
         ), looked_at AS (
           SELECT k.* FROM kernel k JOIN rocpd_string n ON n.id = k.description_id
           WHERE n.string = {} AND k.grid = '{}' AND k.workgroup = '{}'
           ORDER BY k."end" - k.start DESC LIMIT 100
         )
         SELECT sum((least(l."end", k."end") - greatest(l.start, k.start)) * k.workgroups)
           / nullif((SELECT sum("end" - start) FROM looked_at), 0) AS at_once
         FROM looked_at l JOIN kernel k ON k.gpu = l.gpu AND k.start < l."end" AND k."end" > l.start)",
      store::duck::Literal(shape.kernel), shape.grid, shape.workgroup));
  return table.rows.empty() ? 0 : RowView(table, 0).Real("at_once");
}

std::vector<KernelShape> LoadKernelShapes(const Picture& picture) {
  const Table& table = picture.Rows(R"(
      WITH shape AS (
        SELECT
          d.op_id >> 32 AS session, d.agent, d.kernel_id, o.description_id,
          d."gridX", d."gridY", d."gridZ", d."workgroupX", d."workgroupY", d."workgroupZ",
          d."groupSegmentSize" AS lds, count(*) FILTER (u.id IS NULL) AS calls,
          coalesce(sum(o."end" - o.start) FILTER (u.id IS NULL), 0)::BIGINT AS ns,
          sum(o."end" - o.start)::BIGINT AS shown_ns
        FROM rochound_dispatch d
        JOIN rocpd_op o ON o.id = d.op_id
        LEFT JOIN rochound_unfinished u ON u.what = 'kernel' AND u.id = d.op_id
        JOIN rocpd_string t ON t.id = o."opType_id" AND t.string = 'KernelExecution'
        GROUP BY ALL
      ), units AS (
        SELECT session, try_cast(split_part(value, ',', 1) AS BIGINT) AS agent,
          try_cast(split_part(value, ',', 2) AS BIGINT) AS units
        FROM rochound_fact WHERE name = 'compute_units'
      )
      SELECT
        n.string AS kernel, concat_ws('|', s.session, s.agent, s.kernel_id, s."gridX", s."gridY", s."gridZ",
          s."workgroupX", s."workgroupY", s."workgroupZ", s.lds) AS shape,
        coalesce(m.string, '') AS mangled, s.session, s.agent, s.calls, s.ns, s.shown_ns, s.lds,
        concat_ws('x', "gridX", "gridY", "gridZ") AS grid,
        concat_ws('x', "workgroupX", "workgroupY", "workgroupZ") AS workgroup,
        (ceil("gridX" / greatest("workgroupX", 1)) * ceil("gridY" / greatest("workgroupY", 1))
          * ceil("gridZ" / greatest("workgroupZ", 1)))::BIGINT AS workgroups,
        "workgroupX" * "workgroupY" * "workgroupZ" AS workgroup_size,
        coalesce(u.units, 0) AS units, coalesce(g.name, '') AS processor
      FROM shape s
      JOIN rocpd_string n ON n.id = s.description_id
      LEFT JOIN rochound_kernel k ON k.id = s.kernel_id
      LEFT JOIN rocpd_string m ON m.id = k."mangledName_id"
      LEFT JOIN units u ON u.session = s.session AND u.agent = s.agent
      LEFT JOIN rochound_agent g ON g.session = s.session AND g.agent = s.agent)");
  std::map<std::string, int64_t> totals, shapes_of;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    totals[RowView(table, i).Text("kernel")] += RowView(table, i).Int("shown_ns");
    ++shapes_of[RowView(table, i).Text("kernel")];
  }
  const std::map<std::string, int64_t> by_shape =
      PathByShape(picture, [&](const std::string& kernel) { return shapes_of[kernel] > 1; });
  std::vector<KernelShape> shapes;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const RowView row(table, i);
    const auto on_path = picture.path_ops().find(row.Text("kernel"));
    const int64_t total = totals[row.Text("kernel")];
    // What never finished took no time that another shape would save.
    if (on_path == picture.path_ops().end() || total == 0 || row.Int("calls") == 0) continue;
    double path_ns =
        static_cast<double>(on_path->second) * row.Real("ns") / static_cast<double>(total);
    if (shapes_of[row.Text("kernel")] > 1) {
      const auto found = by_shape.find(row.Text("shape"));
      path_ns = found == by_shape.end() ? 0 : static_cast<double>(found->second);
    }
    if (path_ns == 0) continue;
    shapes.push_back({.kernel = row.Text("kernel"),
                      .mangled = row.Text("mangled"),
                      .grid = row.Text("grid"),
                      .workgroup = row.Text("workgroup"),
                      .session = row.Int("session"),
                      .agent = row.Int("agent"),
                      .calls = row.Int("calls"),
                      .path_ns = std::llround(path_ns),
                      .workgroups = row.Int("workgroups"),
                      .workgroup_size = row.Int("workgroup_size"),
                      .lds = row.Int("lds"),
                      .compute_units = row.Int("units"),
                      .processor = row.Text("processor")});
  }
  std::stable_sort(shapes.begin(), shapes.end(), [](const KernelShape& a, const KernelShape& b) {
    return a.path_ns > b.path_ns;
  });
  return shapes;
}

std::optional<codeobj::Occupancy> OccupancyOf(const Picture& picture, const KernelShape& shape) {
  constexpr uintmax_t kLargestFile = uintmax_t{256} << 20;
  const auto target = codeobj::ParseTarget(shape.processor);
  if (!target.ok()) return std::nullopt;
  const Table& files = picture.Rows(fmt::format(
      "SELECT executable AS file, 0 AS place FROM rochound_process WHERE session = {0} UNION ALL "
      "SELECT value, 1 FROM rochound_fact WHERE session = {0} AND name = 'library' "
      "AND NOT regexp_matches(value, "
      "'/lib(c|m|stdc..|gcc_s|amdhip64|hsa-runtime64|amd_comgr|LLVM[^/]*|"
      "rochound[^/]*|drm[^/]*|elf|numa|z|zstd|dl|pthread)[.-]') ORDER BY place, file",
      shape.session));
  const std::string name = shape.mangled.ends_with(".kd")
                               ? shape.mangled.substr(0, shape.mangled.size() - 3)
                               : shape.mangled;
  for (size_t i = 0; i < files.rows.size(); ++i) {
    const std::filesystem::path file = RowView(files, i).Text("file");
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(file, error);
    if (error || size > kLargestFile) continue;
    const auto bytes = base::ReadFile(file);
    if (!bytes.ok()) continue;
    const auto objects = codeobj::FindCodeObjects(bytes.value());
    if (!objects.ok()) continue;
    for (const codeobj::EmbeddedObject& one : objects.value()) {
      if (!codeobj::RunsOn(one.target, target.value())) continue;
      const auto object = codeobj::CodeObject::Parse(one.bytes);
      if (!object.ok()) continue;
      const codeobj::Kernel* const kernel = object.value().FindKernel(name);
      if (kernel == nullptr) continue;
      const auto occupancy = codeobj::TheoreticalOccupancy(
          object.value().target(), *kernel, static_cast<uint64_t>(shape.workgroup_size),
          std::max<uint64_t>(static_cast<uint64_t>(shape.lds), kernel->group_segment_fixed_size));
      if (occupancy.ok()) return occupancy.value();
    }
  }
  return std::nullopt;
}

}  // namespace rochound::analysis
