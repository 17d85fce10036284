// SPDX-License-Identifier: MIT
#include "capture/replay/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace rochound::capture::replay {
namespace {

struct Kind {
  Element type;
  size_t size;
  const char* name;
};

constexpr std::array<Kind, 13> kKinds = {{
    {Element::kUnknown, 1, "bytes"},
    {Element::kInt8, 1, "int8"},
    {Element::kUint8, 1, "uint8"},
    {Element::kInt16, 2, "int16"},
    {Element::kUint16, 2, "uint16"},
    {Element::kInt32, 4, "int32"},
    {Element::kUint32, 4, "uint32"},
    {Element::kInt64, 8, "int64"},
    {Element::kUint64, 8, "uint64"},
    {Element::kHalf, 2, "half"},
    {Element::kBfloat16, 2, "bf16"},
    {Element::kFloat, 4, "float"},
    {Element::kDouble, 8, "double"},
}};

struct Name {
  std::string_view name;
  Element type;
};

// What demanglers and metadata call them.
constexpr Name kNames[] = {
    {"float", Element::kFloat},
    {"double", Element::kDouble},
    {"_Float16", Element::kHalf},
    {"__half", Element::kHalf},
    {"half", Element::kHalf},
    {"__fp16", Element::kHalf},
    {"c10::Half", Element::kHalf},
    {"hip_bfloat16", Element::kBfloat16},
    {"__hip_bfloat16", Element::kBfloat16},
    {"__bf16", Element::kBfloat16},
    {"bf16", Element::kBfloat16},
    {"c10::BFloat16", Element::kBfloat16},
    {"char", Element::kInt8},
    {"signed char", Element::kInt8},
    {"int8_t", Element::kInt8},
    {"bool", Element::kUint8},
    {"unsigned char", Element::kUint8},
    {"uint8_t", Element::kUint8},
    {"short", Element::kInt16},
    {"int16_t", Element::kInt16},
    {"unsigned short", Element::kUint16},
    {"uint16_t", Element::kUint16},
    {"int", Element::kInt32},
    {"int32_t", Element::kInt32},
    {"unsigned int", Element::kUint32},
    {"unsigned", Element::kUint32},
    {"uint32_t", Element::kUint32},
    {"long", Element::kInt64},
    {"long long", Element::kInt64},
    {"int64_t", Element::kInt64},
    {"unsigned long", Element::kUint64},
    {"unsigned long long", Element::kUint64},
    {"uint64_t", Element::kUint64},
    {"size_t", Element::kUint64},
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool DropEnd(std::string_view* text, std::string_view end) {
  if (!text->ends_with(end)) return false;
  *text = Trimmed(text->substr(0, text->size() - end.size()));
  return true;
}

bool DropStart(std::string_view* text, std::string_view start) {
  if (!text->starts_with(start)) return false;
  *text = Trimmed(text->substr(start.size()));
  return true;
}

void DropQualifiers(std::string_view* text) {
  bool dropped = true;
  while (dropped) {
    dropped = false;
    for (const std::string_view word :
         {"const", "volatile", "__restrict__", "__restrict", "restrict"})
      dropped |= DropEnd(text, word);
    for (const std::string_view word : {"const ", "volatile ", "__global "})
      dropped |= DropStart(text, word);
  }
}

Element Named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Name& known) { return known.name == name; });
  return found == std::end(kNames) ? Element::kUnknown : found->type;
}

template <typename T>
T Load(const std::byte* at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}

double HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  double value;
  if (exponent == 31)
    value = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

size_t SizeOf(Element type) { return kKinds[static_cast<size_t>(type)].size; }
const char* NameOf(Element type) { return kKinds[static_cast<size_t>(type)].name; }
bool IsFloating(Element type) { return type >= Element::kHalf; }

Element ElementBehind(std::string_view pointer_type) {
  std::string_view text = Trimmed(pointer_type);
  DropQualifiers(&text);
  if (!DropEnd(&text, "*") && !DropEnd(&text, "&")) return Element::kUnknown;
  DropQualifiers(&text);
  if (const Element found = Named(text); found != Element::kUnknown) return found;
  // float4, HIP_vector_type<float, 4u>
  if (DropStart(&text, "HIP_vector_type<")) return Named(Trimmed(text.substr(0, text.find(','))));
  if (!text.empty() && text.back() >= '2' && text.back() <= '4') {
    const std::string_view name = text.substr(0, text.size() - 1);
    if (name == "uint") return Element::kUint32;
    if (name == "uchar") return Element::kUint8;
    if (name == "ushort") return Element::kUint16;
    return Named(name);
  }
  return Element::kUnknown;
}

bool PointsToConst(std::string_view pointer_type) {
  std::string_view text = Trimmed(pointer_type);
  for (const std::string_view word : {"__restrict__", "__restrict", "restrict", "const"})
    DropEnd(&text, word);  // of the pointer itself
  if (!DropEnd(&text, "*") && !DropEnd(&text, "&")) return false;
  return text.ends_with(" const") || text.starts_with("const ");
}

Element FloatingNamed(std::string_view name) {
  for (const Element type : {Element::kFloat, Element::kDouble, Element::kHalf, Element::kBfloat16})
    if (name == NameOf(type)) return type;
  return Element::kUnknown;
}

Element ElementNamed(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.type != Element::kUnknown && name == kind.name) return kind.type;
  return Element::kUnknown;
}

std::vector<std::string> ParameterTypes(std::string_view demangled) {
  // The parameter list is what the last parenthesis on the outermost level closes.
  const size_t end = demangled.rfind(')');
  if (end == std::string_view::npos) return {};
  size_t start = end;
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    const char c = demangled[i];
    if (c == ')') ++depth;
    if (c == '(' && --depth == 0) {
      start = i;
      break;
    }
  }
  if (start == end) return {};
  std::vector<std::string> types;
  std::string type;
  depth = 0;
  for (const char c : demangled.substr(start + 1, end - start - 1)) {
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      types.emplace_back(Trimmed(type));
      type.clear();
    } else {
      type += c;
    }
  }
  const std::string_view last = Trimmed(type);
  if (!last.empty() && last != "void") types.emplace_back(last);
  return types;
}

double ValueOf(Element type, const std::byte* at) {
  switch (type) {
    case Element::kInt8:
      return Load<int8_t>(at);
    case Element::kUnknown:
    case Element::kUint8:
      return Load<uint8_t>(at);
    case Element::kInt16:
      return Load<int16_t>(at);
    case Element::kUint16:
      return Load<uint16_t>(at);
    case Element::kInt32:
      return Load<int32_t>(at);
    case Element::kUint32:
      return Load<uint32_t>(at);
    case Element::kInt64:
      return static_cast<double>(Load<int64_t>(at));
    case Element::kUint64:
      return static_cast<double>(Load<uint64_t>(at));
    case Element::kHalf:
      return HalfValue(Load<uint16_t>(at));
    case Element::kBfloat16:
      return std::bit_cast<float>(static_cast<uint32_t>(Load<uint16_t>(at)) << 16);
    case Element::kFloat:
      return Load<float>(at);
    case Element::kDouble:
      return Load<double>(at);
  }
  return 0;
}

std::string TextOf(Element type, const std::byte* at) {
  switch (type) {
    case Element::kUnknown:
      return fmt::format("{:#04x}", Load<uint8_t>(at));
    case Element::kInt8:
    case Element::kUint8:
    case Element::kInt16:
    case Element::kUint16:
    case Element::kInt32:
    case Element::kUint32:
      return std::to_string(static_cast<int64_t>(ValueOf(type, at)));
    case Element::kInt64:
      return std::to_string(Load<int64_t>(at));
    case Element::kUint64:
      return std::to_string(Load<uint64_t>(at));
    case Element::kFloat:
      return fmt::format("{:.9g}", Load<float>(at));
    case Element::kDouble:
      return fmt::format("{:.17g}", Load<double>(at));
    case Element::kHalf:
    case Element::kBfloat16:
      return fmt::format("{:.6g}", ValueOf(type, at));
  }
  return {};
}

std::string BitsOf(Element type, const std::byte* at) {
  uint64_t bits = 0;
  memcpy(&bits, at, SizeOf(type));
  return fmt::format("{:#0{}x}", bits, 2 + 2 * SizeOf(type));
}

bool Less(Element type, const std::byte* one, const std::byte* other) {
  if (type == Element::kInt64) return Load<int64_t>(one) < Load<int64_t>(other);
  if (type == Element::kUint64) return Load<uint64_t>(one) < Load<uint64_t>(other);
  const double first = ValueOf(type, one);
  const double second = ValueOf(type, other);
  if (std::isnan(first)) return false;
  return std::isnan(second) || first < second;
}

std::string TextOf(const Tolerance& tolerance) {
  if (tolerance.exact) return {};
  const auto text = [](double relative, double absolute) {
    return fmt::format("relative {:g}, absolute {:g}", relative, absolute);
  };
  if (tolerance.types.empty()) return text(tolerance.relative, tolerance.absolute);
  std::string all;
  for (const Tolerance::OfType& of : tolerance.types)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", NameOf(of.type),
                       text(of.relative, of.absolute));
  return all;
}

bool Same(Element type, const Tolerance& tolerance, const std::byte* expected,
          const std::byte* got) {
  if (memcmp(expected, got, SizeOf(type)) == 0) return true;
  if (!IsFloating(type) || (tolerance.exact && !tolerance.any_nan)) return false;
  const double one = ValueOf(type, expected);
  const double other = ValueOf(type, got);
  if (std::isnan(one) || std::isnan(other)) return std::isnan(one) && std::isnan(other);
  if (tolerance.exact) return false;
  if (std::isinf(one) || std::isinf(other)) return one == other;
  const auto within = [&](double relative, double absolute) {
    return std::abs(other - one) <= absolute + relative * std::abs(one);
  };
  if (tolerance.types.empty()) return within(tolerance.relative, tolerance.absolute);
  for (const Tolerance::OfType& of : tolerance.types)
    if (of.type == type) return within(of.relative, of.absolute);
  return false;
}

}  // namespace rochound::capture::replay
