// SPDX-License-Identifier: MIT
#include "probe/foreign.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string>

namespace rochound::probe {
namespace {

// The fields of dh_comms' header.
struct Header {
  uint64_t lanes;
  uint64_t data;  // bytes that follow; the highest bits: lane headers, one item per lane
  uint64_t clock;
  uint64_t file;  // a hash of its name
  uint32_t line, column;
  uint32_t type;
  uint32_t what;  // of an address: what is done, in which space, with how many bytes
  uint16_t group[3];
  uint16_t place;  // wave in the workgroup, and where it runs
  uint8_t lane_count;
  uint8_t target;
  uint8_t unused[6];
};
static_assert(sizeof(Header) == 64);

constexpr uint32_t kAddress = 0;
constexpr uint64_t kLaneHeaders = uint64_t{1} << 63, kVector = uint64_t{1} << 62;
constexpr uint64_t kLaneHeaderBytes = 4;

const char* ActionOf(uint32_t what) {
  constexpr const char* kActions[] = {"load", "load", "store", "atomic"};
  return kActions[what & 3];
}

// How it is addressed, and where it goes. A flat one may go anywhere; it is reported as global.
std::pair<const char*, const char*> SpaceOf(uint32_t what) {
  switch (what >> 2 & 0xf) {
    case 0:
      return {"flat", "global"};
    case 3:
      return {"lds", "lds"};
    case 4:
      return {"constant", "global"};
    case 5:
      return {"scratch", "scratch"};
    default:
      return {"global", "global"};
  }
}

}  // namespace

void ForeignReader::AddKernel(const std::vector<uint64_t>& words, uint64_t process) {
  ForeignKernel& kernel = kernels_[words[1]];
  std::string name(reinterpret_cast<const char*>(words.data() + 3), (words.size() - 3) * 8);
  name.resize(strnlen(name.data(), name.size()));
  kernel.dispatch.process = process;
  kernel.dispatch.kernel = std::move(name);
}

const Site& ForeignReader::SiteFor(const ForeignKernel& kernel, uint64_t file, uint32_t line,
                                   uint32_t column, uint32_t what) {
  std::unique_ptr<Site>& site = sites_[{&kernel, file, line, column, what}];
  if (site == nullptr) {
    site = std::make_unique<Site>();
    site->action = ActionOf(what);
    site->pointer = SpaceOf(what).first;
    site->bytes = what >> 6 & 0xffff;
    site->is_atomic = site->action == "atomic";
    site->at = {{fmt::format("file {:016x}", file), line, column, ""}};
  }
  return *site;
}

std::optional<ForeignAccess> ForeignReader::Read(const std::vector<uint64_t>& words) {
  const auto kernel = kernels_.find(words[1]);
  const uint64_t length = words[2];
  if (kernel == kernels_.end() || length > (words.size() - 3) * 8 || length < sizeof(Header))
    return std::nullopt;
  const auto* const bytes = reinterpret_cast<const char*>(words.data() + 3);
  Header header{};
  std::memcpy(&header, bytes, sizeof header);
  const auto lanes = static_cast<uint64_t>(std::popcount(header.lanes));
  const uint64_t ids = (header.data & kLaneHeaders) != 0 ? lanes * kLaneHeaderBytes : 0;
  if (header.type != kAddress || (header.data & kVector) == 0 || lanes == 0 ||
      sizeof header + ids + lanes * sizeof(uint64_t) > length)
    return std::nullopt;
  ForeignAccess access{};
  access.kernel = &kernel->second;
  for (size_t i = 0; i < 3; ++i) access.group[i] = header.group[i];
  access.group_number =
      header.group[0] | uint64_t{header.group[1]} << 16 | uint64_t{header.group[2]} << 32;
  access.wave = header.place & 0xf;
  access.site = &SiteFor(kernel->second, header.file, header.line, header.column, header.what);
  access.space = SpaceOf(header.what).second;
  access.mask = header.lanes;
  // The lower halves of all lanes, then the upper ones.
  for (uint64_t i = 0; i < lanes; ++i) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, bytes + sizeof header + ids + i * 4, sizeof low);
    std::memcpy(&high, bytes + sizeof header + ids + (lanes + i) * 4, sizeof high);
    access.addresses.push_back(uint64_t{high} << 32 | low);
  }
  return access;
}

}  // namespace rochound::probe
