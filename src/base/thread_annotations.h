// SPDX-License-Identifier: MIT
//
// What clang's thread-safety analysis is told about locks: which lock guards a member, which locks a
// function needs, takes or releases. `./dev check locks` runs the analysis over every file that has
// locks, and a finding is an error. Nothing at all with other compilers, and nothing at run time.
#pragma once

#if defined(__clang__)
#define ROCHOUND_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define ROCHOUND_THREAD_ANNOTATION(attribute)
#endif

// Of a class that is a lock, and of one that holds a lock as long as it lives.
#define ROCHOUND_CAPABILITY(kind) ROCHOUND_THREAD_ANNOTATION(capability(kind))
#define ROCHOUND_SCOPED_CAPABILITY ROCHOUND_THREAD_ANNOTATION(scoped_lockable)

// Of a variable: it is read and written with this lock held; of a pointer: what it points to.
#define ROCHOUND_GUARDED_BY(lock) ROCHOUND_THREAD_ANNOTATION(guarded_by(lock))
#define ROCHOUND_POINTEE_GUARDED_BY(lock) ROCHOUND_THREAD_ANNOTATION(pt_guarded_by(lock))

// Of a function: it is called with these locks held, or without.
#define ROCHOUND_REQUIRES(...) ROCHOUND_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ROCHOUND_REQUIRES_SHARED(...) \
  ROCHOUND_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define ROCHOUND_EXCLUDES(...) ROCHOUND_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// Of a function: it returns with these locks held, or released.
#define ROCHOUND_ACQUIRE(...) ROCHOUND_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ROCHOUND_ACQUIRE_SHARED(...) \
  ROCHOUND_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define ROCHOUND_TRY_ACQUIRE(...) ROCHOUND_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define ROCHOUND_RELEASE(...) ROCHOUND_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define ROCHOUND_RELEASE_SHARED(...) \
  ROCHOUND_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define ROCHOUND_RELEASE_ANY(...) \
  ROCHOUND_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))

// Of a function after which these locks are known to be held, where the analysis cannot see it.
#define ROCHOUND_ASSERT_HELD(...) ROCHOUND_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))

// Of a function that returns this lock.
#define ROCHOUND_RETURN_CAPABILITY(lock) ROCHOUND_THREAD_ANNOTATION(lock_returned(lock))

// Of a function that the analysis cannot follow. The reason is beside it.
#define ROCHOUND_NO_THREAD_SAFETY_ANALYSIS ROCHOUND_THREAD_ANNOTATION(no_thread_safety_analysis)
