// SPDX-License-Identifier: MIT
#include "report/profile_part.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace rochound::report {
namespace {

using base::Error;
using base::Result;
using nlohmann::ordered_json;

// list: the field that the page walks through.
Result<ordered_json> ReadPart(const std::filesystem::path& file, const std::string& format,
                              const char* list, const char* writer) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", ordered_json()) != format)
    return Error{fmt::format("{} is no file of {}", file.string(), writer)};
  if (json.value("version", ordered_json()) != 1) {
    return Error{fmt::format("{} is of another version of rochound: write it again with this one",
                             file.string())};
  }
  const auto found = json.find(list);
  if (found == json.end() || !found->is_array())
    return Error{fmt::format("{} has no {}", file.string(), list)};
  return json;
}

}  // namespace

Result<std::string> ReadProfile(const std::filesystem::path& folder) {
  constexpr struct {
    const char *name, *file, *format, *list;
  } kParts[] = {{"roofline", "roofline.json", "rochound roofline", "kernels"},
                {"analysis", "analysis.json", "rochound analysis", "kernels"},
                {"thread_trace", "thread_trace.json", "rochound thread trace", "traces"}};
  ordered_json all = ordered_json::object();
  bool any = false;
  for (const auto& part : kParts) {
    all[part.name] = nullptr;
    std::error_code error;
    if (!std::filesystem::exists(folder / part.file, error)) continue;
    ROCHOUND_TRY(all[part.name],
                 ReadPart(folder / part.file, part.format, part.list, "rochound profile"));
    any = true;
  }
  if (!any) {
    return Error{fmt::format(
        "{} holds neither roofline.json nor thread_trace.json; rochound profile -o DIR writes them",
        folder.string())};
  }
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<std::string> ReadProbe(const std::filesystem::path& file) {
  ROCHOUND_TRY(const ordered_json probe,
               ReadPart(file, "rochound probe report", "kernels", "rochound probe -a report"));
  return probe.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace rochound::report
