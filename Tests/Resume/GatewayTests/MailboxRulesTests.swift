import MeshBase
import MeshMailbox
import Testing

@testable import MeshResumeGateway

/// A store with one rule broken.
private struct BrokenMailboxStore: MailboxStore {
    enum Fault: String, CaseIterable {
        case forgetsValues = "mailbox-values"
        case sharesNothing = "mailbox-share"
        case appendsAll = "mailbox-queue-share"
        case losesAtRefusal = "mailbox-refusal"
        case keepsWhoIsNotAdmitted = "mailbox-admitted"
        /// Earlier gateways looked first and then wrote.
        case looksThenWrites = "mailbox-enrol"
        case keepsRemoved = "mailbox-remove"
    }

    let whole: MemoryMailboxStore
    let fault: Fault
    let enrolled = Locked<[String: Set<String>]>([:])

    func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        await whole.append(event, to: stream)
    }
    func standing(of stream: String) async -> ReplayStanding { await whole.standing(of: stream) }
    func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        await whole.page(of: stream, after: position, limit: limit)
    }
    func notices() -> AsyncStream<ReplayNotice> { whole.notices() }
    func values(_ names: [String]?, of stream: String) async -> [String: [UInt8]] {
        await whole.values(names, of: stream)
    }
    func pass(_ bytes: [UInt8], to stream: String) async { await whole.pass(bytes, to: stream) }
    func words() -> AsyncStream<MailboxWord> { whole.words() }

    func set(_ value: [UInt8], _ name: String, of stream: String) async -> Bool {
        switch fault {
        case .forgetsValues where name == "b": true
        case .keepsWhoIsNotAdmitted where name == "admitted": await whole.set(value, "said", of: stream)
        case .sharesNothing: await whole.set(value, name.replacing("latest/", with: "other/"), of: stream)
        default: await whole.set(value, name, of: stream)
        }
    }

    func post(_ event: ReplayEvent, from sender: String, to stream: String) async -> Bool {
        guard fault != .appendsAll else {
            _ = await whole.append(event, to: stream)
            return true
        }
        let isAccepted = await whole.post(event, from: sender, to: stream)
        if !isAccepted, fault == .losesAtRefusal { await whole.remove(stream, of: "another") }
        return isAccepted
    }

    func enrol(_ mailbox: String, of user: String, max: Int) async -> Bool {
        guard fault == .looksThenWrites else { return await whole.enrol(mailbox, of: user, max: max) }
        let isFree = enrolled.withLock { ($0[user]?.count ?? 0) < max }
        await Task.yield()
        _ = enrolled.withLock { $0[user, default: []].insert(mailbox) }
        return isFree
    }

    func remove(_ mailbox: String, of user: String) async {
        guard fault == .keepsRemoved else { return await whole.remove(mailbox, of: user) }
        await whole.remove("another", of: user)
        _ = await whole.set([], MailboxValue.removed, of: mailbox)
    }
}

@Suite struct MailboxRulesTests {
    private static func subject(
        _ limits: ReplayLimits, _ fault: BrokenMailboxStore.Fault? = nil
    ) -> ReplayBufferRules.Subject {
        let time = MovableTime()
        let whole = MemoryMailboxStore(limits, seed: 1, now: { time.now })
        let store: any MailboxStore = fault.map { BrokenMailboxStore(whole: whole, fault: $0) } ?? whole
        return ReplayBufferRules.Subject(
            first: store, second: store, pass: { time.pass($0) }, lose: { whole.lose() })
    }

    @Test(arguments: (ReplayBufferRules.all + MailboxStoreRules.all).map(\.id))
    func `The store in memory keeps every rule`(id: String) async throws {
        let rule = try #require((ReplayBufferRules.all + MailboxStoreRules.all).first { $0.id == id })
        #expect(try await rule.examine { Self.subject($0) } == nil)
    }

    @Test(arguments: MailboxStoreRules.all.map(\.id))
    func `Each rule detects a store that breaks it`(id: String) async throws {
        let rule = try #require(MailboxStoreRules.all.first { $0.id == id })
        let fault = try #require(BrokenMailboxStore.Fault(rawValue: id), "no broken store for \(id)")
        #expect(try await rule.examine { Self.subject($0, fault) } != nil)
    }

    @Test func `A full store rejects new users, and a user's new mailbox replaces the user's own`() async {
        let time = MovableTime()
        let store = MemoryMailboxStore(ReplayLimits(streams: 3), seed: 1, now: { time.now })
        for mailbox in ["a", "b"] {
            #expect(await store.enrol(mailbox, of: "anna", max: 64))
            #expect(await store.set([1], "presence", of: mailbox))
            time.pass(.seconds(1))
        }
        #expect(await store.enrol("c", of: "eve", max: 64))
        #expect(await !store.enrol("d", of: "stranger", max: 64))
        #expect(await !store.set([1], "presence", of: "d"))
        // Eve's second mailbox replaces her first, and no other user's.
        #expect(await store.enrol("e", of: "eve", max: 64))
        for mailbox in ["a", "b"] { #expect(await store.values(nil, of: mailbox) == ["presence": [1]]) }
        // A mailbox that has been unopened for long makes space.
        time.pass(MailboxBounds.idle + .seconds(1))
        #expect(await store.enrol("a", of: "anna", max: 64))
        #expect(await store.enrol("d", of: "stranger", max: 64))
        #expect(await store.values(nil, of: "a") == ["presence": [1]])
        #expect(await store.values(nil, of: "b") == [:])
    }
}
