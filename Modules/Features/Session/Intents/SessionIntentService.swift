import Foundation
import MeshBase
public import MeshEngine
import MeshIdentity
import MeshTransport

/// A service that carries out the intents asked of this device. Created by `SyncedSession.serve`; works while held.
///
/// **At most once.** An intent names one device. That device records its start in an event before the handler runs.
/// After a crash or a relaunch it settles a begun intent as `interrupted` and doesn't run it again. Without a store, a
/// relaunched device has another incarnation, and settles intents asked of the earlier one as `interrupted`. If a
/// session has several services, one of them carries out an intent.
///
/// **The owner** is the device that `ask` asks. If there is no owner, or the owner has left the group, every serving
/// device claims ownership, and the first claim in the order wins. Devices that have never met have an owner each.
///
/// Lives on the main actor.
@MainActor
public final class SessionIntentService<State, Event, Reducer, ConflictPolicy>
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable & SessionIntentState, Event: Codable & Sendable & SessionIntentEvent,
    State.Intent == Event.Intent, State.Answer == Event.Answer
{
    /// The type of the session in which intents are asked.
    public typealias Session = SyncedSession<State, Event, Reducer, ConflictPolicy>
    /// An intent, as passed to the handler.
    public typealias Entry = SessionIntent<State.Intent, State.Answer>

    /// The session that is served.
    public let session: Session
    private let handler: @MainActor (Entry) async throws -> State.Answer
    /// The last term that this device has claimed, so that it claims no term twice.
    private var claimedTerm: UInt64 = 0
    private var isPerforming = false
    private let listener = OwnedTasks()
    private let work = OwnedTasks()

    init(_ session: Session, _ handler: @escaping @MainActor (Entry) async throws -> State.Answer) {
        self.session = session
        self.handler = handler
        let changes = session.changes()
        listener.hold([Task { [weak self] in for await _ in changes { self?.update() } }])
        update()
    }

    /// True if this device is the one that `ask` asks.
    public var isOwner: Bool { session.state.intents.owner == session.source }

    /// Makes this device the owner. Intents that were asked of the earlier owner stay with it. If several devices take
    /// over at once, the first in the order becomes the owner.
    /// - Throws: the errors of `SyncedSession.submit`.
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

    private func update() {
        guard session.phase != .closed, session.showsEverything else { return }
        if isOwnerMissing, claimedTerm != session.state.intents.term &+ 1 { try? claim() }
        if session.phase == .running { performNext() }
    }

    private var isOwnerMissing: Bool {
        // A device that waits to be admitted doesn't decide on the owner of a session it hasn't joined.
        if session.configuration.waitsForInvitation, !session.isMember { return false }
        guard let owner = session.state.intents.owner else { return true }
        if owner.peerID == session.source.peerID { return owner != session.source }
        return !session.isPresent(owner)
    }

    // MARK: - Performing

    private func performNext() {
        guard !isPerforming else { return }
        let next = session.state.intents.entries.first { entry in
            entry.isOpen && entry.designated.peerID == session.source.peerID
                && !session.startedIntentIDs.contains(entry.id)
        }
        guard let next else { return }
        isPerforming = true
        work.hold([
            Task { [weak self] in
                await self?.perform(next)
                self?.isPerforming = false
                self?.update()
            }
        ])
    }

    private func perform(_ entry: Entry) async {
        // Another service of this session may have started it since, and may still be running it.
        session.startedIntentIDs.formIntersection(session.state.intents.entries.map(\.id))
        guard session.startedIntentIDs.insert(entry.id).inserted else { return }
        // An earlier process or incarnation may have begun it, with unknown outcome.
        guard entry.designated == session.source, case .asked = entry.progress else {
            return await settle(entry, .interrupted)
        }
        // Don't begin too late. If the intent seems to come from the future, a clock was set and its age is unknown.
        let age = entry.lapsesAt.timeIntervalSince(entry.askedAt)
        guard abs(session.now.timeIntervalSince(entry.askedAt)) <= age else { return await settle(entry, .lapsed) }
        guard await recordBeginning(of: entry) else { return }
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

    /// Returns true once the store has this device's beginning; false if the asker has withdrawn the intent, or the
    /// session accepts no more events.
    private func recordBeginning(of entry: Entry) async -> Bool {
        guard let envelope = await submitWhenPossible(.begin(id: entry.id)) else { return false }
        while session.delivery(of: envelope).step == .submitted || !session.showsEverything {
            await session.waitUntilDrained()
            guard session.phase != .closed else { return false }
            // The session is stopped, or its store fails. It tries the store again with each exchange.
            if session.delivery(of: envelope).step == .submitted {
                try? await session.configuration.wait(session.configuration.exchangeInterval)
            }
            await Task.yield()
        }
        if case .begun? = session.state.intents[entry.id]?.progress { return true }
        return false
    }

    private func settle(_ entry: Entry, _ outcome: SessionIntentOutcome<State.Answer>) async {
        _ = await submitWhenPossible(.settle(id: entry.id, outcome))
    }

    /// Submits a step, and waits for room if necessary. Returns nil if the session accepts no more events.
    private func submitWhenPossible(
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
