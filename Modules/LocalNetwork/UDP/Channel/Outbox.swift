#if UDP
    import MeshTransport
    import NIOCore

    /// What was taken for one peer and is not yet with the system. A value behind a lock: senders put in, the event loop
    /// takes out.
    struct Outbox: ~Copyable {
        enum Admission {
            /// `wakes`: the event loop does not know yet.
            case taken(wakes: Bool)
            case full
            case gone
        }

        /// What the event loop writes next.
        struct Batch {
            var stream = ByteBuffer()
            var datagrams: [[UInt8]] = []
            var fallbackCount = 0
        }

        private let bounds: UDPLinkBounds
        private var isOpen = true
        private var isFlushDue = false
        private var owesWritable = false
        /// Records to be written, and where the last one begins if more can be added to it.
        private var stream = ByteBuffer()
        private var openRecord: Int?
        /// Of the connection's own records in `stream`, a bit for each kind.
        private var waitingKinds: UInt8 = 0
        /// Written, and good for the next records.
        private var spare = ByteBuffer()
        private var datagrams: [[UInt8]] = []
        private var fallback: [[UInt8]] = []
        private(set) var fallbackDropped: UInt64 = 0
        /// With the event loop and not yet with the system.
        private var writingBytes = 0
        private var writingDatagrams = 0
        /// Whether datagrams are sealed and sent, or take the stream.
        var usesDatagrams = false

        init(_ bounds: UDPLinkBounds) { self.bounds = bounds }
    }

    // MARK: - Putting in

    extension Outbox {
        mutating func put(_ bytes: [UInt8], on lane: LinkLane) -> Admission {
            guard isOpen else { return .gone }
            guard lane == .stream ? putStream(bytes) : putDatagram(bytes) else {
                owesWritable = true
                return .full
            }
            defer { isFlushDue = true }
            return .taken(wakes: !isFlushDue)
        }

        /// Small packets share a record: it is a stream.
        private mutating func putStream(_ bytes: [UInt8]) -> Bool {
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

        private mutating func putDatagram(_ bytes: [UInt8]) -> Bool {
            guard usesDatagrams else {
                fallback.append(bytes)
                guard fallback.count > bounds.fallbackCountMax else { return true }
                fallback.removeFirst()
                fallbackDropped += 1
                return true
            }
            guard writingDatagrams + datagrams.count < bounds.datagramCountMax else { return false }
            // An empty one would be a probe. Losing it is within the promise of the lane.
            if !bytes.isEmpty { datagrams.append(bytes) }
            return true
        }

        /// A record of the connection's own. Of each kind one waits: a second would say the same, and a peer that reads
        /// nothing makes no more of them by asking.
        /// - Returns: whether the event loop has to be told.
        mutating func put(_ kind: Record.Kind) -> Bool {
            guard waitingKinds & (1 << kind.rawValue) == 0 else { return false }
            waitingKinds |= 1 << kind.rawValue
            openRecord = nil
            stream.writeRecord(kind)
            defer { isFlushDue = true }
            return !isFlushDue
        }

        /// Takes no more; what was taken is still written.
        mutating func close() { isOpen = false }
    }

    // MARK: - Taking out

    extension Outbox {
        /// One batch of the stream is with the system at a time; what comes meanwhile gathers.
        mutating func take() -> Batch {
            isFlushDue = false
            var batch = Batch()
            swap(&batch.datagrams, &datagrams)
            writingDatagrams += batch.datagrams.count
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

        /// - Returns: whether senders are to be told that there is room, and whether more waits to be taken.
        mutating func wrote(_ written: ByteBuffer, datagramCount: Int) -> (hasRoom: Bool, hasMore: Bool) {
            writingBytes -= written.readableBytes
            if written.capacity > 0, written.capacity <= 4 * RecordDecoder.bodyBytesMax {
                spare = written
                spare.clear()
            }
            writingDatagrams -= datagramCount
            let waiting = writingBytes + stream.readableBytes
            let hasMore = writingBytes == 0 && (stream.readableBytes > 0 || !fallback.isEmpty)
            guard owesWritable, waiting <= bounds.streamBytesMax / 2,
                writingDatagrams + datagrams.count <= bounds.datagramCountMax / 2
            else { return (false, hasMore) }
            owesWritable = false
            return (true, hasMore)
        }

        /// Of the stream, with the event loop or on its way there.
        var streamBytes: Int { writingBytes + stream.readableBytes }

        var isEmpty: Bool {
            writingBytes == 0 && writingDatagrams == 0 && stream.readableBytes == 0 && datagrams.isEmpty
                && fallback.isEmpty
        }
    }
#endif
