// SPDX-License-Identifier: MIT
//
// Objects of S3 as files: what DuckDB does not do, or what is no table. By HTTP, signed as Amazon's
// version 4 wants it, with the usual variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
// AWS_ENDPOINT_URL. Any thread; errors carry the storage's answer.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rochound::fleet {

// What the variables say. No endpoint: Amazon's own.
struct S3Access {
  std::string key, secret, region, endpoint;
};
S3Access S3AccessFromEnvironment();

// Whether this is a place in a storage: s3://BUCKET/KEY.
bool IsObjectPath(std::string_view path);

base::Result<void> PutObject(const std::filesystem::path& file, const std::string& path);
// The file is whole, or not there.
base::Result<void> GetObject(const std::string& path, const std::filesystem::path& file);
// An object that is not there is no error.
base::Result<void> DeleteObject(const std::string& path);

}  // namespace rochound::fleet
