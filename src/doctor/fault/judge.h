// SPDX-License-Identifier: MIT
//
// How each kind of fault is explained; used by explain.cpp.
#pragma once

#include <string>
#include <vector>

#include "doctor/fault/explain.h"
#include "doctor/fault/record.h"

namespace rochound::doctor {

FaultExplanation ExplainMemoryFault(const FaultRecord& record);
FaultExplanation ExplainQueueError(const FaultRecord& record);
FaultExplanation ExplainHang(const FaultRecord& record);

// What the kinds have in common.
struct InFlight {
  const FaultQueue* queue;
  const FaultDispatch* dispatch;
};

std::string Sentence(const FaultDispatch& dispatch);
FaultSuspect SuspectOf(const InFlight& one, double odds, std::string reason);
void NameGpu(const FaultRecord& record, int agent, FaultExplanation* explanation);
// Source line and instructions around this one.
FaultPlace PlaceOf(const FaultDispatch& dispatch, size_t instruction);

}  // namespace rochound::doctor
