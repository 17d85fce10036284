-- SPDX-License-Identifier: MIT
-- table: lost | What happened and is not in the trace, or not for sure
SELECT what, count, pid, note FROM rochound_lost ORDER BY count DESC, what, pid;
