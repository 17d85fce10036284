// SPDX-License-Identifier: MIT
//
// Result<T> is what offline code returns: a value, or an Error whose message tells the user what to
// do next. Any thread; a Result owns what it holds. Nothing here throws, except that value() of a
// failed Result and error() of a good one are programming errors and end the process.
//
//   Result<Config> Load(const std::string& path) {
//     ROCHOUND_TRY(std::string text, ReadFile(path));  // declares text, or returns the error
//     ROCHOUND_CHECK(Validate(text));                  // the same for a Result<void>
//     return Parse(text);
//   }
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace rochound::base {

struct Error {
  std::string message;

  // The same error seen from one level up: "context: message".
  Error In(const std::string& context) const { return Error{context + ": " + message}; }
};

template <typename T>
T* Present(T* pointer) {
  if (pointer == nullptr) std::abort();
  return pointer;
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *Present(std::get_if<0>(&state_)); }
  const T& value() const& { return *Present(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(*Present(std::get_if<0>(&state_))); }
  const Error& error() const { return *Present(std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *Present(std::get_if<1>(&state_)); }

 private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace rochound::base

#define ROCHOUND_JOIN_(a, b) a##b
#define ROCHOUND_JOIN(a, b) ROCHOUND_JOIN_(a, b)

// ROCHOUND_TRY(declaration, expression): declares a variable with the value, or returns the error.
#define ROCHOUND_TRY(declaration, ...) \
  ROCHOUND_TRY_(ROCHOUND_JOIN(rochound_result_, __LINE__), declaration, __VA_ARGS__)
#define ROCHOUND_TRY_(result, declaration, ...) \
  auto result = (__VA_ARGS__);                  \
  if (!result.ok()) return result.error();      \
  declaration = std::move(result).value()

// ROCHOUND_CHECK(expression): returns the error of a Result<void>.
#define ROCHOUND_CHECK(...)                                          \
  do {                                                               \
    if (auto rochound_check = (__VA_ARGS__); !rochound_check.ok()) { \
      return rochound_check.error();                                 \
    }                                                                \
  } while (false)
