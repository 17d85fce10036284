// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/exit_codes.h"
#include "base/files.h"
#include "base/log.h"
#include "cli/usage_formatter.h"

namespace rochound::cli {
namespace {

using Json = nlohmann::ordered_json;

// "reachable|all:{reachable,all}" is what CLI11 makes of a name and what it checks.
std::string ValueName(const CLI::Option& option) {
  const std::string whole = option.get_type_name();
  return whole.substr(0, whole.find(':'));
}

Json DescribeOption(const CLI::Option& option) {
  Json names = Json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool positional = names.empty();
  if (positional) names.push_back(option.get_name());
  Json json = {{"names", names}, {"about", option.get_description()}};
  json["value"] = option.get_items_expected_max() == 0 ? "" : ValueName(option);
  json["takes_value"] = option.get_items_expected_max() != 0;
  json["required"] = option.get_required();
  return json;
}

void DescribeOptions(const CLI::App& app, Json* json) {
  Json options = Json::array();
  Json positionals = Json::array();
  for (const CLI::Option* option :
       app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    (option->get_positional() && option->get_lnames().empty() ? positionals : options)
        .push_back(DescribeOption(*option));
  (*json)["options"] = std::move(options);
  (*json)["positionals"] = std::move(positionals);
}

Json DescribeApp(const CLI::App& app, const std::string& name) {
  Json json = {{"name", name}, {"about", app.get_description()}};
  // UsageFormatter::Set has set it for every command.
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(app.get_formatter());
  std::string usage = formatter != nullptr ? formatter->make_usage(&app, name) : "";
  if (usage.starts_with("Usage: ")) usage = usage.substr(7);
  json["usage"] = usage;
  DescribeOptions(app, &json);
  return json;
}

}  // namespace

Json Command::Reference() const {
  Json json = DescribeApp(*subcommand_, name());
  Json all = Json::array();
  for (const Action& action : actions())
    all.push_back({{"name", action.name},
                   {"usage", action.usage},
                   {"about", action.about},
                   {"options", action.options}});
  json["actions"] = std::move(all);
  Json parts = Json::array();
  for (const CLI::App* part : subcommand_->get_subcommands([](const CLI::App*) { return true; })) {
    parts.push_back(DescribeApp(*part, name() + " " + part->get_name()));
    parts.back()["examples"] = ExamplesOf(part->get_name());
  }
  json["subcommands"] = std::move(parts);
  json["examples"] = examples();
  return json;
}

std::string Command::Help(const CLI::App& app) {
  const CLI::Option* const named = subcommand_->get_option_no_throw("action");
  for (const Action& action : actions()) {
    if (named == nullptr || named->empty() || named->results()[0] != action.name) continue;
    for (CLI::Option* option : subcommand_->get_options()) {
      const std::string name = option->get_name();
      if (name != "--help" &&
          std::find(action.options.begin(), action.options.end(), name) == action.options.end())
        option->group("");  // not shown
    }
    UsageFormatter::Set(*subcommand_, action.usage);
    subcommand_->description(action.about);
    return app.help() + "\nrochound " + this->name() + " --help shows examples and exit codes.\n";
  }
  return app.help() + examples();
}

std::string Command::OutputProblem(const std::filesystem::path& output) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(output, error).parent_path();
  if (!std::filesystem::is_directory(folder, error))
    return fmt::format("-o: there is no folder '{}'; make it, or choose another place",
                       folder.string());
  const auto replaceable = base::CheckReplaceable(output);
  return replaceable.ok() ? "" : "-o: " + replaceable.error().message + "; name a file";
}

int Command::Usage(const std::string& problem) const {
  base::LogError(problem);
  base::LogInfo("See rochound " + name() + " --help.");
  return base::kExitUsage;
}

}  // namespace rochound::cli
