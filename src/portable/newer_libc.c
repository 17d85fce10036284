// SPDX-License-Identifier: MIT
//
// What today's compilers and libraries expect of libc and glibc 2.31 does not have. A build for
// other distributions (ROCHOUND_OLD_LIBC) is linked to that libc and to this file;
// docs/decisions/portable.md says why. Each function does what glibc's manual says, by means of
// older ones. Called by the C++ runtime and by bundled libraries, on any thread.
//
// Hidden in what is loaded into other people's programs. The command exports them
// (ROCHOUND_EXPORTED) for the libraries that it brings along; tools/package/older_versions.py makes
// those look for them there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef ROCHOUND_EXPORTED
#define NEWER __attribute__((visibility("default")))
#else
#define NEWER __attribute__((visibility("hidden")))
#endif

// False: reference counts are always atomic. Only the libc itself knows better.
NEWER char __libc_single_threaded = 0;

// Today's headers call strtol and others by new names, which also read binary numbers (0b1). The
// functions of the old names are reached past the headers.
#define OLDER(type, name, parameters) extern type older_##name parameters __asm__(#name)
OLDER(long, strtol, (const char*, char**, int));
OLDER(unsigned long, strtoul, (const char*, char**, int));
OLDER(int, vsscanf, (const char*, const char*, va_list));
OLDER(int, vfscanf, (FILE*, const char*, va_list));

#define SAME_NUMBER(name, type, older)                      \
  NEWER type name(const char* text, char** end, int base) { \
    return (type)older_##older(text, end, base);            \
  }
SAME_NUMBER(__isoc23_strtol, long, strtol)
SAME_NUMBER(__isoc23_strtoll, long long, strtol)
SAME_NUMBER(__isoc23_strtoimax, intmax_t, strtol)
SAME_NUMBER(__isoc23_strtoul, unsigned long, strtoul)
SAME_NUMBER(__isoc23_strtoull, unsigned long long, strtoul)
SAME_NUMBER(__isoc23_strtoumax, uintmax_t, strtoul)

NEWER int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = older_vsscanf(text, format, arguments);
  va_end(arguments);
  return read;
}

NEWER int __isoc23_fscanf(FILE* file, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int read = older_vfscanf(file, format, arguments);
  va_end(arguments);
  return read;
}

NEWER uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR) abort();  // as glibc does
  return number;
}

// Where an address's code says how it is unwound. glibc looks it up in a table of its own; here,
// the loader's list.
struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* info, size_t size, void* argument) {
  (void)size;
  struct search* search = argument;
  uintptr_t start = UINTPTR_MAX, end = 0;
  const ElfW(Phdr)* unwinding = NULL;
  int inside = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t first = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) unwinding = part;
    if (part->p_type != PT_LOAD) continue;
    if (first < start) start = first;
    if (first + part->p_memsz > end) end = first + part->p_memsz;
    if (search->address >= first && search->address - first < part->p_memsz) inside = 1;
  }
  if (!inside) return 0;
  if (unwinding == NULL) return -1;
  search->found->dlfo_flags = 0;
  search->found->dlfo_map_start = (void*)start;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_link_map = NULL;  // the unwinder does not read it
  search->found->dlfo_eh_frame = (void*)(info->dlpi_addr + unwinding->p_vaddr);
  return 1;
}

NEWER int _dl_find_object(void* address, struct dl_find_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}

#ifdef ROCHOUND_EXPORTED
// Part of every program that is linked to an old libc, and of newer libcs themselves.
extern int __xstat(int version, const char* path, struct stat* status);
extern int __lxstat(int version, const char* path, struct stat* status);
extern int __fxstat(int version, int file, struct stat* status);
enum { kVersion = 1 };
NEWER int stat(const char* path, struct stat* status) { return __xstat(kVersion, path, status); }
NEWER int lstat(const char* path, struct stat* status) { return __lxstat(kVersion, path, status); }
NEWER int fstat(int file, struct stat* status) { return __fxstat(kVersion, file, status); }
// The same on 64-bit machines.
#define SAME_STATUS(name, first, older)                 \
  NEWER int name(first, struct stat64* status) {        \
    return older(kVersion, what, (struct stat*)status); \
  }
SAME_STATUS(stat64, const char* what, __xstat)
SAME_STATUS(lstat64, const char* what, __lxstat)
SAME_STATUS(fstat64, int what, __fxstat)
#endif
