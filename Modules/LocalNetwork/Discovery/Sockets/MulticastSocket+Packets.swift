#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension MulticastSocket {
    /// The metadata of a packet. Its bytes are in the buffer that received it.
    struct Packet {
        var count: Int
        var source: IPAddress
        var port: UInt16
        /// The packet's route; nil if the system doesn't report it.
        var arrival: Arrival?
    }

    /// The receiving interface and the destination address of a packet.
    struct Arrival: Hashable {
        var interfaceIndex: UInt32
        var destination: IPAddress
    }

    /// Sends a packet without blocking.
    /// - Parameter scope: The number of the interface to which a link-local address or a group belongs.
    /// - Throws: `DiscoveryError` if the packet can't be sent.
    func send(_ bytes: [UInt8], to ip: IPAddress, port: UInt16, scope: UInt32) throws(DiscoveryError) {
        let scope = ip.isLinkLocal || ip.isGroup ? scope : 0
        let count = ip.withSocketAddress(port: port, scope: scope) {
            sendto(descriptor, bytes, bytes.count, 0, $0, $1)
        }
        guard count >= 0 else { throw DiscoveryError(call: "sendto", errno) }
    }

    /// Receives a packet without blocking. Bytes beyond the buffer's size are lost.
    /// - Returns: Nil if no packet is available.
    /// - Throws: `DiscoveryError` if the socket can't receive any more.
    func receive(into buffer: inout [UInt8]) throws(DiscoveryError) -> Packet? {
        var from = sockaddr_in6()
        var control = PacketInfo()
        let count = withUnsafeMutableBytes(of: &from) { from in
            control.withBuffer { control, controlCount in
                buffer.withUnsafeMutableBytes { bytes in
                    var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                    return withUnsafeMutablePointer(to: &piece) { piece in
                        var message = msghdr()
                        message.msg_name = from.baseAddress
                        message.msg_namelen = numericCast(from.count)
                        message.msg_iov = piece
                        message.msg_iovlen = 1
                        message.msg_control = control.baseAddress
                        message.msg_controllen = numericCast(control.count)
                        let count = recvmsg(descriptor, &message, 0)
                        controlCount = count < 0 ? 0 : Int(message.msg_controllen)
                        return count
                    }
                }
            }
        }
        guard count >= 0 else {
            switch errno {
            // A host rejected an earlier packet, or memory is short: the next packet may arrive.
            case EAGAIN, EINTR, ECONNREFUSED, ENOMEM, ENOBUFS: return nil
            default: throw DiscoveryError(call: "recvmsg", errno)
            }
        }
        return withUnsafeBytes(of: &from) { from in
            // The port is at the same offset in both families.
            let place = from.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            guard let place, let source = IPAddress(place) else { return nil }
            return Packet(
                count: count, source: source, port: UInt16(from[2]) << 8 | UInt16(from[3]), arrival: control.arrival)
        }
    }
}

/// The control data of a packet: ip(7) and RFC 3542 section 6. Parsed as bytes, because the layout is the same on all
/// systems except for the offset of the first field.
struct PacketInfo {
    #if canImport(Darwin)
        // Swift doesn't import these constants of RFC 3542.
        static let request6: Int32 = 61
        private static let type6: Int32 = 46
        private static let alignment = 4
    #else
        static let request6 = IPV6_RECVPKTINFO
        private static let type6 = IPV6_PKTINFO
        private static let alignment = MemoryLayout<Int>.size
    #endif
    private static let headerSize = aligned(MemoryLayout<cmsghdr>.size)

    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private var count = 0

    /// - Parameter body: Writes to the buffer, and sets the number of bytes written.
    mutating func withBuffer<Result>(_ body: (UnsafeMutableRawBufferPointer, inout Int) -> Result) -> Result {
        withUnsafeMutableBytes(of: &words) { body($0, &count) }
    }

    var arrival: MulticastSocket.Arrival? {
        withUnsafeBytes(of: words) { buffer in
            var rest = buffer.prefix(count)
            while rest.count >= Self.headerSize {
                let header = UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: cmsghdr.self)
                let length = Int(clamping: header.cmsg_len)
                guard length >= Self.headerSize, length <= rest.count else { return nil }
                let data = UnsafeRawBufferPointer(rebasing: rest.prefix(length).dropFirst(Self.headerSize))
                if let arrival = Self.arrival(data, header.cmsg_level, header.cmsg_type) { return arrival }
                rest = rest.dropFirst(Self.aligned(length))
            }
            return nil
        }
    }

    private static func arrival(_ data: UnsafeRawBufferPointer, _ level: Int32, _ type: Int32) -> MulticastSocket
        .Arrival?
    {
        let index: Int
        let address: Range<Int>
        switch (level, type) {
        case (Int32(IPPROTO_IP), IP_PKTINFO): (index, address) = (0, 8..<12)
        case (Int32(IPPROTO_IPV6), type6): (index, address) = (16, 0..<16)
        default: return nil
        }
        guard data.count >= max(index + 4, address.upperBound), let destination = IPAddress(bytes: data[address])
        else { return nil }
        return MulticastSocket.Arrival(
            interfaceIndex: data.loadUnaligned(fromByteOffset: index, as: UInt32.self), destination: destination)
    }

    private static func aligned(_ count: Int) -> Int { (count + alignment - 1) / alignment * alignment }
}
