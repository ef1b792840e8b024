#if UDP
    import MeshBase
    import MeshSecurity
    import NIOCore

    /// Several messages in one sealed packet: of each its length (2 bytes, the highest first), then itself.
    ///
    /// What has gathered by the time the event loop sends is bundled; nothing waits for company. A packet costs the same
    /// sealing, call to the system and wake-up for one message as for several. A message that fills a packet by itself
    /// travels alone, as all do to a peer that has not said that it takes bundles.
    enum DatagramBundle {
        static let lengthBytes = 2
        /// Of one packet's plaintext, bundle or not.
        static let bytesMax = PayloadLimit.udpSealed.bytes

        /// Seals messages in their order, as few packets as they fit into.
        /// - Parameter bundles: whether the peer takes them.
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

        /// How far the messages from `start` on fit into one packet; at least one is in it.
        private static func endOfBundle(_ messages: [[UInt8]], from start: Int) -> Int {
            var (end, bytes) = (start, 0)
            while end < messages.endIndex, bytes + lengthBytes + messages[end].count <= bytesMax {
                bytes += lengthBytes + messages[end].count
                end += 1
            }
            return max(end, start + 1)
        }

        /// - Returns: nil when the key is used up: to lose a message is within the promise of the lane.
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
        /// - Returns: false when the bytes are no bundle; what came before the fault has been taken.
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
