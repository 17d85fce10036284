// SPDX-License-Identifier: MIT
// Stands in for the shim where only the command that preloads it is tested.
int rochound_empty_shim;
