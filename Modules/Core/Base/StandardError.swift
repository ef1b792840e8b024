#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Prints lines for the developer of a debug build.
package enum StandardError {
    /// Prints one line with the prefix `SessionMesh: `. Escapes unprintable text, because peers may have sent parts of
    /// it.
    package static func print(_ line: String) {
        let bytes = Array("SessionMesh: \(line.printable())\n".utf8)
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress!, $0.count) }
    }
}
