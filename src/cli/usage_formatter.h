// SPDX-License-Identifier: MIT
//
// The usage line of --help in our words; the CLI11 of Debian 12 has no App::usage. Used while the
// command line is set up, by main and by the subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

namespace rochound::cli {

class UsageFormatter : public CLI::Formatter {
 public:
  static void Set(CLI::App& app, std::string usage) {
    app.formatter(std::make_shared<UsageFormatter>(std::move(usage)));
  }

  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}

  // The name is CLI11's.
  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

}  // namespace rochound::cli
