import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import Testing

@testable import MeshFileTransfer

@MainActor @Suite struct FaultTests {
    // MARK: W8

    private func complaint(about transfer: some TransferRule, waiters: Int) async -> String? {
        let tasks = (0..<waiters).map { number in
            Task { () -> String? in
                do {
                    try await transfer.waitForCompletion()
                    return nil
                } catch {
                    return "waiter \(number) got \(error)"
                }
            }
        }
        for _ in 0..<100 { await Task.yield() }
        transfer.succeed()
        for task in tasks {
            if let complaint = await task.value { return complaint }
        }
        do {
            try await transfer.waitForCompletion()
            return nil
        } catch {
            return "the late waiter got \(error)"
        }
    }

    @Test(arguments: [0, 1, 2, 50]) func `W8 any number may wait for completion`(waiters: Int) async {
        #expect(await complaint(about: FileTransfer.sample(), waiters: waiters) == nil)
        if waiters > 1 { #expect(await complaint(about: FaultyTransfer(), waiters: waiters) != nil) }
    }

    @Test func `W8 every waiter gets the error, and a cancelled one stops waiting by itself`() async {
        let transfer = FileTransfer.sample()
        let patient = (0..<3).map { _ in Task { try await transfer.waitForCompletion() } }
        let impatient = Task { try await transfer.waitForCompletion() }
        for _ in 0..<50 { await Task.yield() }
        impatient.cancel()
        await #expect(throws: ConnectionError.cancelled) { try await impatient.value }
        #expect(transfer.isTransferring)
        transfer.end(.failed(.insufficientSpace))
        for task in patient { await #expect(throws: ConnectionError.insufficientSpace) { try await task.value } }
    }

    // MARK: W19

    private enum Step: CaseIterable { case cancel, succeed }

    /// For any calls in any order, only the first end shows.
    private func complaint(_ make: () -> any TransferRule) -> String? {
        for first in Step.allCases {
            for second in Step.allCases {
                let transfer = make()
                for step in [first, second] {
                    switch step {
                    case .cancel: transfer.cancel()
                    case .succeed: transfer.succeed()
                    }
                }
                if transfer.isCompleted != (first == .succeed) || (transfer.error != nil) != (first == .cancel) {
                    return "\(first), \(second): completed \(transfer.isCompleted), error \(transfer.error as Any)"
                }
            }
        }
        return nil
    }

    @Test func `W19 a transfer ends once, even if it is cancelled several times`() {
        #expect(complaint { FileTransfer.sample() } == nil)
        #expect(complaint { FaultyTransfer() } != nil)
        var cancelCount = 0
        let transfer = FileTransfer.sample { cancelCount += 1 }
        transfer.cancel()
        transfer.cancel()
        #expect(cancelCount == 1)
        #expect(transfer.error == .cancelled)
        #expect(!transfer.isTransferring)
        let done = FileTransfer.sample { cancelCount += 1 }
        done.succeed()
        done.cancel()
        #expect(cancelCount == 1)
        #expect(done.isCompleted && done.error == nil && done.fractionCompleted == 1)
    }

    @Test func `W19 cancelling what has completed changes nothing on either side`() async throws {
        let pair = try TestPair(seed: 2)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 1000))
        await pair.settle { !transfer.isTransferring }
        transfer.cancel()
        pair.phone.files?.cancelAllFileTransfers()
        await pair.settle(steps: 20)
        #expect(transfer.isCompleted && transfer.error == nil)
        #expect(pair.watch.imports == ["a.txt": 1])
    }

    // MARK: W18

    /// A platform deletes its file when its callback returns. Even so, the app must be able to read the file.
    private func complaint(
        _ platform: TestPlatform, _ observer: any FileCarrierObserver, read: () -> Data??, settle: () async -> Void
    ) async -> String? {
        platform.deliver(to: observer)
        await settle()
        guard let content = read() else { return "the handler has not been called" }
        return content == nil ? "the file was gone when the handler ran" : nil
    }

    @Test func `W18 a file belongs to the receiver before its handler runs`() async throws {
        let pair = try TestPair(seed: 3)
        let platform = TestPlatform(root: pair.root)
        let (near, far) = (TestCarrier(platform), TestCarrier(platform))
        pair.phone.carrier = near
        pair.watch.carrier = far
        try pair.phone.launch()
        try pair.watch.launch()
        let url = try pair.makeFile("track.gpx", bytes: 5000)
        let transfer = try await pair.begin(url)
        let observer = try #require(far.current)
        let problem = await complaint(
            platform, observer, read: { pair.watch.contents["track.gpx"].map(Optional.some) },
            settle: { await pair.settle { !pair.watch.contents.isEmpty } })
        #expect(problem == nil)
        #expect(try pair.watch.contents["track.gpx"] == Data(contentsOf: url))
        await pair.settle { transfer.isCompleted }
        #expect(transfer.isCompleted)

        var seen: Data??
        let faulty = FaultyCourier { url in seen = .some(try? Data(contentsOf: url)) }
        try platform.take(url, UUID(), Data())
        let complaint = await complaint(
            platform, faulty, read: { seen }, settle: { for _ in 0..<100 { await Task.yield() } })
        #expect(complaint != nil)
    }

    @Test func `W18 a file that the app hasn't taken is offered at each launch, and acknowledged only once taken`()
        async throws
    {
        let pair = try TestPair(seed: 4)
        pair.watch.importsFiles = false
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 20_000))
        await pair.settle { transfer.fractionCompleted == 1 }
        for _ in 0..<2 {
            await pair.settle(steps: 300)
            #expect(transfer.isTransferring)
            #expect(pair.watch.imports.isEmpty)
            await pair.watch.crash()
            try pair.watch.launch()
        }
        pair.watch.importsFiles = true
        await pair.watch.crash()
        try pair.watch.launch()
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.txt": 1])
    }
}
