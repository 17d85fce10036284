// SPDX-License-Identifier: MIT
#include "trace/log_name.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/parse.h"
#include "base/process_stat.h"

namespace rochound::trace {

LogName ParseLogName(const std::filesystem::path& folder) {
  const std::string name = folder.filename();
  std::string_view rest = name;
  LogName parsed;
  if (base::TakeUntil(&rest, '-') != "process" ||
      !base::ParseNumber(base::TakeUntil(&rest, '-'), &parsed.process) ||
      !base::ParseNumber(base::TakeUntil(&rest, '-'), &parsed.start) ||
      (!rest.empty() && !base::ParseNumber(rest, &parsed.number)))
    return {};
  return parsed;
}

std::filesystem::path NextLog(const std::filesystem::path& folder, const LogName& name) {
  return folder.parent_path() /
         fmt::format("process-{}-{}-{}", name.process, name.start, name.number + 1);
}

char ProcessState(const LogName& name) {
  const auto stat = base::ReadProcessStat(name.process);
  return stat && stat->start_ticks == name.start ? stat->state : 0;
}

}  // namespace rochound::trace
