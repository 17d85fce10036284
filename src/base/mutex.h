// SPDX-License-Identifier: MIT
//
// The standard library's locks as clang's thread-safety analysis understands them
// (base/thread_annotations.h): its own are not annotated. Any thread. Lock and UniqueLock also take
// other locks with lock() and unlock(), such as the agent's SpinLock. All of it is inline and costs
// what the standard library's costs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/thread_annotations.h"

namespace rochound::base {

class ROCHOUND_CAPABILITY("mutex") Mutex {
 public:
  void lock() ROCHOUND_ACQUIRE() { mutex_.lock(); }
  void unlock() ROCHOUND_RELEASE() { mutex_.unlock(); }
  bool try_lock() ROCHOUND_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // In a function that is called with it held, by way of code that the analysis cannot follow.
  void AssertHeld() const ROCHOUND_ASSERT_HELD() {}

 private:
  friend class Condition;
  std::mutex mutex_;
};

class ROCHOUND_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() ROCHOUND_ACQUIRE() { mutex_.lock(); }
  void unlock() ROCHOUND_RELEASE() { mutex_.unlock(); }
  void lock_shared() ROCHOUND_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() ROCHOUND_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Held from here to the end of the block. With std::adopt_lock it is held already.
template <typename Kind>
class ROCHOUND_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Kind& mutex) ROCHOUND_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  Lock(Kind& mutex, std::adopt_lock_t) ROCHOUND_REQUIRES(mutex) : mutex_(mutex) {}
  ~Lock() ROCHOUND_RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Kind& mutex_;
};

// The same, for a block that releases it for a while, or before its end.
template <typename Kind>
class ROCHOUND_SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Kind& mutex) ROCHOUND_ACQUIRE(mutex) : mutex_(mutex) { lock(); }
  ~UniqueLock() ROCHOUND_RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() ROCHOUND_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() ROCHOUND_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Kind& mutex_;
  bool held_ = false;
};

class ROCHOUND_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) ROCHOUND_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~SharedLock() ROCHOUND_RELEASE_ANY() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// What a thread waits for with a Mutex held, which is released meanwhile. It may wake without a
// reason: callers look again at what they wait for, in a loop, where the analysis sees the lock.
class Condition {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

  void Wait(Mutex& mutex) ROCHOUND_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False: the time has come.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point when)
      ROCHOUND_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, when);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds time) ROCHOUND_REQUIRES(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + time);
  }

 private:
  std::condition_variable condition_;
};

}  // namespace rochound::base
