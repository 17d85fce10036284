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

Result<ordered_json> ReadPart(const std::filesystem::path& file, const std::string& format) {
  ROCHOUND_TRY(const std::string text, base::ReadFile(file, base::kMostText));
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", ordered_json()) != format)
    return Error{fmt::format("{} is no file of rochound profile", file.string())};
  if (json.value("version", ordered_json()) != 1) {
    return Error{
        fmt::format("{} is of another version of rochound: profile the program again with this one",
                    file.string())};
  }
  const auto kernels = json.find("kernels");
  if (kernels == json.end() || !kernels->is_array())
    return Error{fmt::format("{} has no kernels", file.string())};
  return json;
}

}  // namespace

Result<std::string> ReadProfile(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder / "roofline.json", error)) {
    return Error{
        fmt::format("{} holds no roofline.json; rochound profile -o DIR -- PROGRAM writes one",
                    folder.string())};
  }
  ordered_json all = ordered_json::object();
  ROCHOUND_TRY(all["roofline"], ReadPart(folder / "roofline.json", "rochound roofline"));
  all["analysis"] = nullptr;
  if (std::filesystem::exists(folder / "analysis.json", error)) {
    ROCHOUND_TRY(all["analysis"], ReadPart(folder / "analysis.json", "rochound analysis"));
  }
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace rochound::report
