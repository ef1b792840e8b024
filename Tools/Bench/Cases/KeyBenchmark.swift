import Foundation
import MeshBenchmarks
import MeshBus
import MeshConnection
import MeshDelivery
import MeshIdentity
import MeshKeySync
import MeshPipeTransport
import MeshStorage
import MeshTransport
import MeshWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The cost of bringing ten thousand stored keys to a new peer: `plugins-tool bench keysync`.
///
/// Two peers, each with its own store, are connected by a pair of pipes. The time covers all steps: the values are written,
/// persisted, sent, persisted and read. For comparison, the same values travel as one JSON dictionary by Foundation. It is
/// persisted on both sides as one value and sent uncompressed, in parts of a megabyte. Then ten of the keys change while the
/// peers are disconnected. Bytes count both directions, with hellos and acknowledgements. CPU times are the process's.
struct KeyBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "keysync", summary: "Ten thousand keys to a fresh peer, and ten changed ones, beside one JSON dictionary"
    ) { context in
        var rows: [BenchmarkRow] = []
        for store in context.contributions(to: .stores) {
            for level in [6, 1] {
                context.report("keysync: \(store.plugin), zlib \(level)")
                rows.append(try await row(store, level))
            }
        }
        return rows
    }

    private static let rounds = 5

    /// - Parameter level: Level of zlib. Links use 6 by default.
    private static func row(_ store: Contribution<StoreFactory>, _ level: Int) async throws -> BenchmarkRow {
        let sample = KeySample(count: 10_000)
        var (keys, json): ([KeyPair.Run], [KeyPair.Run]) = ([], [])
        var (all, changed, jsonWire): (Int, Int, Int) = (0, 0, 0)
        for _ in 0..<rounds {
            let folders = try (0..<4).map { _ in try folder() }
            defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
            let stores = try folders.map { try store.value.open($0.path, .process) }
            defer { for store in stores { store.close() } }
            let jsonRun = try await KeyPair(stores[0], stores[1], compression: .stored).bringJSON(sample)
            let compression = CompressionPolicy.zlib(level: level)
            let keyRun = try await KeyPair(stores[2], stores[3], compression: compression)
                .bringKeys(sample, isFresh: true)
            let later = try await KeyPair(stores[2], stores[3], compression: compression)
                .bringKeys(sample.changing(10), isFresh: false)
            json.append(jsonRun)
            keys.append(keyRun)
            (all, changed, jsonWire) = (keyRun.bytes, later.bytes, jsonRun.bytes)
        }
        let jsonBytes = try sample.json().count
        func median(_ runs: [KeyPair.Run], _ time: (KeyPair.Run) -> Double) -> Double {
            runs.map(time).sorted()[rounds / 2]
        }
        let (keySeconds, jsonSeconds) = (median(keys, \.seconds), median(json, \.seconds))
        let (keyCPU, jsonCPU) = (median(keys, \.cpuSeconds), median(json, \.cpuSeconds))
        return [
            "store": .text(store.plugin.rawValue), "zlibLevel": .integer(level), "keys": .integer(sample.count),
            "milliseconds": .number(keySeconds * 1000), "jsonMilliseconds": .number(jsonSeconds * 1000),
            "timeRatio": .number(keySeconds / jsonSeconds), "cpuMilliseconds": .number(keyCPU * 1000),
            "jsonCPUMilliseconds": .number(jsonCPU * 1000), "cpuRatio": .number(keyCPU / jsonCPU),
            "bytes": .integer(all), "jsonBytes": .integer(jsonBytes),
            "jsonWireBytes": .integer(jsonWire), "byteRatio": .number(Double(all) / Double(jsonBytes)),
            "tenChangedBytes": .integer(changed), "tenChangedShare": .number(Double(changed) / Double(all)),
        ]
    }

    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keysync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }
}

enum KeyBenchmarkError: Error, CustomStringConvertible {
    case noPipe(Int32)
    case differs

    var description: String {
        switch self {
        case .noPipe(let number): "the system gives no pipe: \(String(cString: strerror(number)))"
        case .differs: "what arrived is not what was sent"
        }
    }
}

/// Two peers in one process over a pair of pipes.
private struct KeyPair {
    struct Run {
        var seconds: Double
        var cpuSeconds: Double
        var bytes: Int
    }

    private let stores: [any SessionStore]
    private let transports: [PipeSessionSyncTransport]

    init(_ first: any SessionStore, _ second: any SessionStore, compression: CompressionPolicy) throws {
        stores = [first, second]
        var ends: [Int32] = []
        for _ in 0..<2 {
            var pair: [Int32] = [0, 0]
            guard pipe(&pair) == 0 else { throw KeyBenchmarkError.noPipe(errno) }
            ends += pair
        }
        var configuration = DeliveryConfiguration()
        configuration.compression = compression
        transports = try [(ends[0], ends[3]), (ends[2], ends[1])].enumerated().map { index, descriptors in
            try PipeSessionSyncTransport(
                localPeer: SessionPeer(
                    id: "peer-\(index)", deviceClass: .unknown, appInstanceID: "\(index)", topology: .sameHost),
                input: descriptors.0, output: descriptors.1, closesDescriptors: true, configuration: configuration)
        }
    }

    /// The CPU time of this process so far.
    private static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private var bytes: Int { transports.reduce(0) { $0 + Int($1.statistics.bytesSent) } }

    /// Number of bytes sent, once no more have been sent for 100 ms.
    private func settledBytes() async throws -> Int {
        var last = -1
        while last != bytes {
            last = bytes
            try await Task.sleep(for: .milliseconds(100))
        }
        return last
    }

    private func meet() async throws {
        for transport in transports { try transport.start() }
        while transports.contains(where: { $0.knownPeers.isEmpty }) { await Task.yield() }
    }

    private func close() async {
        for transport in transports { await transport.close() }
    }

    func bringKeys(_ sample: KeySample, isFresh: Bool) async throws -> Run {
        let routers = [StorageRouter(), StorageRouter()]
        let connections = zip(transports, stores).map { TransportConnection(transport: $0, store: $1) }
        for router in routers { try await sample.register(in: router) }
        try await meet()
        let (start, startCPU) = (ContinuousClock.now, Self.cpuSeconds)
        try await routers[0].attach(to: connections[0])
        try await routers[0].commit(sample.batch())
        try await routers[1].attach(to: connections[1])
        for await progress in await routers[1].progressChanges()
        where progress.arrived >= sample.changedCount && progress.isComplete { break }
        if isFresh {
            guard try await sample.isHeld(by: routers[1]) else { throw KeyBenchmarkError.differs }
        }
        let (seconds, cpuSeconds) = (start.duration(to: .now) / .seconds(1), Self.cpuSeconds - startCPU)
        guard try await sample.isHeld(by: routers[1]) else { throw KeyBenchmarkError.differs }
        let bytes = try await settledBytes()
        for router in routers { await router.detach() }
        await close()
        return Run(seconds: seconds, cpuSeconds: cpuSeconds, bytes: bytes)
    }

    /// Bytes in a part, about as many as a message carries.
    private static let partBytes = 1_000_000

    func bringJSON(_ sample: KeySample) async throws -> Run {
        let envelopes = transports[1].receiveEnvelopes()
        try await meet()
        let (start, startCPU) = (ContinuousClock.now, Self.cpuSeconds)
        let json = try sample.json()
        try persist(json, in: stores[0])
        for start in stride(from: 0, to: json.count, by: Self.partBytes) {
            // Each part has its own event id: a receiver drops an event whose id it has seen.
            let metadata = SessionSyncMetadata(
                sessionID: TransportConnection.sharedScope, featureID: "json", sourcePeerID: "peer-0", sequence: 0,
                causalTimestamp: Date(), payloadType: "json")
            let part = Data(json[start..<min(start + Self.partBytes, json.count)])
            let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: part))
            try await transports[0].send(envelope, mode: .reliableEventually, to: nil)
        }
        var bytes = Data()
        for await envelope in envelopes {
            bytes += try envelope.decodePayload(as: Data.self)
            if bytes.count >= json.count { break }
        }
        try persist(bytes, in: stores[1])
        guard try JSONDecoder().decode(KeySample.Values.self, from: bytes) == sample.values else {
            throw KeyBenchmarkError.differs
        }
        let (seconds, cpuSeconds) = (start.duration(to: .now) / .seconds(1), Self.cpuSeconds - startCPU)
        let sent = try await settledBytes()
        await close()
        return Run(seconds: seconds, cpuSeconds: cpuSeconds, bytes: sent)
    }

    private func persist(_ json: Data, in store: any SessionStore) throws {
        var batch = StoreBatch()
        batch.set(Array(json), for: "json")
        try store.commit(batch)
    }
}

/// Settings of an app: values of five types, each of 20 to 200 bytes.
private struct KeySample: Sendable {
    struct Record: Codable, Sendable, Hashable {
        var name: String
        var isOn: Bool
        var level: Double
        var changed: Date
    }

    struct Values: Codable, Sendable, Equatable {
        var texts: [String: String] = [:]
        var numbers: [String: [Int]] = [:]
        var measures: [String: [Double]] = [:]
        var records: [String: Record] = [:]
        var blobs: [String: Data] = [:]
    }

    private(set) var values = Values()
    private(set) var changedTexts: Set<String>?
    let count: Int

    var changedCount: Int { changedTexts?.count ?? count }

    init(count: Int) {
        self.count = count
        var random = SplitMix64(seed: 25)
        func upTo(_ limit: UInt64) -> Int { Int(random.next() % limit) }
        let words = (0..<1000).map { _ in
            String((0..<2 + upTo(8)).map { _ in Character(UnicodeScalar(UInt8(97 + upTo(26)))) })
        }
        func text(_ bytes: Int) -> String {
            var text = words[upTo(1000)]
            while text.utf8.count < bytes { text += " " + words[upTo(1000)] }
            return String(text.prefix(bytes))
        }
        for index in 0..<count {
            let name = "settings.section\(index / 50).item\(index)"
            switch index % 5 {
            case 0: values.texts[name] = text(20 + upTo(180))
            case 1: values.numbers[name] = (0..<5 + upTo(30)).map { _ in upTo(100_000) }
            case 2: values.measures[name] = (0..<3 + upTo(16)).map { _ in Double(upTo(1 << 20)) / 64 }
            case 3:
                values.records[name] = Record(
                    name: text(10 + upTo(60)), isOn: index % 2 == 0, level: Double(upTo(1000)) / 8,
                    changed: Date(timeIntervalSinceReferenceDate: Double(8e8) + Double(upTo(1 << 24))))
            default: values.blobs[name] = Data((0..<20 + upTo(120)).map { _ in UInt8(upTo(256)) })
            }
        }
    }

    /// Returns a copy in which `count` values have changed.
    func changing(_ count: Int) -> KeySample {
        var sample = self
        let names = values.texts.keys.sorted()
        let chosen = (0..<count).map { names[$0 * names.count / count] }
        for name in chosen { sample.values.texts[name] = "changed while apart: \(name)" }
        sample.changedTexts = Set(chosen)
        return sample
    }

    func json() throws -> Data { try JSONEncoder().encode(values) }

    func register(in router: StorageRouter) async throws {
        for name in values.texts.keys { await router.register(StorageKey<String>(name)) }
        for name in values.numbers.keys { await router.register(StorageKey<[Int]>(name)) }
        for name in values.measures.keys { await router.register(StorageKey<[Double]>(name)) }
        for name in values.records.keys { await router.register(StorageKey<Record>(name)) }
        for name in values.blobs.keys { await router.register(StorageKey<Data>(name)) }
    }

    func batch() throws -> KeyBatch {
        var batch = KeyBatch()
        if let changedTexts {
            for name in changedTexts { try batch.set(values.texts[name] ?? "", for: StorageKey<String>(name)) }
            return batch
        }
        for (name, value) in values.texts { try batch.set(value, for: StorageKey(name)) }
        for (name, value) in values.numbers { try batch.set(value, for: StorageKey(name)) }
        for (name, value) in values.measures { try batch.set(value, for: StorageKey(name)) }
        for (name, value) in values.records { try batch.set(value, for: StorageKey(name)) }
        for (name, value) in values.blobs { try batch.set(value, for: StorageKey(name)) }
        return batch
    }

    /// Reads every value. True if the router has them all.
    func isHeld(by router: StorageRouter) async throws -> Bool {
        var held = Values()
        for name in values.texts.keys { held.texts[name] = try await router.get(StorageKey<String>(name)) }
        for name in values.numbers.keys { held.numbers[name] = try await router.get(StorageKey<[Int]>(name)) }
        for name in values.measures.keys { held.measures[name] = try await router.get(StorageKey<[Double]>(name)) }
        for name in values.records.keys { held.records[name] = try await router.get(StorageKey<Record>(name)) }
        for name in values.blobs.keys { held.blobs[name] = try await router.get(StorageKey<Data>(name)) }
        return held == values
    }
}
