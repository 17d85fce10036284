// SPDX-License-Identifier: MIT
//
// Which kernels and calls of a log become part of the trace: those whose names match a regular
// expression (base/pattern.h, found anywhere in the name). Made by the command line, asked by the
// conversion once per kernel and function; one thread. Failure: an Error that names what is wrong.
#pragma once

#include <optional>
#include <string>

#include "base/pattern.h"
#include "base/result.h"

namespace rochound::store {

class Filter {
 public:
  // An empty expression lets everything through.
  static base::Result<Filter> Create(const std::string& kernels, const std::string& calls);

  bool KeepsKernel(const std::string& name) const { return Keeps(kernels_, name); }
  bool KeepsCall(const std::string& name) const { return Keeps(calls_, name); }
  const std::string& kernels() const { return kernels_.text; }
  const std::string& calls() const { return calls_.text; }

 private:
  struct Expression {
    std::string text;
    std::optional<base::Pattern> pattern;
  };
  static base::Result<Expression> Compile(const std::string& text);
  static bool Keeps(const Expression& expression, const std::string& name) {
    return !expression.pattern.has_value() || expression.pattern->FoundIn(name);
  }

  Expression kernels_, calls_;
};

}  // namespace rochound::store
