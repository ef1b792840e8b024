#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A value that is protected by a mutual-exclusion lock.
///
/// Used for every lock of this package, because Synchronization's `Mutex` needs newer systems than this package
/// supports and causes false reports of the thread sanitizer. Never suspend inside `withLock`.
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    #if canImport(Darwin)
        private let mutex = UnsafeMutablePointer<os_unfair_lock>.allocate(capacity: 1)
    #else
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    #endif
    private var content: Content

    /// Pads an empty value. Otherwise it would have the address of the object's header, which is read without the lock,
    /// and the thread sanitizer would report a race.
    private struct Content: ~Copyable {
        var value: Value
        let isNeverEmpty: UInt8 = 0
    }

    package init(_ value: consuming sending Value) {
        content = Content(value: value)
        #if canImport(Darwin)
            mutex.initialize(to: os_unfair_lock())
        #else
            mutex.initialize(to: pthread_mutex_t())
            let status = pthread_mutex_init(mutex, nil)
            precondition(status == 0, "pthread_mutex_init failed: \(status)")
        #endif
    }

    deinit {
        #if !canImport(Darwin)
            pthread_mutex_destroy(mutex)
        #endif
        mutex.deinitialize(count: 1)
        mutex.deallocate()
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock()
        defer { unlock() }
        return try body(&content.value)
    }

    private func lock() {
        #if canImport(Darwin)
            os_unfair_lock_lock(mutex)
        #else
            pthread_mutex_lock(mutex)
        #endif
    }

    private func unlock() {
        #if canImport(Darwin)
            os_unfair_lock_unlock(mutex)
        #else
            pthread_mutex_unlock(mutex)
        #endif
    }
}
