// SPDX-License-Identifier: MIT
//
// The one thing that DuckDB does not do on S3: taking an object away. By HTTP, signed as Amazon's
// version 4 wants it, with the same variables as the lake (lake.h). One thread; errors carry the
// storage's answer.
#pragma once

#include <string>

#include "base/result.h"

namespace rochound::fleet {

// path: s3://BUCKET/KEY. An object that is not there is no error.
base::Result<void> DeleteObject(const std::string& path);

}  // namespace rochound::fleet
