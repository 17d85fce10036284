// SPDX-License-Identifier: MIT
#include "probe/machine_view.h"

#include <algorithm>

namespace rochound::probe {

const std::vector<std::unique_ptr<Site>>& MachineView::SitesOf(const Site& site) {
  const auto [known, fresh] = sites_.try_emplace(&site);
  if (!fresh) return known->second;
  for (const MachinePart& part : site.machine) {
    known->second.push_back(std::make_unique<Site>(site));
    known->second.back()->bytes = part.bytes;
    known->second.back()->machine = {part};
    known->second.back()->source_bytes = std::min(part.bytes, site.bytes);
  }
  return known->second;
}

bool MachineView::IsAgain(const AccessMessage& message) {
  return std::any_of(message.site->machine.begin(), message.site->machine.end(),
                     [](const MachinePart& part) { return part.once; }) &&
         !done_
              .emplace(message.dispatch, message.group_number, message.wave, message.begun,
                       message.site)
              .second;
}

void MachineView::OnAccess(const AccessMessage& message) {
  ++counts_.asked;
  const Site& site = *message.site;
  if (!site.machine_known) {
    ++counts_.unmatched;
    ++counts_.made;
    to_.OnAccess(message);
    return;
  }
  if (site.machine.empty() || IsAgain(message)) {
    ++counts_.joined;
    return;
  }
  const auto& sites = SitesOf(site);
  for (size_t i = 0; i < sites.size(); ++i) {
    const MachinePart& part = site.machine[i];
    AccessMessage one = message;
    one.site = sites[i].get();
    addresses_ = *message.addresses;
    for (uint64_t& address : addresses_) address += static_cast<uint64_t>(part.offset);
    if (part.scalar || part.one_lane) addresses_.resize(std::min<size_t>(addresses_.size(), 1));
    one.addresses = &addresses_;
    if (part.scalar) {
      one.space = "scalar";
      one.mask = 0;
    } else if (part.one_lane) {
      one.mask &= ~one.mask + 1;
    }
    counts_.scalar += part.scalar ? 1 : 0;
    counts_.one_lane += part.one_lane ? 1 : 0;
    ++counts_.made;
    to_.OnAccess(one);
  }
}

}  // namespace rochound::probe
