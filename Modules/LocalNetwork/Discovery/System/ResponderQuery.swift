#if SystemDiscovery || canImport(Darwin)
    #if canImport(Darwin)
        import dnssd
    #else
        import CDNSSD
    #endif

    /// One request to the system's responder, and its answers so far.
    ///
    /// Owned by the thread that created it. The system's library holds a pointer to it from its creation until `close`.
    /// Answers arrive only during `process`, which collects them.
    final class ResponderQuery {
        enum Answer {
            case registered(name: String)
            case browsed(name: String, domain: String, interfaceIndex: UInt32, isPresent: Bool)
            case resolved(host: String, port: UInt16, text: [UInt8])
            case address(IPAddress, isPresent: Bool)
            case failed(ResponderError)
        }

        /// Maximum number of answers during one `process`. Further ones are dropped.
        static let answersMax = 1024

        private var service: DNSServiceRef?
        private var answers: [Answer] = []

        private init(
            _ begin: (_ service: inout DNSServiceRef?, _ context: UnsafeMutableRawPointer) -> DNSServiceErrorType
        ) throws(ResponderError) {
            _ = Self.prepareLibrary
            let context = Unmanaged.passRetained(self)
            let status = begin(&service, context.toOpaque())
            guard status == DNSServiceErrorType(kDNSServiceErr_NoError), service != nil else {
                service = nil
                context.release()
                throw ResponderError(status: status)
            }
        }

        /// Prepares the library, once before the first query. See the library's shim.
        private static let prepareLibrary: Void = {
            #if !canImport(Darwin)
                sessionmesh_dnssd_prepare()
            #endif
        }()

        var descriptor: Int32 { service.map(DNSServiceRefSockFD) ?? -1 }

        /// Reads the responder's answers. Call it when the descriptor is readable.
        func process() -> [Answer] {
            guard let service else { return [] }
            let status = DNSServiceProcessResult(service)
            if status != DNSServiceErrorType(kDNSServiceErr_NoError) {
                answers.append(.failed(ResponderError(status: status)))
            }
            defer { answers = [] }
            return answers
        }

        /// Changes the TXT record of a registered service.
        func update(text: [UInt8]) throws(ResponderError) {
            let status = DNSServiceUpdateRecord(service, nil, 0, UInt16(clamping: text.count), text, 0)
            guard status == DNSServiceErrorType(kDNSServiceErr_NoError) else { throw ResponderError(status: status) }
        }

        /// Ends the query. Idempotent; must not be called during `process`.
        func close() {
            guard let service else { return }
            self.service = nil
            DNSServiceRefDeallocate(service)
            Unmanaged.passUnretained(self).release()
        }

        fileprivate func append(_ answer: Answer) {
            if answers.count < Self.answersMax { answers.append(answer) }
        }
    }

    // MARK: - Requests

    extension ResponderQuery {
        static func register(
            _ announcement: ServiceAnnouncement, as name: String, _ type: ServiceType, on interfaceIndex: UInt32
        ) throws(ResponderError) -> ResponderQuery {
            let text = TextAttributes.encode(announcement.attributes)
            return try ResponderQuery { service, context in
                DNSServiceRegister(
                    &service, 0, interfaceIndex, name, type.name, type.domain, nil,
                    announcement.port.bigEndian, UInt16(clamping: text.count), text, registerReply, context)
            }
        }

        static func browse(_ type: ServiceType, on interfaceIndex: UInt32) throws(ResponderError) -> ResponderQuery {
            try ResponderQuery { service, context in
                DNSServiceBrowse(&service, 0, interfaceIndex, type.name, type.domain, browseReply, context)
            }
        }

        static func resolve(_ location: ServiceLocation, _ type: ServiceType) throws(ResponderError) -> ResponderQuery {
            try ResponderQuery { service, context in
                DNSServiceResolve(
                    &service, 0, location.interfaceIndex, location.instance, type.name, location.domain, resolveReply,
                    context)
            }
        }

        enum AddressFamily: CaseIterable { case v4, v6 }

        static func addresses(
            of host: String, _ family: AddressFamily, on interfaceIndex: UInt32
        ) throws(ResponderError) -> ResponderQuery {
            let recordType = family == .v4 ? kDNSServiceType_A : kDNSServiceType_AAAA
            return try ResponderQuery { service, context in
                DNSServiceQueryRecord(
                    &service, 0, interfaceIndex, host, UInt16(recordType), UInt16(kDNSServiceClass_IN), recordReply,
                    context)
            }
        }
    }

    // MARK: - The responder's callbacks

    // Each callback runs within `process`, on the query's thread, with the query as its context.

    private func answer(
        _ context: UnsafeMutableRawPointer?, _ status: DNSServiceErrorType, _ make: () -> ResponderQuery.Answer?
    ) {
        guard let context else { return }
        let query = Unmanaged<ResponderQuery>.fromOpaque(context).takeUnretainedValue()
        guard status == DNSServiceErrorType(kDNSServiceErr_NoError) else {
            return query.append(.failed(ResponderError(status: status)))
        }
        if let answer = make() { query.append(answer) }
    }

    private func registerReply(
        _: DNSServiceRef?, _: DNSServiceFlags, _ status: DNSServiceErrorType, _ name: UnsafePointer<CChar>?,
        _: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?
    ) {
        answer(context, status) { name.map { .registered(name: String(cString: $0)) } }
    }

    private func browseReply(
        _: DNSServiceRef?, _ flags: DNSServiceFlags, _ interfaceIndex: UInt32, _ status: DNSServiceErrorType,
        _ name: UnsafePointer<CChar>?, _: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
        _ context: UnsafeMutableRawPointer?
    ) {
        answer(context, status) {
            guard let name, let domain else { return nil }
            return .browsed(
                name: String(cString: name), domain: String(cString: domain), interfaceIndex: interfaceIndex,
                isPresent: flags & DNSServiceFlags(kDNSServiceFlagsAdd) != 0)
        }
    }

    private func resolveReply(
        _: DNSServiceRef?, _: DNSServiceFlags, _: UInt32, _ status: DNSServiceErrorType, _: UnsafePointer<CChar>?,
        _ host: UnsafePointer<CChar>?, _ port: UInt16, _ textLength: UInt16, _ text: UnsafePointer<UInt8>?,
        _ context: UnsafeMutableRawPointer?
    ) {
        answer(context, status) {
            guard let host else { return nil }
            return .resolved(
                host: String(cString: host), port: UInt16(bigEndian: port),
                text: Array(UnsafeBufferPointer(start: text, count: text == nil ? 0 : Int(textLength))))
        }
    }

    private func recordReply(
        _: DNSServiceRef?, _ flags: DNSServiceFlags, _: UInt32, _ status: DNSServiceErrorType,
        _: UnsafePointer<CChar>?, _: UInt16, _: UInt16, _ length: UInt16, _ bytes: UnsafeRawPointer?, _: UInt32,
        _ context: UnsafeMutableRawPointer?
    ) {
        answer(context, status) {
            let bytes = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(length))
            guard let address = IPAddress(bytes: bytes) else { return nil }
            return .address(address, isPresent: flags & DNSServiceFlags(kDNSServiceFlagsAdd) != 0)
        }
    }

    /// An error that the responder returned.
    struct ResponderError: Error {
        let status: DNSServiceErrorType

        // Avahi's header lacks these two constants.
        private static let serviceNotRunning = -65563
        private static let policyDenied = -65570

        /// True if another program on this machine announces the same name.
        var isNameConflict: Bool { Int(status) == kDNSServiceErr_NameConflict }

        var meaning: DiscoveryError {
            switch Int(status) {
            case kDNSServiceErr_NoAuth, kDNSServiceErr_Refused, kDNSServiceErr_Firewall, Self.policyDenied:
                DiscoveryError(.notPermitted, "the system's responder refused the request: error \(status)")
            case kDNSServiceErr_BadParam, kDNSServiceErr_Invalid:
                DiscoveryError(.invalidName, "the system's responder rejected the name: error \(status)")
            case kDNSServiceErr_Unknown, Self.serviceNotRunning:
                DiscoveryError(.unavailable, "the system's responder isn't running: error \(status)")
            default:
                DiscoveryError(.systemCallFailed, "the system's responder failed: error \(status)")
            }
        }
    }
#endif
