// SPDX-License-Identifier: MIT
//
// The ioctls of /dev/kfd, answered with the parts of a Driver. Called by the program's threads.
#pragma once

namespace rochound::softgpu {

class Driver;

// `argument` is the program's structure, as long as the request says. 0 or -errno. What is not
// implemented is named on stderr.
int AnswerKfdIoctl(Driver& driver, unsigned long request, void* argument);

}  // namespace rochound::softgpu
