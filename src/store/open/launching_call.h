// SPDX-License-Identifier: MIT
//
// Which call launched an operation: described here once, for whoever asks an open trace.
#pragma once

namespace rochound::store {

// Which call launched an operation `o` of rocpd_op, and when it was submitted: to be joined in SQL,
// and then `launch.api_id` and `launch.submit`, NULL where it is not known. Every part of rochound
// that asks for an operation's call asks here. The links of rocpd_api_ops count where an operation
// has no row of its own, as in RPD's own traces.
inline constexpr const char* kJoinLaunch = R"(
  LEFT JOIN (
    SELECT op_id, coalesce(min(known), min(linked)) AS api_id, min(submit) AS submit FROM (
      SELECT op_id, api_id AS known, NULL AS linked, submit FROM rochound_dispatch
      UNION ALL SELECT op_id, api_id, NULL, submit FROM rochound_copy
      UNION ALL SELECT op_id, NULL, api_id, NULL FROM rocpd_api_ops)
    GROUP BY op_id
  ) launch ON launch.op_id = o.id )";

}  // namespace rochound::store
