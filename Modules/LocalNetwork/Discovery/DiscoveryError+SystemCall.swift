#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension DiscoveryError {
    /// Creates the error that a failed system call means for a discovery.
    init(call: String, _ errorNumber: Int32) {
        let message = "\(call): \(Self.message(errorNumber))"
        switch errorNumber {
        case EADDRINUSE: self.init(.portTaken, message)
        case EACCES, EPERM: self.init(.notPermitted, message)
        case ENODEV, ENXIO: self.init(.noInterface, message)
        default: self.init(.systemCallFailed, message)
        }
    }

    /// The system's description of an error number.
    private static func message(_ errorNumber: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "error \(errorNumber)" }
            buffer.initialize(repeating: 0)
            return strerror_r(errorNumber, start, 256) == 0 ? String(cString: start) : "error \(errorNumber)"
        }
    }
}
