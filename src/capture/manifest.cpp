// SPDX-License-Identifier: MIT
#include "capture/manifest.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "base/json_text.h"
#include "capture/manifest_fields.h"

namespace rochound::capture {
namespace {

std::string Hex(uint64_t number) {
  char text[24];
  snprintf(text, sizeof text, "0x%" PRIx64, number);
  return text;
}

// Text that is safe to show: C0 and C1 control characters (the latter as UTF-8) become spaces.
std::string Shown(const std::string& text) {
  std::string shown = text;
  for (size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    const auto next = static_cast<unsigned char>(i + 1 < shown.size() ? shown[i + 1] : 0);
    if (byte < 0x20 || byte == 0x7f) {
      shown[i] = ' ';
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      shown[i] = shown[i + 1] = ' ';
    }
  }
  return shown;
}

// Makes the text at once: a library's tree of values needs memory to be taken down, and we may be
// in somebody's program that has none.
class Writer {
 public:
  explicit Writer(std::string* text, size_t depth = 0) : text_(*text), depth_(depth) {
    text_ += '{';
  }
  void End() { Close('}'); }

  void Text(const char* name, const std::string& value) {
    Name(name);
    String(Shown(value));
  }
  template <typename T>
  void Number(const char* name, const T& value) {
    Name(name);
    text_ += std::to_string(value);
  }
  void Address(const char* name, uint64_t value) {
    Name(name);
    String(Hex(value));
  }
  void Flag(const char* name, bool value) {
    Name(name);
    text_ += value ? "true" : "false";
  }
  void Numbers(const char* name, const std::array<uint32_t, 3>& values) {
    Values(name, values, [&](uint32_t value) { text_ += std::to_string(value); });
  }
  template <size_t kCount>
  void Bytes(const char* name, const std::array<uint8_t, kCount>& bytes) {
    std::string text;
    for (const uint8_t byte : bytes) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    Name(name);
    String(text);
  }
  template <typename T>
  void Object(const char* name, const T& value) {
    Name(name);
    Fields(value, depth_ + 1);
  }
  template <typename T>
  void List(const char* name, const std::vector<T>& values) {
    Values(name, values, [&](const T& value) { Fields(value, depth_ + 2); });
  }
  void Texts(const char* name, const std::vector<std::string>& values) {
    Values(name, values, [&](const std::string& value) { String(Shown(value)); });
  }

 private:
  void Line(size_t depth) {
    text_ += '\n';
    text_.append(depth, ' ');
  }
  void Name(const char* name) {
    if (!empty_) text_ += ',';
    empty_ = false;
    Line(depth_ + 1);
    String(name);
    text_ += ": ";
  }
  void Close(char bracket) {
    if (!empty_) Line(depth_);
    text_ += bracket;
  }
  template <typename T>
  void Fields(const T& value, size_t depth) {
    Writer inner(&text_, depth);
    VisitFields(inner, value);
    inner.End();
  }
  template <typename Several, typename Write>
  void Values(const char* name, const Several& values, const Write& write) {
    Name(name);
    text_ += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!first) text_ += ',';
      first = false;
      Line(depth_ + 2);
      write(value);
    }
    if (!first) Line(depth_ + 1);
    text_ += ']';
  }
  void String(std::string_view value) { base::AppendJsonString(value, &text_); }

  std::string& text_;
  const size_t depth_;
  bool empty_ = true;
};

std::string RegionProblem(const Manifest& manifest, size_t i) {
  const Region& region = manifest.regions[i];
  if (region.size == 0) return "is empty";
  if (region.base + region.size < region.base) return "goes past the end of the address space";
  if (region.owner < -1 || region.owner >= static_cast<int64_t>(manifest.agents.size()))
    return "has an owner that is not among the agents";
  if (region.access != "ro" && region.access != "rw" && region.access != "none")
    return "has access '" + region.access + "', which is not ro, rw or none";
  if (region.kind.empty()) return "has no kind";
  if (i == 0) return "";
  const Region& before = manifest.regions[i - 1];
  if (region.base < before.base) return "is not in the order of addresses";
  if (region.base < before.base + before.size)
    return "overlaps region " + std::to_string(i - 1) + " (" + Hex(before.base) + ", " +
           std::to_string(before.size) + " bytes)";
  return "";
}

std::string ArgumentProblem(const Manifest& manifest, const Argument& argument) {
  if (uint64_t{argument.offset} + argument.size > manifest.launch.kernarg_bytes)
    return "lies outside the kernarg segment";
  if (argument.region < -1 || argument.region >= static_cast<int64_t>(manifest.regions.size()))
    return "points into a region that is not there";
  if (argument.region >= 0 &&
      argument.region_offset > manifest.regions[static_cast<size_t>(argument.region)].size)
    return "points past the end of its region";
  return "";
}

}  // namespace

std::string ToJson(const Manifest& manifest) {
  std::string text;
  Writer writer(&text);
  VisitFields(writer, manifest);
  writer.End();
  return text + "\n";
}

std::string Implausible(const Manifest& manifest) {
  if (manifest.version != kFormatVersion)
    return "version is " + std::to_string(manifest.version) + ", this rochound knows " +
           std::to_string(kFormatVersion);
  if (manifest.memory != "reachable" && manifest.memory != "all")
    return "memory is '" + manifest.memory + "', which is not reachable or all";
  if (manifest.agent < 0 || manifest.agent >= static_cast<int64_t>(manifest.agents.size()))
    return "agent is not among the agents";
  const Launch& launch = manifest.launch;
  const size_t dimensions = launch.setup & 3;
  if (dimensions == 0) return "launch.setup says no dimensions";
  for (size_t i = 0; i < 3; ++i) {
    if (i < dimensions && (launch.grid[i] == 0 || launch.workgroup[i] == 0))
      return "launch has an empty dimension";
    if (launch.workgroup[i] > 0xffff) return "launch.workgroup is larger than a packet can say";
  }
  if (launch.kernarg + launch.kernarg_bytes < launch.kernarg)
    return "launch.kernarg goes past the end of the address space";
  const Range& loaded = manifest.code_object.loaded;
  if (loaded.base + loaded.size < loaded.base)
    return "code_object.loaded goes past the end of the address space";
  for (size_t i = 0; i < manifest.regions.size(); ++i) {
    const std::string problem = RegionProblem(manifest, i);
    if (!problem.empty()) {
      return "region " + std::to_string(i) + " (" + Hex(manifest.regions[i].base) + ", " +
             std::to_string(manifest.regions[i].size) + " bytes) " + problem;
    }
  }
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const std::string problem = ArgumentProblem(manifest, manifest.arguments[i]);
    if (!problem.empty()) return "argument " + std::to_string(i) + " " + problem;
  }
  return "";
}

}  // namespace rochound::capture
