// SPDX-License-Identifier: MIT
#include "store/open/sql_dialect.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace rochound::store {
namespace {

bool IsWord(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(toupper(c)); });
  return upper;
}

// Length of the piece of SQL at the start: a comment, a quoted thing, a word, or one character.
size_t PieceLength(std::string_view sql) {
  const char first = sql[0];
  if (sql.substr(0, 2) == "--") return std::min(sql.find('\n'), sql.size());
  if (sql.substr(0, 2) == "/*") {
    const size_t end = sql.find("*/", 2);
    return end == std::string_view::npos ? sql.size() : end + 2;
  }
  if (first == '\'' || first == '"' || first == '`') {
    const size_t end = sql.find(first, 1);  // a doubled quote is two pieces, which is as good
    return end == std::string_view::npos ? sql.size() : end + 1;
  }
  size_t length = 0;
  while (length < sql.size() && IsWord(sql[length])) ++length;
  return std::max<size_t>(length, 1);
}

// Whether a value must follow, so that a CASE cannot end here.
bool WantsOperand(const std::string& before) {
  static constexpr const char* kWords[] = {"CASE", "WHEN", "THEN", "ELSE",    "AND",
                                           "OR",   "NOT",  "LIKE", "BETWEEN", "SELECT",
                                           "BY",   "IN",   "IS",   "ON",      "DISTINCT"};
  if (before.empty()) return true;
  if (before.size() == 1 && !IsWord(before[0]))
    return std::string_view(")'\"`]").find(before[0]) == std::string_view::npos;
  return std::find(std::begin(kWords), std::end(kWords), before) != std::end(kWords);
}

}  // namespace

std::string QuoteEnd(std::string_view sql) {
  std::string result;
  std::string before;  // the piece before, in capitals; only the last letter of a quoted one
  int cases = 0;       // CASEs that are open
  while (!sql.empty()) {
    const size_t length = PieceLength(sql);
    const std::string_view piece = sql.substr(0, length);
    sql.remove_prefix(length);
    const bool space = isspace(static_cast<unsigned char>(piece[0])) != 0;
    const bool comment = piece.substr(0, 2) == "--" || piece.substr(0, 2) == "/*";
    if (space || comment) {
      result += piece;
      continue;
    }
    std::string word = Upper(piece);
    if (word == "END" && before != "." && cases > 0 && !WantsOperand(before)) {
      --cases;
      result += piece;
    } else if (word == "END") {
      result.append("\"").append(piece).append("\"");
      word = "\"";
    } else {
      if (word == "CASE" && before != ".") ++cases;
      result += piece;
      if (piece[0] == '\'' || piece[0] == '"' || piece[0] == '`') word = piece.substr(0, 1);
    }
    before = word;
  }
  return result;
}

}  // namespace rochound::store
