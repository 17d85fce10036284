// SPDX-License-Identifier: MIT
//
// Keeps device trees on disk, for all processes of one user. Called by `rochound softgpu` before it
// becomes the program; any number of processes at once.
//
// A tree lives in <store>/<hash> and is complete from the moment it has that name: it is built
// under a temporary name and renamed, by whoever holds the lock <store>/lock. A tree that lost
// files (cleaners of /tmp do that) is replaced. Errors say what to do; nothing of ours is left half
// made.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "softgpu/tree/device_tree.h"

namespace rochound::softgpu {

// <parent>/rochound-softgpu-<uid>; the parent is the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp
// that is a directory we may write to.
std::filesystem::path DefaultTreeStore();

// Puts the tree into the store unless it is there, and returns its path. The store is made with
// mode 0700 if it does not exist; one that belongs to somebody else or that others may enter is
// refused.
base::Result<std::filesystem::path> StoreDeviceTree(const DeviceTree& tree,
                                                    const std::filesystem::path& store);

// Another name for a folder, a link to it in the store. The store is made and refused as above.
base::Result<std::filesystem::path> LinkInStore(const std::filesystem::path& folder,
                                                const std::filesystem::path& store);

}  // namespace rochound::softgpu
