// SPDX-License-Identifier: MIT
#include "profile/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

namespace rochound::profile {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const Values& values) : text_(text), values_(values) {}

  base::Result<FormulaValue> Run() {
    const std::optional<double> value = Sum();
    Skip();
    if (!wrong_ && at_ != text_.size()) Wrong("an operator");
    if (wrong_) {
      return base::Error{
          fmt::format("formula '{}': {} expected at character {}", text_, expected_, at_ + 1)};
    }
    return FormulaValue{missing_.empty() ? value : std::nullopt, missing_};
  }

 private:
  using Value = std::optional<double>;

  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Value Wrong(const char* expected) {
    if (!wrong_) expected_ = expected;
    wrong_ = true;
    return std::nullopt;
  }

  Value Sum() {
    Value left = Product();
    while (!wrong_) {
      const bool plus = Take('+');
      if (!plus && !Take('-')) break;
      const Value right = Product();
      left = left && right ? Value(plus ? *left + *right : *left - *right) : std::nullopt;
    }
    return left;
  }

  Value Product() {
    Value left = Operand();
    while (!wrong_) {
      const bool times = Take('*');
      if (!times && !Take('/')) break;
      const Value right = Operand();
      if (!left || !right || (!times && *right == 0)) {
        left = std::nullopt;
      } else {
        left = times ? *left * *right : *left / *right;
      }
    }
    return left;
  }

  Value Operand() {
    Skip();
    if (Take('(')) {
      const Value inside = Sum();
      if (!wrong_ && !Take(')')) return Wrong("')'");
      return inside;
    }
    const size_t start = at_;
    auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return Wrong("a number or a counter");
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0)
      return Take('(') ? Function(word) : Counter(word);
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size()) return Wrong("a number");
    return number;
  }

  // What follows "name(".
  Value Function(std::string_view name) {
    const std::set<std::string> missing_before = std::move(missing_);
    std::vector<Value> values;
    std::vector<std::set<std::string>> missing;  // of each value
    do {
      missing_.clear();
      values.push_back(Sum());
      missing.push_back(std::move(missing_));
    } while (!wrong_ && Take(','));
    missing_ = missing_before;
    if (!wrong_ && !Take(')')) return Wrong("')'");
    const bool known =
        name == "max" || name == "min" || name == "first" || (name == "ceil" && values.size() == 1);
    if (!known) return Wrong("max, min, first or ceil of one value");
    if (name == "first") {
      for (size_t i = 0; i < values.size(); ++i)
        if (missing[i].empty()) return values[i];
      missing_.insert(missing[0].begin(), missing[0].end());
      return std::nullopt;
    }
    for (const std::set<std::string>& names : missing) missing_.insert(names.begin(), names.end());
    if (std::find(values.begin(), values.end(), std::nullopt) != values.end()) return std::nullopt;
    if (name == "ceil") return std::ceil(*values[0]);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return name == "max" ? *most : *least;
  }

  Value Counter(std::string_view name) {
    auto found = values_.find(name);
    if (found == values_.end() && name.ends_with("_sum"))
      found = values_.find(name.substr(0, name.size() - 4));
    if (found != values_.end()) return found->second;
    missing_.insert(std::string(name));
    return std::nullopt;
  }

  std::string_view text_;
  const Values& values_;
  size_t at_ = 0;
  bool wrong_ = false;
  const char* expected_ = "";
  std::set<std::string> missing_;
};

}  // namespace

base::Result<FormulaValue> Evaluate(std::string_view formula, const Values& values) {
  return Parser(formula, values).Run();
}

}  // namespace rochound::profile
