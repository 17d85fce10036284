// SPDX-License-Identifier: MIT
#include "codeobj/target.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/fill.h"

namespace rochound::codeobj {
namespace {

using base::Error;
using base::Result;

struct Processor {
  uint32_t number;  // EF_AMDGPU_MACH
  const char* name;
};

constexpr Processor kProcessors[] = {
    {0x20, "gfx600"},          {0x21, "gfx601"},        {0x22, "gfx700"},
    {0x23, "gfx701"},          {0x24, "gfx702"},        {0x25, "gfx703"},
    {0x26, "gfx704"},          {0x28, "gfx801"},        {0x29, "gfx802"},
    {0x2a, "gfx803"},          {0x2b, "gfx810"},        {0x2c, "gfx900"},
    {0x2d, "gfx902"},          {0x2e, "gfx904"},        {0x2f, "gfx906"},
    {0x30, "gfx908"},          {0x31, "gfx909"},        {0x32, "gfx90c"},
    {0x33, "gfx1010"},         {0x34, "gfx1011"},       {0x35, "gfx1012"},
    {0x36, "gfx1030"},         {0x37, "gfx1031"},       {0x38, "gfx1032"},
    {0x39, "gfx1033"},         {0x3a, "gfx602"},        {0x3b, "gfx705"},
    {0x3c, "gfx805"},          {0x3d, "gfx1035"},       {0x3e, "gfx1034"},
    {0x3f, "gfx90a"},          {0x40, "gfx940"},        {0x41, "gfx1100"},
    {0x42, "gfx1013"},         {0x43, "gfx1150"},       {0x44, "gfx1103"},
    {0x45, "gfx1036"},         {0x46, "gfx1101"},       {0x47, "gfx1102"},
    {0x48, "gfx1200"},         {0x49, "gfx1250"},       {0x4a, "gfx1151"},
    {0x4b, "gfx941"},          {0x4c, "gfx942"},        {0x4e, "gfx1201"},
    {0x4f, "gfx950"},          {0x51, "gfx9-generic"},  {0x52, "gfx10-1-generic"},
    {0x53, "gfx10-3-generic"}, {0x54, "gfx11-generic"}, {0x55, "gfx1152"},
    {0x58, "gfx1153"},         {0x59, "gfx12-generic"}, {0x5a, "gfx1251"},
    {0x5f, "gfx9-4-generic"},
};

struct Family {
  const char* generic;
  std::initializer_list<const char*> members;
};

const Family kFamilies[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic",
     {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

bool Fits(Feature code, Feature gpu) {
  const bool decided = code == Feature::kOn || code == Feature::kOff;
  return !decided || code == gpu || gpu == Feature::kAny;
}

std::string Suffix(const char* name, Feature feature) {
  if (feature != Feature::kOn && feature != Feature::kOff) return {};
  return base::Fill(":{}{}", name, feature == Feature::kOn ? '+' : '-');
}

}  // namespace

std::string Target::Id() const {
  return processor + Suffix("sramecc", sramecc) + Suffix("xnack", xnack);
}

Result<Target> TargetOfFlags(uint32_t flags, uint8_t abi_version) {
  const uint32_t number = flags & 0xff;
  const auto* const found =
      std::find_if(std::begin(kProcessors), std::end(kProcessors),
                   [&](const Processor& processor) { return processor.number == number; });
  if (found == std::end(kProcessors)) {
    char hexadecimal[16];
    snprintf(hexadecimal, sizeof(hexadecimal), "%#x", number);
    return Error{
        base::Fill("the code object is for a processor that this release does not know (number {})",
                   hexadecimal)};
  }
  Target target;
  target.processor = found->name;
  if (abi_version <= 1) {  // version 3 has one bit each and cannot say "any"
    target.xnack = (flags & 0x100) != 0 ? Feature::kOn : Feature::kOff;
    target.sramecc = (flags & 0x200) != 0 ? Feature::kOn : Feature::kOff;
    return target;
  }
  target.xnack = static_cast<Feature>((flags >> 8) & 3);
  target.sramecc = static_cast<Feature>((flags >> 10) & 3);
  if (abi_version >= 4) target.generic_version = flags >> 24;
  return target;
}

Result<Target> ParseTarget(std::string_view text) {
  // The processor is the last part of a triple, or all there is.
  size_t start = text.rfind("-gfx");
  start = start == std::string_view::npos ? 0 : start + 1;
  std::string_view rest = text.substr(start);
  if (rest.substr(0, 3) != "gfx")
    return Error{base::Fill("'{}' names no AMD GPU, such as gfx942 or gfx942:xnack-", text)};
  Target target;
  target.sramecc = target.xnack = Feature::kAny;
  size_t colon = rest.find(':');
  target.processor = rest.substr(0, colon);
  while (colon != std::string_view::npos) {
    rest.remove_prefix(colon + 1);
    colon = rest.find(':');
    const std::string_view feature = rest.substr(0, colon);
    if (feature == "sramecc+" || feature == "sramecc-") {
      target.sramecc = feature.back() == '+' ? Feature::kOn : Feature::kOff;
    } else if (feature == "xnack+" || feature == "xnack-") {
      target.xnack = feature.back() == '+' ? Feature::kOn : Feature::kOff;
    } else {
      return Error{
          base::Fill("'{}': a feature is sramecc or xnack with + or -, not '{}'", text, feature)};
    }
  }
  return target;
}

bool RunsOn(const Target& code, const Target& gpu) {
  if (!Fits(code.sramecc, gpu.sramecc) || !Fits(code.xnack, gpu.xnack)) return false;
  if (code.processor == gpu.processor) return true;
  return std::any_of(std::begin(kFamilies), std::end(kFamilies), [&](const Family& family) {
    return code.processor == family.generic &&
           std::any_of(family.members.begin(), family.members.end(),
                       [&](const char* member) { return gpu.processor == member; });
  });
}

}  // namespace rochound::codeobj
