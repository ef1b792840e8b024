#if UDP
    import MeshBase
    import MeshSecurity
    import NIOCore

    /// A format for several messages in one sealed packet: for each its length (2 bytes, big-endian), then the message.
    ///
    /// The event loop bundles the messages that are queued when it sends. No message waits for others. A packet needs
    /// sealing, a system call and a wake-up only once, however many messages it has. A message that fills a packet
    /// travels alone. So do all messages to a peer that hasn't announced support for bundles.
    enum DatagramBundle {
        static let lengthBytes = 2
        /// Maximum size of a packet's plaintext, with or without a bundle.
        static let bytesMax = PayloadLimit.udpSealed.bytes

        /// Seals messages in order, in as few packets as possible.
        /// - Parameter bundles: True if the peer supports bundles.
        static func seal(
            _ messages: [[UInt8]], bundles: Bool, with sealer: inout DatagramSealer
        ) -> [ByteBuffer] {
            var packets: [ByteBuffer] = []
            var next = messages.startIndex
            while next < messages.endIndex {
                let end = bundles ? endOfBundle(messages, from: next) : next + 1
                if let packet = seal(messages[next..<end], with: &sealer) { packets.append(packet) }
                next = end
            }
            return packets
        }

        /// Returns the end of the messages from `start` that fit into one packet: at least one.
        private static func endOfBundle(_ messages: [[UInt8]], from start: Int) -> Int {
            var (end, bytes) = (start, 0)
            while end < messages.endIndex, bytes + lengthBytes + messages[end].count <= bytesMax {
                bytes += lengthBytes + messages[end].count
                end += 1
            }
            return max(end, start + 1)
        }

        /// - Returns: Nil if the key is used up. The lane allows losses.
        private static func seal(_ messages: ArraySlice<[UInt8]>, with sealer: inout DatagramSealer) -> ByteBuffer? {
            guard let first = messages.first else { return nil }
            guard messages.count > 1 else { return seal(first, isBundle: false, with: &sealer) }
            var plaintext: [UInt8] = []
            plaintext.reserveCapacity(bytesMax)
            for message in messages {
                plaintext.append(UInt8(truncatingIfNeeded: message.count >> 8))
                plaintext.append(UInt8(truncatingIfNeeded: message.count))
                plaintext.append(contentsOf: message)
            }
            return seal(plaintext, isBundle: true, with: &sealer)
        }

        static func seal(_ plaintext: [UInt8], isBundle: Bool, with sealer: inout DatagramSealer) -> ByteBuffer? {
            let count = SealedDatagrams.overhead + plaintext.count
            var packet = ByteBufferAllocator().buffer(capacity: count)
            packet.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
                plaintext.withUnsafeBytes { plaintext in
                    (try? sealer.seal(plaintext, isBundle: isBundle, into: room)) == nil ? 0 : count
                }
            }
            return packet.readableBytes > 0 ? packet : nil
        }

        /// Calls `take` with each message, in order.
        /// - Returns: False if the bytes are invalid. The messages before the error were passed on.
        static func read(_ plaintext: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
            var rest = plaintext[...]
            while !rest.isEmpty {
                guard rest.count > lengthBytes else { return false }
                let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
                rest = rest.dropFirst(lengthBytes)
                guard count > 0, count <= rest.count else { return false }
                take(UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
#endif
