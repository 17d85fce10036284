// SPDX-License-Identifier: MIT
#include "mcp/page.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "base/mutex.h"
#include "base/parse.h"

namespace rochound::mcp {
namespace {

constexpr size_t kLongText = 8192;  // bytes that are shown of a text
constexpr size_t kInnerEntries = 20;

bool IsList(const Json& value) {
  return value.is_array() && !(value.size() == 1 && value[0].is_object());
}

size_t LongestList(const Json& value) {
  if (IsList(value)) return value.size();
  size_t longest = 0;
  if (value.is_structured())
    for (const Json& inner : value) longest = std::max(longest, LongestList(inner));
  return longest;
}

void CutText(std::string* text, size_t most, bool* cut) {
  if (text->size() <= most) return;
  *cut = true;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>((*text)[end]) & 0xc0) == 0x80) --end;
  *text = text->substr(0, end) + "... (" + std::to_string(text->size() - end) + " bytes more)";
}

void CutTexts(Json& value, size_t most, bool* cut) {
  if (value.is_string()) CutText(value.get_ptr<std::string*>(), most, cut);
  if (value.is_structured())
    for (Json& inner : value) CutTexts(inner, most, cut);
}

// Within entries of lists.
void CutInnerLists(Json& value, size_t most, bool* cut) {
  if (value.is_array() && value.size() > most) {
    value.erase(value.begin() + static_cast<std::ptrdiff_t>(most), value.end());
    *cut = true;
  }
  if (value.is_structured())
    for (Json& inner : value) CutInnerLists(inner, most, cut);
}

size_t Bytes(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

// The same with a part of each list.
Json Window(const Json& value, size_t offset, size_t limit) {
  Json part = value.is_object() ? Json::object() : Json::array();
  if (IsList(value)) {
    for (size_t i = offset; i < value.size() && i - offset < limit; ++i) part.push_back(value[i]);
  } else if (value.is_array()) {
    part.push_back(Window(value[0], offset, limit));
  } else if (value.is_object()) {
    // Names are not looked for again, which would take long for many.
    for (const auto& [name, inner] : value.get_ref<const Json::object_t&>())
      part.get_ref<Json::object_t&>().emplace_back(name, Window(inner, offset, limit));
  } else {
    part = value;
  }
  return part;
}

}  // namespace

Page CutPage(const Json& whole, size_t offset, size_t limit) {
  Page page;
  page.total = LongestList(whole);
  limit = std::clamp<size_t>(limit, 1, kMostLimit);
  for (;; limit /= 2) {
    page.cut = false;
    page.content = Window(whole, offset, limit);
    CutTexts(page.content, kLongText, &page.cut);
    if (limit == 1 || Bytes(page.content) <= kMostPage) break;
  }
  // One entry of each list is too much: less of each.
  for (size_t most = kInnerEntries; most > 0 && Bytes(page.content) > kMostPage; most /= 2) {
    CutInnerLists(page.content, most, &page.cut);
    CutTexts(page.content, most * 25, &page.cut);
  }
  if (Bytes(page.content) > kMostPage) {
    page.content = "too large for a page";
    page.cut = true;
  }
  if (page.total > offset && page.total - offset > limit) page.next = offset + limit;
  return page;
}

Json PageSchema() {
  return {
      {"type", "object"},
      {"properties",
       {{"exitCode", {{"type", "integer"}, {"description", "Of the command; -1: it was killed"}}},
        {"result", {{"description", "What the command says with --json, or what it made"}}},
        {"messages",
         {{"type", "array"},
          {"items", {{"type", "string"}}},
          {"description", "Its last lines on stderr"}}},
        {"total", {{"type", "integer"}, {"description", "Entries of the longest list"}}},
        {"cut",
         {{"type", "boolean"}, {"description", "Long texts or lists inside entries were cut"}}},
        {"nextCursor",
         {{"type", "string"}, {"description", "There is more: the cursor of the next page"}}}}},
      {"required", {"exitCode"}}};
}

uint64_t KeptAnswers::Keep(const Answer& answer) {
  const base::Lock lock(mutex_);
  answers_.emplace_back(++last_, answer);
  bytes_ += answer.result.size() + answer.arguments.size();
  while (answers_.size() > kMostAnswers || (bytes_ > kMostBytes && answers_.size() > 1)) {
    bytes_ -= answers_.front().second.result.size() + answers_.front().second.arguments.size();
    answers_.pop_front();
  }
  return last_;
}

std::optional<Answer> KeptAnswers::Find(uint64_t number) const {
  const base::Lock lock(mutex_);
  for (const auto& [known, answer] : answers_)
    if (known == number) return answer;
  return std::nullopt;
}

std::string CursorText(const Cursor& cursor) {
  return std::to_string(cursor.number) + "." + std::to_string(cursor.offset);
}

std::optional<Cursor> ParseCursor(const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos) return std::nullopt;
  Cursor cursor;
  const std::string_view all = text;
  if (!base::ParseNumber(all.substr(0, dot), &cursor.number) ||
      !base::ParseNumber(all.substr(dot + 1), &cursor.offset))
    return std::nullopt;
  return cursor;
}

}  // namespace rochound::mcp
