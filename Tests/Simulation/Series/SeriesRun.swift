import MeshBase
import MeshSeries
import MeshStorage

/// One seed of a `SeriesSimulation`.
struct SeriesRun {
    private struct Sample: Codable, Sendable {
        /// The sample's number on its device, from 0 across all launches.
        var number: Int
        var noise: Double
    }

    private struct Device {
        let name: String
        let disk = SimulatedDisk()
        var replica: SeriesReplica
        /// Earlier contents of the store.
        var backup: StoreContents?
        /// The written length of each series when the device's last batch was committed.
        var settled: [SeriesID: UInt64] = [:]

        mutating func batchCommitted() {
            replica.batchCommitted()
            for extent in replica.extents { settled[extent.id] = extent.written }
        }
    }

    private struct Message {
        var sender: String
        var receiver: String
        var content: SeriesMessage
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private var random: SplitMix64
    private let steps: Int
    private var devices: [Device] = []
    private var network: [Message] = []
    private var isApart = false
    private let lossRate: Double
    private let retention: SeriesRetention
    private let messageBytes: Int
    /// The numbers that were recorded in each series.
    private var recorded: [SeriesID: [Int]] = [:]
    private(set) var sampleCount = 0
    private(set) var faults: [String: Int] = [:]

    private static let names = ["phone", "watch", "tablet"]
    private static let kinds = ["pulse", "track"]

    init(seed: UInt64, steps: Int) {
        random = SplitMix64(seed: seed)
        self.steps = steps
        lossRate = [0, 0.1, 0.4][Int.random(in: 0..<3, using: &random)]
        retention = Int.random(in: 0..<3, using: &random) == 0 ? .newest(1500) : .all
        messageBytes = [300, 4_000, 32_000][Int.random(in: 0..<3, using: &random)]
        for name in Self.names.prefix(Int.random(in: 2...3, using: &random)) {
            devices.append(Device(name: name, replica: makeReplica(name)))
        }
    }

    private mutating func makeReplica(_ name: String) -> SeriesReplica {
        let life = random.next()
        return SeriesReplica(peerID: name, prefix: "series/", byteCountMax: 1 << 30, makeIncarnation: { life })
    }

    mutating func play() throws {
        for _ in 0..<steps { try step() }
        try calm()
    }

    private mutating func count(_ fault: String) { faults[fault, default: 0] += 1 }

    // MARK: - Steps

    private mutating func step() throws {
        let device = Int.random(in: devices.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: try record(device)
        case 25..<50: try commit(device)
        case 50..<65: exchange(device)
        case 65..<92: for _ in 0..<Int.random(in: 1...6, using: &random) { try deliver() }
        case 92..<94:
            count("apart or together")
            isApart.toggle()
            if !isApart { forgetKnowledge() }
        case 94..<97:
            count("relaunch")
            try relaunch(device)
        case 97:
            count("lost store")
            devices[device].disk.contents = StoreContents()
            devices[device].settled = [:]
            try relaunch(device)
        case 98:
            if let backup = devices[device].backup {
                count("restored store")
                devices[device].disk.contents = backup
                devices[device].settled = [:]
                try relaunch(device)
            } else {
                devices[device].backup = devices[device].disk.contents
            }
        default: try check(device)
        }
    }

    private mutating func record(_ device: Int) throws {
        let kind = Self.kinds[Int.random(in: 0..<2, using: &random)]
        let series = Series<Sample>(kind, keeping: retention)
        let count = Int.random(in: 0..<8, using: &random) == 0 ? 1500 : Int.random(in: 1...40, using: &random)
        for _ in 0..<count {
            let sample = Sample(number: sampleCount, noise: Double(Int64.random(in: -99...99, using: &random)) / 8)
            try devices[device].replica.record(sample, in: series, at: Int64(sampleCount) * 1_000_000)
            sampleCount += 1
            guard let id = devices[device].replica.ownID(of: kind) else { throw Violation(description: "no series") }
            recorded[id, default: []].append(sample.number)
        }
    }

    private mutating func commit(_ device: Int) throws {
        guard devices[device].replica.hasUnwritten else { return }
        let isRetry = devices[device].replica.isRetry
        var batch = try devices[device].replica.nextBatch()
        let disk = devices[device].disk
        if isRetry { batch = batch.removingCommitted(in: try disk.catalog(prefix: "series/")) }
        let fates: [SimulatedDisk.Fate] = [.isRefused, .isCutShort(isWritten: true), .isCutShort(isWritten: false)]
        if Int.random(in: 0..<6, using: &random) == 0 {
            disk.prepare(fates[Int.random(in: 0..<3, using: &random)])
        }
        do {
            try disk.commit(batch)
            devices[device].batchCommitted()
        } catch let error as StorageError where error.code == .full || error.code == .unavailable {
            count("\(error.code)")
            // The device doesn't know whether the commit was written. Its process may end because of the error.
            if Bool.random(using: &random) { try relaunch(device) } else { devices[device].replica.batchFailed() }
        }
    }

    private mutating func relaunch(_ device: Int) throws {
        var replica = makeReplica(devices[device].name)
        try replica.load(from: devices[device].disk)
        devices[device].replica = replica
        try check(device)
        forgetKnowledge()
    }

    private mutating func forgetKnowledge() {
        for index in devices.indices { for name in Self.names { devices[index].replica.forgetKnowledge(of: name) } }
    }

    // MARK: - Talking

    private func reachable(from device: Int) -> Set<String> {
        isApart ? [] : Set(devices.map(\.name)).subtracting([devices[device].name])
    }

    private mutating func exchange(_ device: Int, isCalm: Bool = false) {
        let peers = reachable(from: device)
        guard !peers.isEmpty else { return }
        let isFull = isCalm || Int.random(in: 0..<8, using: &random) == 0
        let isRetry = Int.random(in: 0..<3, using: &random) == 0
        let pushes = Bool.random(using: &random)
        devices[device].replica.expireFetch(reachable: peers)
        let messages = devices[device].replica.messages(
            reachable: peers, scope: isFull ? .all : isRetry ? .unacknowledged : .unannounced, pushesSamples: pushes,
            answers: Bool.random(using: &random), limit: messageBytes)
        for message in messages { send(message, from: device) }
    }

    private mutating func send(_ message: SeriesMessage, from device: Int) {
        for peer in reachable(from: device).sorted() where message.receiver ?? peer == peer {
            if Double.random(in: 0..<1, using: &random) < lossRate {
                count("lost")
                continue
            }
            network.append(Message(sender: devices[device].name, receiver: peer, content: message))
            if Int.random(in: 0..<20, using: &random) == 0, let last = network.last {
                count("doubled")
                network.append(last)
            }
        }
    }

    private mutating func deliver() throws {
        guard !network.isEmpty else { return }
        // A message from anywhere in the queue may overtake the ones before it.
        let isOvertaking = lossRate > 0 && Int.random(in: 0..<3, using: &random) == 0
        let message = network.remove(at: isOvertaking ? Int.random(in: network.indices, using: &random) : 0)
        guard !isApart, let device = devices.firstIndex(where: { $0.name == message.receiver }) else { return }
        let serving = try devices[device].replica.receive(
            message.content.checked(), from: message.sender, isMember: true)
        if let serving {
            for answer in try serving.messages(from: devices[device].disk, limit: messageBytes) {
                send(answer, from: device)
            }
        }
        if let request = devices[device].replica.nextRequest(limit: messageBytes) { send(request, from: device) }
    }

    // MARK: - Checking

    /// Ends all faults except message loss. Runs until every device has every sample that any device has written.
    private mutating func calm() throws {
        isApart = false
        forgetKnowledge()
        for index in devices.indices { try check(index) }
        var rounds = 0
        while true {
            for index in devices.indices {
                while devices[index].replica.hasUnwritten {
                    let isRetry = devices[index].replica.isRetry
                    var batch = try devices[index].replica.nextBatch()
                    if isRetry {
                        batch = batch.removingCommitted(in: try devices[index].disk.catalog(prefix: "series/"))
                    }
                    try devices[index].disk.commit(batch)
                    devices[index].batchCommitted()
                }
                exchange(index, isCalm: true)
            }
            while !network.isEmpty { try deliver() }
            if isEqual { break }
            rounds += 1
            guard rounds < 2000 else { throw Violation(description: "after 2,000 calm rounds: \(account)") }
        }
        for index in devices.indices { try check(index) }
    }

    private var isEqual: Bool {
        let ends = devices.map { device in
            Dictionary(uniqueKeysWithValues: device.replica.extents.map { ($0.id, $0.next) })
        }
        let all = ends.reduce(into: [SeriesID: UInt64]()) { all, ends in all.merge(ends) { max($0, $1) } }
        return devices.indices.allSatisfy { device in
            !devices[device].replica.hasUnwritten
                && all.allSatisfy { ends[device][$0.key] == $0.value || isRemoved($0.key, by: device) }
        }
    }

    /// True if a device has removed its own series, and still holds as many newer samples as its retention allows.
    private func isRemoved(_ id: SeriesID, by device: Int) -> Bool {
        let extents = devices[device].replica.extents
        guard case .newest(let count) = retention, id.peerID == devices[device].name,
            !extents.contains(where: { $0.id == id })
        else { return false }
        return extents.filter { $0.id.peerID == id.peerID && $0.id.name == id.name }
            .reduce(0) { $0 + ($1.next - $1.first) } >= UInt64(count)
    }

    private var account: String {
        devices.map { device in
            device.name + ": "
                + device.replica.extents.map { "\($0.id.name) of \($0.id.peerID) \($0.first)..<\($0.next)" }
                .joined(separator: ", ")
        }.joined(separator: "; ")
    }

    /// Checks that a device has lost no written sample, and holds a gapless range of each series as it was recorded.
    private func check(_ device: Int) throws {
        let (replica, disk) = (devices[device].replica, devices[device].disk)
        let ends = Dictionary(uniqueKeysWithValues: replica.extents.map { ($0.id, $0.next) })
        for (id, end) in devices[device].settled where (ends[id] ?? 0) < end && !isRemoved(id, by: device) {
            throw Violation(
                description: "\(devices[device].name) lost samples of \(id) from \(ends[id] ?? 0) to \(end)")
        }
        for extent in replica.extents {
            let expected = recorded[extent.id] ?? []
            guard extent.next <= UInt64(expected.count), extent.first <= extent.next else {
                throw Violation(description: "\(devices[device].name) holds \(extent) of \(expected.count)")
            }
            // Unwritten samples can't be read yet.
            guard !replica.isRetry, !replica.hasUnwritten else { continue }
            var numbers: [Int] = []
            try extent.reading.forEachTable(in: Int64.min...Int64.max, of: disk) { table in
                let reader = SampleReader(table)
                for index in 0..<table.count { numbers.append(try reader.sample(index, as: Sample.self).number) }
            }
            guard numbers == Array(expected[Int(extent.first)..<Int(extent.next)]) else {
                throw Violation(
                    description: "\(devices[device].name) reads \(numbers.count) other samples of \(extent.id)")
            }
        }
    }
}
