// SPDX-License-Identifier: MIT
#include "fleet/daemon/code_store.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/sha256.h"

namespace rochound::fleet {
namespace {

using nlohmann::json;

std::string HashOf(const std::string& bytes) { return base::Sha256(bytes).substr(0, 32); }

// All pieces; empty: no answer.
std::string Fetch(const CodeStore& store, const std::string& hash) {
  std::string bytes;
  for (;;) {
    const auto answer = store.Answer(json{{"hash", hash}, {"offset", bytes.size()}}.dump());
    if (!answer) return {};
    const size_t line = answer->find('\n');
    const json head = json::parse(answer->substr(0, line));
    EXPECT_EQ(head.at("origin"), "file:///lib/a b.so");
    bytes += answer->substr(line + 1);
    if (bytes.size() >= head.at("size").get<size_t>()) return bytes;
  }
}

TEST(CodeStoreTest, GivesBackInPiecesWhatWasKept) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  CodeStore store(dir.value().path() / "code", 8 << 20);
  std::string bytes(3 * CodeStore::kPiece / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7919 >> 3);
  store.Keep(HashOf(bytes), bytes, "file:///lib/a b.so");
  EXPECT_EQ(Fetch(store, HashOf(bytes)), bytes);
  // Another daemon in the same folder.
  const CodeStore again(dir.value().path() / "code", 8 << 20);
  EXPECT_EQ(Fetch(again, HashOf(bytes)), bytes);
}

TEST(CodeStoreTest, AnswersNothingElse) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  ASSERT_TRUE(base::WriteFile(dir.value().path() / "secret", "x\ny").ok());
  CodeStore store(dir.value().path() / "code", 1 << 20);
  for (const char* request : {"", "{}", "[]", R"({"hash": 5})", R"({"hash": "../secret"})",
                              R"({"hash": "00000000000000000000000000000000", "offset": -1})"})
    EXPECT_FALSE(store.Answer(request)) << request;
}

TEST(CodeStoreTest, TheOldestGoFirst) {
  const auto dir = base::TempDir::Create(testing::TempDir(), "rochound-code-");
  CodeStore store(dir.value().path() / "code", 100000);
  std::vector<std::string> all;
  for (int i = 0; i < 10; ++i) {
    all.emplace_back(30000, static_cast<char>('a' + i));
    store.Keep(HashOf(all.back()), all.back(), "file:///lib/a b.so");
    std::filesystem::last_write_time(
        dir.value().path() / "code" / HashOf(all.back()),
        std::filesystem::file_time_type::clock::now() - std::chrono::minutes(10 - i));
  }
  EXPECT_EQ(Fetch(store, HashOf(all[9])), all[9]);
  EXPECT_EQ(Fetch(store, HashOf(all[8])), all[8]);
  EXPECT_EQ(Fetch(store, HashOf(all[0])), "");
  store.Keep("0123456789abcdef0123456789abcdef", std::string(200000, 'x'), "");
  EXPECT_EQ(Fetch(store, HashOf(all[9])), all[9]);
}

}  // namespace
}  // namespace rochound::fleet
