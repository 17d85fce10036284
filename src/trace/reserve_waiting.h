// SPDX-License-Identifier: MIT
//
// For programs of tests and benches that write logs with nobody beside them who maintains the log.
#pragma once

#include <cstring>

#include "trace/writer.h"

namespace rochound::trace {

// Room for a record of zeros. Maintains the log until there is some, so nothing is dropped.
template <typename T>
T* ReserveWaiting(Writer* writer, ThreadLog* log) {
  T* record = log->Reserve<T>();
  while (record == nullptr) {
    writer->Maintain();
    record = log->Reserve<T>();
  }
  memset(static_cast<void*>(record), 0, sizeof *record);
  return record;
}

}  // namespace rochound::trace
