// SPDX-License-Identifier: MIT
//
// How the arguments of a call become words of the log, and what the functions file calls their
// types. Used by the wrappers (templates over the functions' own types, so no list of types is kept
// by hand). Pure functions, any thread, no failure. In the functions file:
//
//   bool i32 u32 i64 u64 f32 f64 enum   one word, smaller integers widened, f32 in the low half
//   ptr                                 one word
//   str                                 one word, the pointer; TextPiece records have the text
//   handle                              one word: a struct of at most eight bytes
//   dim3                                two words: x | y << 32, z
//   structN                             N bytes in (N + 7) / 8 words
//   *T                                  two words: a pointer, and the T it points to after the
//                                       call; 0 if the pointer is null or the call failed
//   void                                a result only: none
//   -                                   a result only: not known
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rochound::agent {

// A type's name in the functions file, as a structural value so that it can be computed at compile
// time.
struct TypeName {
  char text[12] = {};
};

namespace internal {

constexpr TypeName Named(const char* prefix, const char* name) {
  TypeName result;
  size_t at = 0;
  while (*prefix != '\0') result.text[at++] = *prefix++;
  while (*name != '\0') result.text[at++] = *name++;
  return result;
}

constexpr TypeName StructName(size_t bytes) {
  TypeName result = Named("struct", "");
  size_t divisor = 1;
  while (bytes / divisor >= 10) divisor *= 10;
  for (size_t at = 6; divisor > 0; divisor /= 10)
    result.text[at++] = static_cast<char>('0' + bytes / divisor % 10);
  return result;
}

// dim3 of HIP and of HSA: three 32-bit numbers called x, y and z.
template <typename T>
concept ThreeDimensions = requires(const T& value) {
  value.x;
  value.y;
  value.z;
} && sizeof(T) == 12;

template <typename T>
concept Text = std::is_same_v<T, const char*>;

// What may be read through a pointer to it: complete (asked first), and small enough for a word.
template <typename T>
concept Readable = std::is_object_v<T> && !std::is_const_v<T> && requires { sizeof(T); } &&
                   std::is_trivially_copyable_v<T> && sizeof(T) <= 8 && !std::is_empty_v<T> &&
                   !std::is_same_v<T, char>;

}  // namespace internal

// The word, words or nothing that a value of type T becomes.
template <typename T>
struct Value {
  static constexpr TypeName Name() {
    if constexpr (std::is_same_v<T, bool>)
      return internal::Named("bool", "");
    else if constexpr (std::is_enum_v<T>)
      return internal::Named("enum", "");
    else if constexpr (std::is_integral_v<T>)
      return internal::Named(std::is_signed_v<T> ? "i" : "u", sizeof(T) <= 4 ? "32" : "64");
    else if constexpr (std::is_floating_point_v<T>)
      return internal::Named("f", sizeof(T) == 4 ? "32" : "64");
    else if constexpr (internal::Text<T>)
      return internal::Named("str", "");
    else if constexpr (std::is_pointer_v<T>)
      return internal::Named("ptr", "");
    else if constexpr (internal::ThreeDimensions<T>)
      return internal::Named("dim3", "");
    else if constexpr (sizeof(T) <= 8)
      return internal::Named("handle", "");
    else
      return internal::StructName(sizeof(T));
  }

  static constexpr size_t kWords = (sizeof(T) + 7) / 8;

  static void Put(uint64_t* words, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      words[0] = static_cast<uint64_t>(static_cast<int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      words[0] = static_cast<uint64_t>(value);  // signed ones are widened with their sign
    } else if constexpr (std::is_pointer_v<T>) {
      words[0] = reinterpret_cast<uint64_t>(value);
    } else {
      static_assert(std::is_trivially_copyable_v<T>);
      words[kWords - 1] = 0;
      std::memcpy(words, &value, sizeof(T));
    }
  }
};

// Whether a T that points to something the function fills in is worth a second word.
template <typename T>
constexpr bool PointsToValue() {
  return std::is_pointer_v<T> && internal::Readable<std::remove_pointer_t<T>>;
}

// An argument of type T; kOut: the header says that it points to one value to read after the call.
template <typename T, bool kOut>
struct Argument {
  static constexpr bool kReadsBack = kOut && PointsToValue<T>();
  static constexpr size_t kWords = kReadsBack ? 2 : Value<T>::kWords;

  static constexpr TypeName Name() {
    if constexpr (kReadsBack)
      return internal::Named("*", Value<std::remove_pointer_t<T>>::Name().text);
    else
      return Value<T>::Name();
  }

  // `good`: the call returned without an error, so what the pointer points to was filled in.
  static void Put(uint64_t* words, const T& value, [[maybe_unused]] bool good) {
    if constexpr (kReadsBack) {
      words[0] = reinterpret_cast<uint64_t>(value);
      words[1] = 0;
      if (good && value != nullptr) Value<std::remove_pointer_t<T>>::Put(words + 1, *value);
    } else {
      Value<T>::Put(words, value);
    }
  }
};

// The result: the part that fits beside the call record, and whether that is all of it.
template <typename R>
struct Result {
  static constexpr bool kWide = sizeof(R) > 4 && !std::is_enum_v<R>;
  static constexpr bool kStatus = std::is_enum_v<R>;
  static constexpr TypeName Name() { return Value<R>::Name(); }
  static uint32_t Word(const R& result) {
    uint64_t words[Value<R>::kWords];
    Value<R>::Put(words, result);
    return static_cast<uint32_t>(words[0]);
  }
  static bool Good(const R& result) {
    if constexpr (kStatus)
      return static_cast<int64_t>(result) == 0;
    else
      return false;
  }
};

}  // namespace rochound::agent
