// SPDX-License-Identifier: MIT
#include "agent/control.h"

namespace rochound::agent {

void ServeControl() {}
void ForgetControlAfterFork() {}

}  // namespace rochound::agent
