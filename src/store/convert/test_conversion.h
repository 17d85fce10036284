// SPDX-License-Identifier: MIT
//
// A test that writes a flight log (test_log.h), converts it and asks the trace.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "store/convert/conversion.h"
#include "store/rpd/database.h"

namespace rochound::store {

using Rows = std::vector<std::string>;

class Conversion : public testing::Test {
 protected:
  Conversion() : dir_(base::TempDir::Create(testing::TempDir(), "rochound-convert-").value()) {}

  std::string run() const { return (dir_.path() / "run").string(); }
  std::filesystem::path rpd() const { return dir_.path() / "trace.rpd"; }

  Summary Convert(ConversionOptions options = {}) {
    options.rpd = rpd();
    auto log = trace::RunLog::Open(run());
    EXPECT_TRUE(log.ok()) << log.error().message;
    auto summary = ConvertRun(log.value(), options);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(Ask("PRAGMA integrity_check"), Rows{"ok"});
    EXPECT_EQ(Ask("PRAGMA foreign_key_check"), Rows{});
    return std::move(summary).value();
  }

  // All rows of a question, columns with | between them.
  Rows Ask(const std::string& sql) const {
    Database database = Database::Open(rpd(), Database::Mode::kRead).value();
    auto statement = database.Prepare(sql);
    if (!statement.ok()) return {statement.error().message};
    Rows rows;
    while (statement.value().Step().value()) {
      std::string row;
      for (int i = 0; i < statement.value().columns(); ++i)
        row += (i > 0 ? "|" : "") + statement.value().Text(i);
      rows.push_back(row);
    }
    return rows;
  }

  base::TempDir dir_;
};

}  // namespace rochound::store
