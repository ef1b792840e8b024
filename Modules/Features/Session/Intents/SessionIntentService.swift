import Foundation
import MeshBase
public import MeshEngine
import MeshIdentity
import MeshTransport

/// A device that does what others ask of it: made by `SyncedSession.serve`, and at work as long as it is held.
///
/// **At most once.** The intent names this device. That it begins is written, as an event of the session, before the handler
/// runs; after a crash or a relaunch what was begun is told as `interrupted` and not begun again. A session without a store
/// is another device after a relaunch, and does nothing that was asked of the one before.
///
/// **The owner** is asked by `ask`. Each device that serves becomes it where there is none, or where the group has gone on
/// without it: the first in the order does. Of devices that never met, each has its own until they meet.
///
/// Lives on the main actor.
@MainActor
public final class SessionIntentService<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable & SessionIntentState, Event: Codable & Sendable & SessionIntentEvent,
    State.Intent == Event.Intent, State.Answer == Event.Answer
{
    /// The session that the intents are asked in.
    public typealias Session = SyncedSession<State, Event, Reducer, ConflictPolicy>
    /// An intent, as the handler is given it.
    public typealias Entry = SessionIntent<State.Intent, State.Answer>

    /// The session that is served.
    public let session: Session
    private let handler: @MainActor (Entry) async throws -> State.Answer
    /// Last said, so that it is said once.
    private var claimedTerm: UInt64 = 0
    /// What this process has taken up, whatever the state shows of it.
    private var takenUp: Set<UUID> = []
    private var isDoing = false
    private let listener = OwnedTasks()
    private let work = OwnedTasks()

    init(_ session: Session, _ handler: @escaping @MainActor (Entry) async throws -> State.Answer) {
        self.session = session
        self.handler = handler
        let changes = session.changes()
        listener.hold([Task { [weak self] in for await _ in changes { self?.look() } }])
        look()
    }

    /// Whether this device is the one that `ask` asks.
    public var isOwner: Bool { session.state.intents.owner == session.source }

    /// Becomes the owner in place of the one that is. What that one has been asked stays with it. Where several take over at
    /// once, the first in the order is the owner.
    /// - Throws: what `SyncedSession.submit` throws.
    public func takeOver() throws {
        guard !isOwner else { return }
        try claim()
    }

    private func claim() throws {
        let (term, overflows) = session.state.intents.term.addingReportingOverflow(1)
        guard !overflows else { return }
        try session.submit(.intents(.takeOver(term: term)))
        claimedTerm = term
    }

    private func look() {
        guard session.phase != .closed, session.showsEverything else { return }
        if isOwnerMissing, claimedTerm != session.state.intents.term &+ 1 { try? claim() }
        if session.phase == .running { doNext() }
    }

    private var isOwnerMissing: Bool {
        // Whoever waits to be taken in has no say in who owns what is there.
        if session.configuration.waitsForInvitation, !session.isMember { return false }
        guard let owner = session.state.intents.owner else { return true }
        if owner.peerID == session.source.peerID { return owner != session.source }
        return !session.isPresent(owner)
    }

    // MARK: - Doing

    private func doNext() {
        guard !isDoing else { return }
        let entries = session.state.intents.entries
        let next = entries.first { entry in
            entry.isOpen && entry.designated.peerID == session.source.peerID && !takenUp.contains(entry.id)
        }
        guard let next else { return }
        takenUp.formIntersection(entries.map(\.id))
        takenUp.insert(next.id)
        isDoing = true
        work.hold([
            Task { [weak self] in
                await self?.perform(next)
                self?.isDoing = false
                self?.look()
            }
        ])
    }

    private func perform(_ entry: Entry) async {
        // Of an earlier process, or an earlier life, nobody knows how far it has come.
        guard entry.designated == session.source, case .asked = entry.progress else {
            return await settle(entry, .interrupted)
        }
        // Further from the moment of asking than its age allows, in either direction, a clock was set: the age is unknown.
        let age = entry.lapsesAt.timeIntervalSince(entry.askedAt)
        guard abs(session.now.timeIntervalSince(entry.askedAt)) <= age else { return await settle(entry, .lapsed) }
        guard await hasBegun(entry) else { return }
        do {
            let answer = try await handler(entry)
            await settle(entry, .answered(answer))
        } catch is CancellationError {
            await settle(entry, .interrupted)
        } catch {
            let text = String(error.shownText.prefix(SessionIntents<State.Intent, State.Answer>.errorTextMax))
            await settle(entry, .failed(text))
        }
    }

    /// - Returns: once it is in the store that it begins; false where the asker does not want it any more.
    private func hasBegun(_ entry: Entry) async -> Bool {
        guard let envelope = await submitted(.begin(id: entry.id)) else { return false }
        while session.delivery(of: envelope).step == .submitted || !session.showsEverything {
            await session.drained()
            guard session.phase != .closed else { return false }
            // Stopped, or its store refuses: a session tries again with each exchange.
            if session.delivery(of: envelope).step == .submitted {
                try? await session.configuration.wait(session.configuration.exchangeInterval)
            }
            await Task.yield()
        }
        if case .begun? = session.state.intents[entry.id]?.progress { return true }
        return false
    }

    private func settle(_ entry: Entry, _ outcome: SessionIntentOutcome<State.Answer>) async {
        _ = await submitted(.settle(id: entry.id, outcome))
    }

    /// Waits for room. nil where nothing is taken any more.
    private func submitted(
        _ step: SessionIntentStep<State.Intent, State.Answer>
    ) async -> SessionSyncEnvelope<Event>? {
        while session.phase != .closed {
            do {
                return try session.submit(.intents(step))
            } catch SessionSyncError.queueFull, SessionSyncError.logFull {
                guard (try? await session.waitForRoom()) != nil else { return nil }
            } catch {
                return nil
            }
        }
        return nil
    }
}
