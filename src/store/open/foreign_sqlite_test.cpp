// SPDX-License-Identifier: MIT
#include "store/open/foreign_sqlite.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "store/open/duck.h"
#include "store/rpd/database.h"

namespace rochound::store {
namespace {

// Debian's libduckdb comes without extensions; another package has them.
TEST(ForeignSqlite, NamesThePackageOfAMissingExtension) {
  const auto folder = base::TempDir::Create(testing::TempDir(), "foreign-").value();
  const auto file = folder.path() / "trace.rpd";
  ASSERT_TRUE(Database::Open(file, Database::Mode::kCreate).ok());
  auto connection = duck::Connection::Open();
  ASSERT_TRUE(connection.ok());
  ASSERT_TRUE(
      connection.value().Run("SET extension_directory = '" + folder.path().string() + "'").ok());
  const auto attached = ForeignSqlite::Attach(connection.value(), file, "trace");
  ASSERT_FALSE(attached.ok());
  EXPECT_NE(attached.error().message.find("Debian's package duckdb,"), std::string::npos)
      << attached.error().message;
}

}  // namespace
}  // namespace rochound::store
