// SPDX-License-Identifier: MIT
//
// CLI11's own functions. CLI11_COMPILE, which CMakeLists.txt sets, takes them out of its headers:
// compiled in every command they took most of this folder's build time.
#include <CLI/impl/App_inl.hpp>
#include <CLI/impl/Config_inl.hpp>
#include <CLI/impl/Formatter_inl.hpp>
#include <CLI/impl/Option_inl.hpp>
#include <CLI/impl/Split_inl.hpp>
#include <CLI/impl/StringTools_inl.hpp>
#include <CLI/impl/Validators_inl.hpp>
// Newer releases have these, too.
#if __has_include(<CLI/impl/Argv_inl.hpp>)
#include <CLI/impl/Argv_inl.hpp>
#endif
#if __has_include(<CLI/impl/Encoding_inl.hpp>)
#include <CLI/impl/Encoding_inl.hpp>
#endif
#if __has_include(<CLI/impl/ExtraValidators_inl.hpp>)
#include <CLI/impl/ExtraValidators_inl.hpp>
#endif
