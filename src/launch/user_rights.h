// SPDX-License-Identifier: MIT
//
// Files that somebody else names, opened with that user's rights only. `rochound ctl` and
// `doctor --hang` use it for the folder that a control socket answers, and the fleet's daemon for
// files that a log names: whoever listens there, or writes the log, may name any.
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

// The same for who has capabilities: does the work on a thread that has none. Root then has the
// user's rights on files, without those of groups; everybody else the own ones.
base::Result<void> WithoutCapabilities(uid_t user, const std::function<void()>& work);

}  // namespace rochound::launch
