// SPDX-License-Identifier: MIT
//
// Files that somebody else names, opened by root with that user's rights only. `rochound ctl` and
// `doctor --hang` use it for the folder that a control socket answers: whoever listens there may
// name any.
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/result.h"

namespace rochound::launch {

// Whether files of this user's are to be read with other rights than those that we have: we are
// root and the user is not.
bool HasOtherRights(uid_t user);

// Does the work on a thread whose access to files is the user's, groups included, and waits for it;
// without other rights, on the calling thread. An error: the rights could not be given up, and the
// work was not done.
base::Result<void> WithRightsOf(uid_t user, const std::function<void()>& work);

}  // namespace rochound::launch
