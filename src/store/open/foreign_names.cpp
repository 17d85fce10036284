// SPDX-License-Identifier: MIT
#include "store/open/foreign_names.h"

#include <algorithm>
#include <cctype>

#include "store/convert/names.h"

namespace rochound::store {
namespace {

// RPD records what it costs itself under these names.
bool IsOverheadOfRpd(std::string_view name) {
  return name.ends_with("::writeRows") || name.ends_with("::buffer_callback") ||
         name == "hcc_activity_callback" || name == "BLOCKING" || name == "rpdflush";
}

}  // namespace

CallKind KindOfCall(std::string_view name) {
  if (name == "UserMarker" || name == "UserRange" || name.starts_with("roctx"))
    return {"roctx", ""};
  if (IsOverheadOfRpd(name)) return {"rochound", "overhead"};
  if (name.starts_with("nccl") || name.starts_with("rccl") || name.starts_with("mscclLoad"))
    return {"rccl", "communication"};
  if (name.starts_with("hsa_")) {
    return {"hsa", std::string(CategoryOf(Function("hsa", name, "", "")))};
  }
  std::string hip(name);
  std::string domain = "hip";
  if (name.starts_with("cuda")) {
    hip.replace(0, 4, "hip");
    domain = "cuda";
  } else if (name.size() > 2 && name.starts_with("cu") && isupper(name[2]) != 0) {
    hip.replace(0, 2, "hip");
    domain = "cuda";
  } else if (!name.starts_with("hip") && !name.starts_with("__hip")) {
    return {};
  }
  return {domain, std::string(CategoryOf(Function("hip", hip, "", "")))};
}

CopyDirection DirectionOf(std::string_view name) {
  std::string plain;  // "HOST_TO_DEVICE" and "HostToDevice" are one
  for (const char c : name)
    if (isalpha(static_cast<unsigned char>(c)) != 0)
      plain.push_back(static_cast<char>(tolower(static_cast<unsigned char>(c))));
  if (Has(plain, "hosttohost") || Has(plain, "htoh")) return CopyDirection::kHostToHost;
  if (Has(plain, "hosttodevice") || Has(plain, "htod") || Has(plain, "htoa"))
    return CopyDirection::kHostToDevice;
  if (Has(plain, "devicetohost") || Has(plain, "dtoh") || Has(plain, "atoh"))
    return CopyDirection::kDeviceToHost;
  if (Has(plain, "devicetodevice") || Has(plain, "dtod") || Has(plain, "ptop") ||
      Has(plain, "peertopeer"))
    return CopyDirection::kDeviceToDevice;
  return CopyDirection::kUnknown;
}

std::string_view OperationOfCopy(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToHost:
      return "CopyHostToHost";
    case CopyDirection::kHostToDevice:
      return "CopyHostToDevice";
    case CopyDirection::kDeviceToHost:
      return "CopyDeviceToHost";
    case CopyDirection::kDeviceToDevice:
      return "CopyDeviceToDevice";
    case CopyDirection::kUnknown:
      break;
  }
  return "Copy";
}

}  // namespace rochound::store
