// SPDX-License-Identifier: MIT
#include "agent/agent_facts.h"

#include <cstring>

#include "agent/runtime.h"
#include "agent/session.h"

namespace rochound::agent {
namespace {

template <typename T>
T Ask(hsa_agent_t agent, int what) {
  T value{};
  Real().core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(what), &value);
  return value;
}

std::string AskText(hsa_agent_t agent, int what) {
  struct Text {
    char text[64];
  };
  const Text text = Ask<Text>(agent, what);
  return {text.text, strnlen(text.text, sizeof text.text)};
}

// Called by the runtime, which an exception of ours must not pass through.
hsa_status_t VisitIsa(hsa_isa_t isa, void* data) {
  uint32_t length = 0;
  Real().core.hsa_isa_get_info_alt_fn(isa, HSA_ISA_INFO_NAME_LENGTH, &length);
  Guarded("no memory for an agent's name", [&] {
    std::string name(length, '\0');
    Real().core.hsa_isa_get_info_alt_fn(isa, HSA_ISA_INFO_NAME, name.data());
    auto& first = *static_cast<std::string*>(data);
    if (first.empty()) first = name.c_str();
  });
  return HSA_STATUS_SUCCESS;
}

}  // namespace

AgentFacts DescribeAgent(uint16_t index) {
  const hsa_agent_t agent = AgentHandle(index);
  AgentFacts facts;
  facts.name = AskText(agent, HSA_AGENT_INFO_NAME);
  facts.product = AskText(agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
  facts.uuid = AskText(agent, HSA_AMD_AGENT_INFO_UUID).substr(0, 21);
  facts.node = Ask<uint32_t>(agent, HSA_AGENT_INFO_NODE);
  facts.compute_units = Ask<uint32_t>(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  if (!IsGpu(index)) return facts;
  facts.wavefront = Ask<uint32_t>(agent, HSA_AGENT_INFO_WAVEFRONT_SIZE);
  Real().core.hsa_agent_iterate_isas_fn(agent, VisitIsa, &facts.isa);
  return facts;
}

}  // namespace rochound::agent
