// SPDX-License-Identifier: MIT
#include "analysis/trace_facts.h"

#include <algorithm>
#include <string_view>

#include "analysis/window.h"

namespace rochound::analysis {
namespace {

std::string FileName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

base::Result<std::vector<std::string>> ReadLayers(store::TraceDatabase& trace) {
  // From the program down; lower ones call the driver.
  ROCHOUND_TRY(store::duck::Rows rows, trace.connection().Query(R"(
      WITH mapped AS (
        SELECT session, value, regexp_extract(value, '[^/]*$') AS file FROM rochound_fact
        WHERE name = 'library'
      ), layered AS (
        SELECT *, CASE WHEN regexp_matches(file, '^lib(nvcuda|cuda|cudart|cublas)\.so') THEN 1
                       WHEN starts_with(file, 'libamdhip64.so') THEN 2
                       WHEN starts_with(file, 'libhsa-runtime64.so') THEN 3 END AS layer
        FROM mapped
      ), chosen AS (
        SELECT session FROM layered WHERE layer IS NOT NULL
        GROUP BY session ORDER BY min(layer), session LIMIT 1
      )
      SELECT p.executable, l.file FROM layered l
      JOIN chosen USING (session) JOIN rochound_process p USING (session)
      WHERE l.layer IS NOT NULL ORDER BY l.layer, l.file)"));
  std::vector<std::string> layers;
  while (true) {
    ROCHOUND_TRY(const bool any, rows.Next());
    if (!any) break;
    if (layers.empty()) layers.push_back(FileName(rows.Text(0)));
    layers.emplace_back(rows.Text(1));
  }
  if (!layers.empty()) layers.emplace_back("KFD");
  return layers;
}

base::Result<Facts> ReadSize(store::TraceDatabase& trace) {
  Window window;
  ROCHOUND_TRY(window.unrecorded, LoadUnrecorded(trace.connection()));
  ROCHOUND_TRY(store::duck::Rows rows, trace.connection().Query(R"(
      WITH calls AS (
        SELECT min(a.start) AS first, max(a."end") AS last,
          count(*) FILTER (d.string NOT IN ('roctx', 'torch', 'python')) AS events, count(DISTINCT a.pid) AS places
        FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id
        WHERE d.string <> 'rochound'
      ), ops AS (
        SELECT min(start) AS first, max("end") AS last, count(*) AS events, count(DISTINCT "gpuId") AS places,
          coalesce(sum("end" - start), 0)::BIGINT AS ns
        FROM rocpd_op
      )
      SELECT coalesce(least(c.first, o.first), 0), coalesce(greatest(c.last, o.last), 0),
             c.events, o.events, c.places, o.places, o.ns
      FROM calls c, ops o)"));
  Facts facts;
  ROCHOUND_TRY(const bool any, rows.Next());
  if (!any) return facts;
  facts.begin = rows.Int(0);
  window.begin = rows.Int(0);
  window.end = rows.Int(1);
  facts.calls = rows.Int(2);
  facts.operations = rows.Int(3);
  facts.processes = rows.Int(4);
  facts.gpus = rows.Int(5);
  facts.operation_ns = rows.Int(6);
  facts.length = std::max<int64_t>(0, window.length());
  return facts;
}

}  // namespace

base::Result<Facts> ReadFacts(store::TraceDatabase& trace) {
  ROCHOUND_TRY(Facts facts, ReadSize(trace));
  ROCHOUND_TRY(facts.layers, ReadLayers(trace));
  return facts;
}

bool OnSoftwareGpu(store::TraceDatabase& trace) {
  auto rows = trace.connection().Query(
      "SELECT 1 FROM rochound_fact WHERE name = 'library' AND value LIKE '%/librochound_softgpu%' "
      "LIMIT 1");
  if (!rows.ok()) return false;
  const auto any = rows.value().Next();
  return any.ok() && any.value();
}

}  // namespace rochound::analysis
