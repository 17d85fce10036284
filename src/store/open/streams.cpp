// SPDX-License-Identifier: MIT
#include "store/open/streams.h"

#include <string>

#include "store/open/launching_call.h"

namespace rochound::store {

base::Result<void> FindStreams(duck::Connection& connection) {
  // Most launches and copies have a row with their stream. Of the others (fills) the arguments tell
  // it; only theirs are read, since arguments are most of a trace's text. A HIP call without a
  // stream uses the default stream, and so does hipStreamLegacy (1). hipStreamPerThread (2) is
  // another stream for each thread. Where a tool gave streams numbers and operations the same ones
  // as their queues, the queue tells the stream of every operation, without a call, too.
  return connection.Run(R"(
      CREATE OR REPLACE TEMP TABLE stream_launch AS
      WITH launch AS (
        SELECT o.id AS op_id, launch.api_id FROM rocpd_op o)" +
                        std::string(kJoinLaunch) + R"(WHERE launch.api_id IS NOT NULL
      ), told AS (
        SELECT api_ptr_id AS api_id, stream FROM rocpd_kernelapi WHERE stream <> ''
        UNION ALL SELECT api_ptr_id, stream FROM rocpd_copyapi WHERE stream <> ''
      ), by_queue AS (
        SELECT coalesce(bool_and(t.stream = CAST(o."queueId" AS VARCHAR)), false) AS known
        FROM launch l JOIN told t USING (api_id) JOIN rocpd_op o ON o.id = l.op_id
      ), written AS (
        SELECT a.id AS api_id, regexp_extract(u.string, '(?:^|\|)stream=([^|]*)', 1) AS stream
        FROM rocpd_api a JOIN rocpd_ustring u ON u.id = a.args_id
        WHERE a.id IN (SELECT api_id FROM launch) AND a.id NOT IN (SELECT api_id FROM told)
      ), named AS (
        SELECT l.op_id, a.pid, a.tid, a.start,
               coalesce(t.stream, nullif(w.stream, ''), if(d.string = 'hip', '0x0', NULL)) AS handle
        FROM launch l JOIN rocpd_api a ON a.id = l.api_id
        LEFT JOIN rocpd_string d ON d.id = a.domain_id
        LEFT JOIN (SELECT api_id, any_value(stream) AS stream FROM told GROUP BY api_id) t
          ON t.api_id = a.id
        LEFT JOIN written w ON w.api_id = a.id
      ), found AS (
        FROM named WHERE handle IS NOT NULL AND NOT (SELECT known FROM by_queue)
        UNION ALL
        SELECT o.id, coalesce(n.pid, p.pid), NULL, o.start, CAST(o."queueId" AS VARCHAR)
        FROM rocpd_op o JOIN rochound_process p ON p.session = o.id >> 32
        LEFT JOIN named n ON n.op_id = o.id
        WHERE (SELECT known FROM by_queue)
      )
      SELECT op_id, pid, start, if(handle IN ('0', '0x1'), '0x0', handle) AS handle,
             if(handle = '0x2', tid, NULL) AS tid
      FROM found;

      CREATE OR REPLACE TEMP TABLE stream_handle AS
      SELECT pid, handle, tid,
             if(handle = '0x0', 0, row_number() OVER (
               PARTITION BY pid, handle = '0x0' ORDER BY min(start), handle, tid)) AS stream
      FROM stream_launch GROUP BY pid, handle, tid;

      CREATE OR REPLACE TEMP TABLE operation_stream AS
      SELECT l.op_id, l.pid, h.stream FROM stream_launch l JOIN stream_handle h
        ON h.pid = l.pid AND h.handle = l.handle AND h.tid IS NOT DISTINCT FROM l.tid;

      DROP TABLE stream_launch;)");
}

}  // namespace rochound::store
