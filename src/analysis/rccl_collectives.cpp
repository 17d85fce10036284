// SPDX-License-Identifier: MIT
#include "analysis/rccl_collectives.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace rochound::analysis {
namespace {

using base::Result;
using store::duck::Connection;
using store::duck::Rows;

constexpr const char* kPrepare = R"sql(
CREATE SCHEMA IF NOT EXISTS found;
CREATE OR REPLACE TABLE found.rccl_op (op_id BIGINT);

CREATE OR REPLACE TEMP TABLE rccl_call AS
SELECT a.id, a.pid, a.tid, a.start, a."end", n.string AS name, u.string AS args
FROM rocpd_api a
JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'rccl'
JOIN rocpd_string n ON n.id = a."apiName_id"
JOIN (
  -- Most of a trace's text is arguments of other calls: they are read past the ids of these, not collected.
  SELECT id, string FROM rocpd_ustring
  WHERE id IN (SELECT r.args_id FROM rocpd_api r JOIN rocpd_string s ON s.id = r.domain_id AND s.string = 'rccl')
) u ON u.id = a.args_id;
)sql";

constexpr const char* kCommunicators = R"sql(
CREATE OR REPLACE TEMP TABLE rccl_communicator AS
SELECT pid, start,
  regexp_extract(args, '\*(?:newcomm|comm)=(0x[0-9a-f]+)', 1) AS handle,
  regexp_extract(args, 'commId=\{([^}]*)\}', 1) AS unique_id,
  regexp_extract(args, 'nranks=([0-9]+)', 1)::BIGINT AS ranks,
  regexp_extract(args, 'myrank=([0-9]+)', 1)::BIGINT AS rank
FROM rccl_call
WHERE name IN ('ncclCommInitRank', 'ncclCommInitRankConfig') AND regexp_matches(args, '\*(newcomm|comm)=0x[0-9a-f]+');

-- Collectives; what sends to one other rank is none. Elements by RCCL's numbers of data types.
CREATE OR REPLACE TEMP TABLE rccl_collective AS
SELECT c.id, c.pid, c.tid, c.start, c."end", c.name, m.unique_id, m.ranks,
  row_number() OVER (PARTITION BY c.pid, m.unique_id ORDER BY c.start, c.id) AS turn,
  coalesce(try_cast(regexp_extract(c.args, '(?:^|\|)(?:send|recv)?count=([0-9]+)', 1) AS BIGINT), 0)
    * CASE try_cast(regexp_extract(c.args, 'datatype=([0-9]+)', 1) AS BIGINT)
        WHEN 0 THEN 1 WHEN 1 THEN 1 WHEN 2 THEN 4 WHEN 3 THEN 4 WHEN 4 THEN 8 WHEN 5 THEN 8 WHEN 6 THEN 2 WHEN 7 THEN 4
        WHEN 8 THEN 8 WHEN 9 THEN 2 ELSE 1 END AS bytes
FROM (SELECT *, regexp_extract(args, '(?:^|\|)comm=(0x[0-9a-f]+)', 1) AS handle FROM rccl_call
      WHERE regexp_matches(name, '^nccl(All|Reduce|Broadcast|Bcast|Gather|Scatter)')) c
ASOF JOIN rccl_communicator m ON m.pid = c.pid AND m.handle = c.handle AND m.start <= c.start;

-- Where its kernel was launched: in the call itself, or at the end of its group.
CREATE OR REPLACE TEMP TABLE rccl_launch AS
SELECT d.op_id, r.id AS launcher
FROM rochound_dispatch d
JOIN rocpd_api a ON a.id = d.api_id
ASOF JOIN (SELECT id, pid, tid, start, "end" FROM rccl_collective
           UNION ALL SELECT id, pid, tid, start, "end" FROM rccl_call WHERE name = 'ncclGroupEnd') r
  ON r.pid = a.pid AND r.tid = a.tid AND r.start <= a.start
WHERE a.start <= r."end";

CREATE OR REPLACE TEMP TABLE rccl_part AS
SELECT c.*, coalesce(min(o.start), any_value(c.start)) AS began, coalesce(max(o."end"), any_value(c."end")) AS ended,
  coalesce(min(o."gpuId"), -1) AS gpu, list(o.id) AS ops
FROM (
  SELECT c.id, c.pid, c.name, c.unique_id, c.ranks, c.turn, c.bytes, c.start, c."end",
    if(c.id IN (SELECT launcher FROM rccl_launch), c.id, g.id) AS launcher
  FROM rccl_collective c
  ASOF LEFT JOIN (SELECT id, pid, tid, start FROM rccl_call WHERE name = 'ncclGroupEnd') g
    ON g.pid = c.pid AND g.tid = c.tid AND g.start >= c.start
) c
LEFT JOIN rccl_launch l ON l.launcher = c.launcher
LEFT JOIN rocpd_op o ON o.id = l.op_id
GROUP BY ALL;

INSERT INTO found.rccl_op SELECT DISTINCT unnest(ops) FROM rccl_part;
)sql";

constexpr const char* kParts = R"sql(
SELECT unique_id, turn, name, bytes, ranks, pid, gpu, began, ended FROM rccl_part
ORDER BY unique_id, turn, began, id)sql";

constexpr const char* kRanks = R"sql(
SELECT pid, arg_max(rank, ranks) FROM rccl_communicator GROUP BY pid)sql";

// ncclAllReduce -> AllReduce
std::string ShortName(std::string_view name) {
  return std::string(name.starts_with("nccl") ? name.substr(4) : name);
}

// What is told beside a kernel: of the same GPU and time. GPUs are numbered per node there.
constexpr const char* kNamed = R"sql(
SELECT regexp_extract(m.value, 'group=(.*)', 1), o."gpuId", coalesce(p.pid, 0),
  regexp_extract(m.value, 'name=([^|]*)', 1),
  coalesce(try_cast(regexp_extract(m.value, 'bytes=([0-9]+)', 1) AS BIGINT), 0),
  coalesce(try_cast(regexp_extract(m.value, 'ranks=([0-9]+)', 1) AS BIGINT), 0), o.start, o."end", o.id
FROM rocpd_monitor m
JOIN rocpd_op o ON o.start = m.start AND o."end" = m."end" AND o."gpuId" % 1000 = m."deviceId"
JOIN rocpd_string s ON s.id = o.description_id AND regexp_matches(s.string, '(?i)(nccl|rccl)')
LEFT JOIN rochound_process p ON p.session = o.id >> 32
WHERE m."monitorType" = 'collective'
ORDER BY 1, 2, 3, o.start, o.id)sql";

struct NamedPart {
  std::string name;
  int64_t bytes, ranks, op;
  RcclCollective::Part part;
};

// All ranks of a group did the same, one after the other.
bool AreTheSame(const std::vector<std::vector<NamedPart>>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [&](const std::vector<NamedPart>& rank) {
    return std::equal(rank.begin(), rank.end(), ranks[0].begin(), ranks[0].end(),
                      [](const NamedPart& a, const NamedPart& b) {
                        return std::tie(a.name, a.bytes) == std::tie(b.name, b.bytes);
                      });
  });
}

Result<void> ReadNamed(Connection& connection, RcclCollectives* found) {
  using Place = std::pair<int64_t, int64_t>;  // GPU and process
  std::map<std::string, std::map<Place, std::vector<NamedPart>>> groups;
  {
    ROCHOUND_TRY(Rows rows, connection.Query(kNamed));
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      const int64_t gpu = rows.Int(1), pid = rows.Int(2);
      groups[std::string(rows.Text(0))][{gpu, pid}].push_back(
          {std::string(rows.Text(3)),
           rows.Int(4),
           rows.Int(5),
           rows.Int(8),
           {pid, gpu, rows.Int(6), rows.Int(7)}});
    }
  }
  std::string ops;
  for (auto& [group, places] : groups) {
    std::vector<std::vector<NamedPart>> ranks;
    for (auto& [place, parts] : places) ranks.push_back(std::move(parts));
    if (ranks.size() < 2 || !AreTheSame(ranks)) continue;
    for (size_t turn = 0; turn < ranks[0].size(); ++turn) {
      RcclCollective collective{
          ranks[0][turn].name, ranks[0][turn].bytes, ranks[0][turn].ranks, {}};
      for (const std::vector<NamedPart>& rank : ranks) {
        collective.parts.push_back(rank[turn].part);
        ops += (ops.empty() ? "(" : ", (") + std::to_string(rank[turn].op) + ")";
      }
      std::stable_sort(collective.parts.begin(), collective.parts.end(),
                       [](const auto& a, const auto& b) { return a.start < b.start; });
      found->all.push_back(std::move(collective));
    }
  }
  return ops.empty() ? Result<void>() : connection.Run("INSERT INTO found.rccl_op VALUES " + ops);
}

}  // namespace

Result<RcclCollectives> ReadRcclCollectives(Connection& connection) {
  RcclCollectives found;
  ROCHOUND_CHECK(connection.Run(kPrepare));
  ROCHOUND_CHECK(ReadNamed(connection, &found));
  ROCHOUND_TRY(const int64_t calls, connection.Number("SELECT count(*) FROM rccl_call"));
  if (calls == 0) return found;
  ROCHOUND_CHECK(connection.Run(kCommunicators));
  {
    ROCHOUND_TRY(Rows rows, connection.Query(kParts));
    std::string communicator;
    int64_t turn = 0;
    for (;;) {
      ROCHOUND_TRY(const bool more, rows.Next());
      if (!more) break;
      if (found.all.empty() || communicator != rows.Text(0) || turn != rows.Int(1)) {
        communicator = rows.Text(0);
        turn = rows.Int(1);
        found.all.push_back({ShortName(rows.Text(2)), rows.Int(3), rows.Int(4), {}});
      }
      found.all.back().parts.push_back({rows.Int(5), rows.Int(6), rows.Int(7), rows.Int(8)});
    }
  }
  ROCHOUND_TRY(Rows rows, connection.Query(kRanks));
  for (;;) {
    ROCHOUND_TRY(const bool more, rows.Next());
    if (!more) return found;
    found.ranks_by_pid[rows.Int(0)] = rows.Int(1);
  }
}

}  // namespace rochound::analysis
