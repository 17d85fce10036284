// SPDX-License-Identifier: MIT
#include "base/pattern.h"

#include <cctype>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace rochound::base {
namespace {

using Op = Pattern::Op;
using Set = Pattern::Set;
using Steps = std::vector<Pattern::Step>;

constexpr size_t kMostSteps = 50'000;
constexpr int kMostNesting = 200;
constexpr uint32_t kMostTimes = 1000;
constexpr uint32_t kAnyTimes = UINT32_MAX;

bool IsWord(unsigned char c) { return isalnum(c) != 0 || c == '_'; }

Set SetOf(bool (*holds)(unsigned char)) {
  Set set;
  for (int c = 0; c < 256; ++c) set[c] = holds(static_cast<unsigned char>(c));
  return set;
}

struct Class {
  const char* name;
  bool (*holds)(unsigned char);
};
// Of ASCII, whatever the program's locale is.
bool Ascii(unsigned char c) { return c < 128; }
constexpr Class kClasses[] = {
    {"alnum", [](unsigned char c) { return Ascii(c) && isalnum(c) != 0; }},
    {"alpha", [](unsigned char c) { return Ascii(c) && isalpha(c) != 0; }},
    {"blank", [](unsigned char c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](unsigned char c) { return c < 32 || c == 127; }},
    {"digit", [](unsigned char c) { return c >= '0' && c <= '9'; }},
    {"d", [](unsigned char c) { return c >= '0' && c <= '9'; }},
    {"graph", [](unsigned char c) { return c > 32 && c < 127; }},
    {"lower", [](unsigned char c) { return c >= 'a' && c <= 'z'; }},
    {"print", [](unsigned char c) { return c >= 32 && c < 127; }},
    {"punct", [](unsigned char c) { return Ascii(c) && ispunct(c) != 0; }},
    {"space", [](unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }},
    {"s", [](unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }},
    {"upper", [](unsigned char c) { return c >= 'A' && c <= 'Z'; }},
    {"w", [](unsigned char c) { return Ascii(c) && IsWord(c); }},
    {"xdigit", [](unsigned char c) { return Ascii(c) && isxdigit(c) != 0; }},
};

std::optional<Set> ClassNamed(std::string_view name) {
  for (const Class& one : kClasses)
    if (name == one.name) return SetOf(one.holds);
  return std::nullopt;
}

// \d, \D, \s, \S, \w, \W
std::optional<Set> ClassEscape(char c) {
  const char lower = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  if (lower != 'd' && lower != 's' && lower != 'w') return std::nullopt;
  const Set set = *ClassNamed(std::string_view(&lower, 1));
  return c == lower ? set : ~set;
}

class Compiler {
 public:
  explicit Compiler(std::string_view text) : text_(text) {}

  Result<Steps> Whole() {
    ROCHOUND_TRY(Steps steps, Alternatives(0));
    if (!AtEnd()) return Error{"a ( is missing"};
    steps.push_back({Op::kMatch});
    return steps;
  }
  std::vector<Set> TakeSets() { return std::move(sets_); }

 private:
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return text_[at_]; }
  bool Take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  Steps One(const Set& set) {
    sets_.push_back(set);
    return {{Op::kSet, static_cast<int32_t>(sets_.size() - 1)}};
  }
  Steps One(char c) {
    Set set;
    set.set(static_cast<unsigned char>(c));
    return One(set);
  }

  Result<Steps> Alternatives(int depth) {
    if (depth > kMostNesting) return Error{"it is nested too deeply"};
    ROCHOUND_TRY(Steps all, Sequence(depth));
    while (Take("|")) {
      ROCHOUND_TRY(const Steps next, Sequence(depth));
      Steps both = {{Op::kSplit, 1, static_cast<int32_t>(all.size()) + 2}};
      both.insert(both.end(), all.begin(), all.end());
      both.push_back({Op::kJump, static_cast<int32_t>(next.size()) + 1});
      both.insert(both.end(), next.begin(), next.end());
      all = std::move(both);
      if (all.size() > kMostSteps) return Error{"it is too long"};
    }
    return all;
  }

  Result<Steps> Sequence(int depth) {
    Steps all;
    while (!AtEnd() && Peek() != '|' && Peek() != ')') {
      bool repeatable = true;
      ROCHOUND_TRY(Steps part, Atom(depth, &repeatable));
      ROCHOUND_CHECK(Quantify(&part, repeatable));
      all.insert(all.end(), part.begin(), part.end());
      if (all.size() > kMostSteps) return Error{"it is too long"};
    }
    return all;
  }

  // *repeatable: whether a quantifier may follow.
  Result<Steps> Atom(int depth, bool* repeatable) {
    const char c = text_[at_++];
    switch (c) {
      case '^':
        *repeatable = false;
        return Steps{{Op::kBegin}};
      case '$':
        *repeatable = false;
        return Steps{{Op::kEnd}};
      case '.': {
        Set set;
        set.set();
        set.reset('\n');
        set.reset('\r');
        return One(set);
      }
      case '(':
        return Group(depth, repeatable);
      case '[':
        return Bracket();
      case '\\':
        return Escape(repeatable);
      case '*':
      case '+':
      case '?':
        return Error{std::string("nothing is before the ") + c};
      case '{':
        --at_;
        if (uint32_t least = 0, most = 0; TakeTimes(&least, &most))
          return Error{"nothing is before the {"};
        ++at_;
        return One(c);
      default:
        return One(c);
    }
  }

  Result<Steps> Group(int depth, bool* repeatable) {
    const bool ahead = Take("?=");
    const bool not_ahead = !ahead && Take("?!");
    if (!ahead && !not_ahead && !Take("?:") && !AtEnd() && Peek() == '?')
      return Error{"after (? there may be :, = or !"};
    ROCHOUND_TRY(Steps inside, Alternatives(depth + 1));
    if (!Take(")")) return Error{"a ) is missing"};
    if (!ahead && !not_ahead) return inside;
    *repeatable = false;
    inside.push_back({Op::kMatch});
    const Pattern::Step look{ahead ? Op::kAhead : Op::kNotAhead,
                             static_cast<int32_t>(inside.size())};
    inside.insert(inside.begin(), look);
    return inside;
  }

  Result<Steps> Escape(bool* repeatable) {
    if (AtEnd()) return Error{"nothing is after the last \\"};
    if (Peek() == 'b' || Peek() == 'B') {
      *repeatable = false;
      return Steps{{text_[at_++] == 'b' ? Op::kWord : Op::kNotWord}};
    }
    if (const auto set = ClassEscape(Peek())) {
      ++at_;
      return One(*set);
    }
    if (Peek() >= '1' && Peek() <= '9')
      return Error{"what a group has matched cannot be asked for again (\\1)"};
    ROCHOUND_TRY(const unsigned char c, EscapedCharacter());
    return One(static_cast<char>(c));
  }

  // After the backslash.
  Result<unsigned char> EscapedCharacter() {
    const char c = text_[at_++];
    constexpr std::string_view kNames = "fnrtv0", kMeanings("\f\n\r\t\v\0", 6);
    if (const size_t known = kNames.find(c); known != std::string_view::npos)
      return static_cast<unsigned char>(kMeanings[known]);
    if (c == 'x' || c == 'u') return Hexadecimal(c == 'x' ? 2 : 4);
    if (c == 'c' && !AtEnd() && isalpha(static_cast<unsigned char>(Peek())) != 0)
      return static_cast<unsigned char>(text_[at_++] % 32);
    if (isalnum(static_cast<unsigned char>(c)) != 0)
      return Error{std::string("\\") + c + " means nothing"};
    return static_cast<unsigned char>(c);
  }

  Result<unsigned char> Hexadecimal(size_t digits) {
    unsigned value = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      if (AtEnd() || isxdigit(static_cast<unsigned char>(Peek())) == 0)
        return Error{"\\x takes two hexadecimal digits, \\u four"};
      const char digit = static_cast<char>(tolower(static_cast<unsigned char>(Peek())));
      value = value * 16 + static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    if (value > 255) return Error{"\\u goes up to 00ff; write other characters as they are"};
    return static_cast<unsigned char>(value);
  }

  // One character of a bracket, or a class; the latter cannot begin or end a range.
  Result<Set> BracketPart(std::optional<unsigned char>* single) {
    Set set;
    if (Take("[:")) {
      const size_t end = text_.find(":]", at_);
      const auto found =
          end == std::string_view::npos ? std::nullopt : ClassNamed(text_.substr(at_, end - at_));
      if (!found) return Error{"there is no such class of characters; [[:alpha:]] is one"};
      at_ = end + 2;
      return *found;
    }
    unsigned char c = static_cast<unsigned char>(text_[at_++]);
    if (c == '\\') {
      if (AtEnd()) return Error{"a ] is missing"};
      if (const auto known = ClassEscape(Peek())) {
        ++at_;
        return *known;
      }
      if (Take("b")) {
        c = '\b';
      } else {
        ROCHOUND_TRY(c, EscapedCharacter());
      }
    }
    *single = c;
    set.set(c);
    return set;
  }

  Result<Steps> Bracket() {
    const bool negative = Take("^");
    Set all;
    while (!AtEnd() && Peek() != ']') {
      std::optional<unsigned char> from, to;
      ROCHOUND_TRY(const Set first, BracketPart(&from));
      all |= first;
      const bool range = at_ + 1 < text_.size() && Peek() == '-' && text_[at_ + 1] != ']';
      if (!range) continue;
      ++at_;
      ROCHOUND_TRY(const Set last, BracketPart(&to));
      if (!from || !to || *from > *to)
        return Error{"a range in [] goes from the lower to the higher character"};
      all |= last;
      for (unsigned c = *from; c <= *to; ++c) all.set(c);
    }
    if (!Take("]")) return Error{"a ] is missing"};
    return One(negative ? ~all : all);
  }

  std::optional<uint32_t> Number() {
    if (AtEnd() || isdigit(static_cast<unsigned char>(Peek())) == 0) return std::nullopt;
    uint32_t number = 0;
    for (; !AtEnd() && isdigit(static_cast<unsigned char>(Peek())) != 0; ++at_)
      if (number <= kMostTimes) number = number * 10 + static_cast<uint32_t>(Peek() - '0');
    return number;
  }

  // {2}, {2,} or {2,5}. Anything else is no quantifier: C++ names have braces, too.
  bool TakeTimes(uint32_t* least, uint32_t* most) {
    const size_t start = at_;
    const auto from = Take("{") ? Number() : std::nullopt;
    if (from) {
      *least = *most = *from;
      if (Take(",")) *most = Number().value_or(kAnyTimes);
      if (Take("}")) return true;
    }
    at_ = start;
    return false;
  }

  Result<void> Quantify(Steps* part, bool repeatable) {
    if (AtEnd()) return {};
    uint32_t least = 0, most = kAnyTimes;
    const char c = Peek();
    if (Take("*")) {
    } else if (Take("+")) {
      least = 1;
    } else if (Take("?")) {
      most = 1;
    } else if (TakeTimes(&least, &most)) {
      if (most < least) return Error{"the second number in {} is lower than the first"};
      if (least > kMostTimes || (most != kAnyTimes && most > kMostTimes))
        return Error{"a number in {} is too high"};
    } else {
      return {};
    }
    if (!repeatable) return Error{std::string("nothing that could be repeated is before the ") + c};
    Take("?");  // as little as possible: it is found all the same
    return Repeat(part, least, most);
  }

  static Result<void> Repeat(Steps* part, uint32_t least, uint32_t most) {
    const Steps once = std::move(*part);
    const auto size = static_cast<int32_t>(once.size());
    Steps all;
    const auto add = [&] { all.insert(all.end(), once.begin(), once.end()); };
    const uint32_t copies = most == kAnyTimes ? least + 1 : most;
    if (copies * (once.size() + 2) > kMostSteps) return Error{"it is too long"};
    for (uint32_t i = 0; i < least; ++i) add();
    if (most == kAnyTimes) {
      all.push_back({Op::kSplit, 1, size + 2});
      add();
      all.push_back({Op::kJump, -size - 1});
    } else {
      for (uint32_t i = least; i < most; ++i) {
        // Past all that could follow.
        all.push_back({Op::kSplit, 1, static_cast<int32_t>(most - i) * (size + 1)});
        add();
      }
    }
    *part = std::move(all);
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Set> sets_;
};

// States that are reached at one place of the text, each once.
class States {
 public:
  explicit States(size_t steps) : seen_(steps, 0) {}
  void Clear() {
    list_.clear();
    ++round_;
  }
  bool Add(int32_t step) {
    if (seen_[static_cast<size_t>(step)] == round_) return false;
    seen_[static_cast<size_t>(step)] = round_;
    return true;
  }
  std::vector<int32_t>& list() { return list_; }

 private:
  std::vector<uint32_t> seen_;
  uint32_t round_ = 1;
  std::vector<int32_t> list_;  // those that wait for a character
};

}  // namespace

Result<Pattern> Pattern::Compile(std::string_view text) {
  Compiler compiler(text);
  Pattern pattern;
  ROCHOUND_TRY(pattern.steps_, compiler.Whole());
  pattern.sets_ = compiler.TakeSets();
  return pattern;
}

bool Pattern::FoundIn(std::string_view text) const { return FoundFrom(0, 0, text, false); }

// Whether the program that begins there matches from `start` on; not anchored: or anywhere later.
bool Pattern::FoundFrom(size_t start, int32_t program, std::string_view text, bool anchored) const {
  States now(steps_.size()), next(steps_.size());
  std::vector<int32_t> open;
  const auto word = [&](size_t at) {
    return at < text.size() && IsWord(static_cast<unsigned char>(text[at]));
  };
  // Follows all that takes no character; true: a match.
  const auto reach = [&](States* states, int32_t from, size_t at) {
    open.assign(1, from);
    while (!open.empty()) {
      const int32_t pc = open.back();
      open.pop_back();
      if (!states->Add(pc)) continue;
      const Step& step = steps_[static_cast<size_t>(pc)];
      const bool boundary = (at > 0 && word(at - 1)) != word(at);
      switch (step.op) {
        case Op::kMatch:
          return true;
        case Op::kSet:
          states->list().push_back(pc);
          break;
        case Op::kSplit:
          open.push_back(pc + step.second);
          open.push_back(pc + step.first);
          break;
        case Op::kJump:
          open.push_back(pc + step.first);
          break;
        case Op::kBegin:
          if (at == 0) open.push_back(pc + 1);
          break;
        case Op::kEnd:
          if (at == text.size()) open.push_back(pc + 1);
          break;
        case Op::kWord:
          if (boundary) open.push_back(pc + 1);
          break;
        case Op::kNotWord:
          if (!boundary) open.push_back(pc + 1);
          break;
        case Op::kAhead:
        case Op::kNotAhead:
          if (FoundFrom(at, pc + 1, text, true) == (step.op == Op::kAhead))
            open.push_back(pc + 1 + step.first);
          break;
      }
    }
    return false;
  };
  for (size_t at = start;; ++at) {
    if ((at == start || !anchored) && reach(&now, program, at)) return true;
    if (at == text.size() || (anchored && now.list().empty())) return false;
    next.Clear();
    for (const int32_t pc : now.list())
      if (sets_[static_cast<size_t>(steps_[static_cast<size_t>(pc)].first)]
               [static_cast<unsigned char>(text[at])] &&
          reach(&next, pc + 1, at + 1))
        return true;
    std::swap(now, next);
  }
}

}  // namespace rochound::base
