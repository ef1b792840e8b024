#if UDP
    import MeshTransport
    import NIOCore

    /// The packets accepted for one peer and not yet passed to the system. A value behind a lock: senders add packets,
    /// and the event loop takes them.
    struct Outbox: ~Copyable {
        enum Admission {
            /// The packet was accepted. `wakes` is true if the event loop must be notified.
            case accepted(wakes: Bool)
            case full
            case closed
        }

        /// The data that the event loop writes next.
        struct Batch {
            var stream = ByteBuffer()
            var datagrams: [[UInt8]] = []
            var fallbackCount = 0
            /// The number of datagrams for the stream that newer ones have replaced since the last batch.
            var fallbackDropped: UInt64 = 0
        }

        private let bounds: UDPLinkBounds
        private var isOpen = true
        private var isFlushDue = false
        private var mustNotifyWritable = false
        /// The records to write next.
        private var stream = ByteBuffer()
        /// The offset of the last record in `stream`, if packets can still be appended to it.
        private var openRecord: Int?
        /// The kinds of the connection's own records in `stream`, one bit each.
        private var waitingKinds: UInt8 = 0
        /// A written buffer, to be reused.
        private var spare = ByteBuffer()
        private var datagrams: [[UInt8]] = []
        private var fallback: [[UInt8]] = []
        /// The number of datagrams that newer ones have replaced in `fallback` since the last batch.
        private var fallbackDropped: UInt64 = 0
        /// The amounts that the event loop has taken and the system hasn't accepted yet.
        private var writingBytes = 0
        private var writingDatagrams = 0
        /// True to send datagrams by UDP, false to send them over the stream.
        var usesDatagrams = false

        init(_ bounds: UDPLinkBounds) { self.bounds = bounds }
    }

    // MARK: - Adding

    extension Outbox {
        mutating func enqueue(_ bytes: [UInt8], on lane: LinkLane) -> Admission {
            guard isOpen else { return .closed }
            guard lane == .stream ? enqueueStream(bytes) : enqueueDatagram(bytes) else {
                mustNotifyWritable = true
                return .full
            }
            defer { isFlushDue = true }
            return .accepted(wakes: !isFlushDue)
        }

        /// Appends small packets to the same record, because the lane is a stream of bytes.
        private mutating func enqueueStream(_ bytes: [UInt8]) -> Bool {
            let waiting = writingBytes + stream.readableBytes
            guard waiting == 0 || waiting + bytes.count <= bounds.streamBytesMax else { return false }
            if let start = openRecord {
                let length = stream.writerIndex - start - Record.headerBytes + bytes.count
                if length <= RecordDecoder.bodyBytesMax {
                    stream.writeBytes(bytes)
                    stream.setInteger(UInt32(truncatingIfNeeded: length), at: start)
                    return true
                }
            }
            openRecord = stream.writerIndex
            stream.writeRecord(.stream, bytes)
            return true
        }

        private mutating func enqueueDatagram(_ bytes: [UInt8]) -> Bool {
            guard usesDatagrams else {
                fallback.append(bytes)
                guard fallback.count > bounds.fallbackCountMax else { return true }
                fallback.removeFirst()
                fallbackDropped += 1
                return true
            }
            guard writingDatagrams + datagrams.count < bounds.datagramCountMax else { return false }
            // An empty datagram would be a probe. It may be dropped, because the lane allows losses.
            if !bytes.isEmpty { datagrams.append(bytes) }
            return true
        }

        /// Queues a record of the connection itself. At most one of each kind waits: a second would add nothing. So a
        /// peer that sends pings and reads nothing can't fill the queue.
        /// - Returns: True if the event loop must be notified.
        mutating func enqueue(_ kind: Record.Kind) -> Bool {
            guard waitingKinds & (1 << kind.rawValue) == 0 else { return false }
            waitingKinds |= 1 << kind.rawValue
            openRecord = nil
            stream.writeRecord(kind)
            defer { isFlushDue = true }
            return !isFlushDue
        }

        /// Rejects further packets. Packets that were accepted are still written.
        mutating func close() { isOpen = false }
    }

    // MARK: - Removing

    extension Outbox {
        /// Takes the next batch. Only one batch of the stream is with the system at a time.
        mutating func takeBatch() -> Batch {
            isFlushDue = false
            var batch = Batch()
            swap(&batch.datagrams, &datagrams)
            writingDatagrams += batch.datagrams.count
            swap(&batch.fallbackDropped, &fallbackDropped)
            guard writingBytes == 0 else { return batch }
            batch.fallbackCount = fallback.count
            for bytes in fallback { stream.writeRecord(.datagram, bytes) }
            fallback.removeAll(keepingCapacity: true)
            guard stream.readableBytes > 0 else { return batch }
            writingBytes = stream.readableBytes
            batch.stream = stream
            swap(&stream, &spare)
            spare = ByteBuffer()
            openRecord = nil
            waitingKinds = 0
            return batch
        }

        /// Notes that the system has accepted a batch or datagrams.
        /// - Returns: Whether to notify senders of free space, and whether more waits to be taken.
        mutating func wrote(_ written: ByteBuffer, datagramCount: Int) -> (hasSpace: Bool, hasMore: Bool) {
            writingBytes -= written.readableBytes
            if written.capacity > 0, written.capacity <= 4 * RecordDecoder.bodyBytesMax {
                spare = written
                spare.clear()
            }
            writingDatagrams -= datagramCount
            let waiting = writingBytes + stream.readableBytes
            let hasMore = writingBytes == 0 && (stream.readableBytes > 0 || !fallback.isEmpty)
            guard mustNotifyWritable, waiting <= bounds.streamBytesMax / 2,
                writingDatagrams + datagrams.count <= bounds.datagramCountMax / 2
            else { return (false, hasMore) }
            mustNotifyWritable = false
            return (true, hasMore)
        }

        /// The bytes of the stream that wait, or that the system hasn't accepted yet.
        var streamBytes: Int { writingBytes + stream.readableBytes }

        var isEmpty: Bool {
            writingBytes == 0 && writingDatagrams == 0 && stream.readableBytes == 0 && datagrams.isEmpty
                && fallback.isEmpty
        }
    }
#endif
