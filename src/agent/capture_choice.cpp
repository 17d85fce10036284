// SPDX-License-Identifier: MIT
#include "agent/capture_choice.h"

#include <cxxabi.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/count.h"
#include "base/parse.h"
#include "contract/variables.h"

namespace rochound::agent {
namespace {

std::string Variable(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr ? value : "";
}

// XxYxZ; missing ones are 1, a star is any.
bool ReadSizes(std::string_view text, std::array<uint32_t, 3>* sizes) {
  *sizes = {1, 1, 1};
  for (uint32_t& size : *sizes) {
    const size_t end = text.find('x');
    const std::string_view one = text.substr(0, end);
    uint64_t number = 0;
    if (one != "*" && (!base::ParseNumber(one, &number) || number == 0 || number > UINT32_MAX))
      return false;
    size = static_cast<uint32_t>(number);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;  // more than three
}

}  // namespace

std::string ReadableName(const std::string& symbol) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = readable != nullptr ? readable : symbol;
  free(readable);
  return name;
}

bool CaptureChoice::ReadShape(const std::string& text) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (part.starts_with("grid=")) {
      if (!ReadSizes(part.substr(5), &grid_)) return false;
    } else if (part.starts_with("workgroup=")) {
      if (!ReadSizes(part.substr(10), &workgroup_)) return false;
    } else {
      return false;
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return true;
}

std::unique_ptr<const CaptureChoice> CaptureChoice::FromEnvironment(std::string* problem) {
  auto made = std::make_unique<CaptureChoice>();
  CaptureChoice& choice = *made;
  choice.directory = Variable(contract::variables::kCaptureDir);
  if (choice.directory.empty()) return nullptr;
  const auto refuse = [&](const char* name, const char* why) {
    *problem = std::string(name) + ": '" + Variable(name) + "' is not " + why;
    return nullptr;
  };
  choice.kernel = Variable(contract::variables::kCaptureKernel);
  if (!choice.kernel.empty()) {
    auto pattern = base::Pattern::Compile(choice.kernel);
    if (!pattern.ok())
      return refuse(contract::variables::kCaptureKernel,
                    ("a regular expression: " + pattern.error().message).c_str());
    choice.pattern_ = std::move(pattern).value();
  }
  const std::string nth = Variable(contract::variables::kCaptureNth);
  if (!nth.empty() && (!base::ParseNumber(nth, &choice.nth) || choice.nth == 0))
    return refuse(contract::variables::kCaptureNth, "a number from 1 on");
  const std::string dispatch = Variable(contract::variables::kCaptureDispatch);
  if (!dispatch.empty() && (!base::ParseNumber(dispatch, &choice.dispatch) || choice.dispatch == 0))
    return refuse(contract::variables::kCaptureDispatch, "a number from 1 on");
  if (!choice.ReadShape(Variable(contract::variables::kCaptureShape)))
    return refuse(contract::variables::kCaptureShape,
                  "a shape such as grid=1024x1x1,workgroup=256");
  choice.all_memory = Variable(contract::variables::kCaptureMemory) == "all";
  return made;
}

bool CaptureChoice::NameMatches(const std::string& symbol) const {
  return !pattern_ || pattern_->FoundIn(symbol) || pattern_->FoundIn(ReadableName(symbol));
}

bool CaptureChoice::ShapeMatches(const hsa_kernel_dispatch_packet_t& packet) const {
  const Sizes grid{packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  const Sizes workgroup{packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  for (size_t i = 0; i < 3; ++i) {
    if (grid_[i] != 0 && grid_[i] != grid[i]) return false;
    if (workgroup_[i] != 0 && workgroup_[i] != workgroup[i]) return false;
  }
  return true;
}

std::string CaptureChoice::WhyNone(uint64_t launches, uint64_t matches) const {
  const std::string all = base::Count(launches, "kernel was launched.", "kernels were launched.");
  if (dispatch > launches) return "launch " + std::to_string(dispatch) + " did not come: " + all;
  if (dispatch != 0)
    return "launch " + std::to_string(dispatch) + " is of another kernel or shape: " + all;
  if (matches == 0) return "no launch matched: " + all;
  return "only " + base::Count(matches, "launch", "launches") + " matched, not " +
         std::to_string(nth) + ": " + all;
}

}  // namespace rochound::agent
