// SPDX-License-Identifier: MIT
//
// What memory holds, as far as a kernel's parameters tell: the type that an argument points to, its
// values as text, and whether two of them are the same or close enough. Plain functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rochound::capture::replay {

enum class Element : uint8_t {
  kUnknown,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kBfloat16,
  kFloat,
  kDouble,
};

size_t SizeOf(Element type);       // of kUnknown: 1
const char* NameOf(Element type);  // "float"; of kUnknown: "bytes"
bool IsFloating(Element type);

// "float const*" -> kFloat; kUnknown for what is no pointer or points to something else. A vector
// such as float4 counts as its elements.
Element ElementBehind(std::string_view pointer_type);

// "float const*", "const float*".
bool PointsToConst(std::string_view pointer_type);

// float, double, half, bf16; kUnknown otherwise.
Element FloatingNamed(std::string_view name);
// The same and int8 to uint64, as --as takes them.
Element ElementNamed(std::string_view name);

// "void add<float>(float*, std::pair<int, int>)" -> "float*", "std::pair<int, int>".
std::vector<std::string> ParameterTypes(std::string_view demangled);

// at: SizeOf(type) bytes, not necessarily aligned.
double ValueOf(Element type, const std::byte* at);
// Two values that are not the same have different texts, but for the kinds of NaN.
std::string TextOf(Element type, const std::byte* at);
// "0x7fc00001".
std::string BitsOf(Element type, const std::byte* at);
// By value; NaN is above everything.
bool Less(Element type, const std::byte* one, const std::byte* other);

struct Tolerance {
  // Exact, but for the bits of a NaN: which one comes out of several is not what a kernel means.
  bool any_nan = false;
  struct OfType {
    Element type = Element::kUnknown;
    double relative = 0, absolute = 0;
  };
  bool exact = true;
  double relative = 0, absolute = 0;
  std::vector<OfType> types;  // if there are any, other types are compared bit by bit
};

// "relative 1e-05, absolute 1e-08"; "" if it is exact.
std::string TextOf(const Tolerance& tolerance);

// Exact: bit by bit. Otherwise |got - expected| <= absolute + relative * |expected| for floating
// types, where NaN equals NaN; other types bit by bit all the same.
bool Same(Element type, const Tolerance& tolerance, const std::byte* expected,
          const std::byte* got);

}  // namespace rochound::capture::replay
