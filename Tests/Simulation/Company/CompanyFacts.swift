/// What was heard of all members, in a normal form: a set of statements that only grows, as none of them is ever taken back.
///
/// A simulated device has one of its own. A search has one for all: whatever was ever said may arrive at any time, any number
/// of times, in any order, through anybody, or never.
struct CompanyFacts: Hashable {
    /// What one source has said.
    struct Voice: Hashable {
        var holdings: [Holding] = []
        var promises: [Promise] = []
        var answers: [Answer] = []
        var votes: [Cast] = []
    }

    struct Holding: Hashable {
        var view: Int
        var held: Counts
    }

    struct Promise: Hashable {
        var view: Int
        var promise: AuthorPromise

        /// Whether the other says nothing beyond this.
        fileprivate func implies(_ other: Promise, _ tellsViewsApart: Bool) -> Bool {
            (tellsViewsApart ? view == other.view : view <= other.view)
                && promise.sequence <= other.promise.sequence && promise.stamp >= other.promise.stamp
        }
    }

    /// To a ballot: said while it was the highest that the member had promised.
    struct Answer: Hashable {
        var view: Int
        var ballot: Ballot
        var accepted: Vote?
        /// What it held of the sources to close at first, and at last; in between it held everything in between.
        var heldFirst: Counts
        var heldLast: Counts
        var frozenStamp: Int
    }

    struct Cast: Hashable {
        var view: Int
        var vote: Vote
    }

    /// Whether something said again in a newer view says more: so it does where statements of older views do not count.
    private let tellsViewsApart: Bool
    private(set) var voices: [Voice] = []
    /// Views that somebody has installed, by number.
    private(set) var records: [CompanyView] = []
    /// Sources that want to join.
    private(set) var waiting: SmallSet = []

    init(for rules: CompanyRules) { tellsViewsApart = rules.breaks(.olderViewIgnored) }

    func voice(_ source: Int) -> Voice? { source < voices.count ? voices[source] : nil }
}

// MARK: - Hearing

extension CompanyFacts {
    mutating func hear(_ statement: CompanyStatement) {
        hear(record: statement.view)
        if statement.isWaiting { return waiting.insert(statement.source) }
        while voices.count <= statement.source { voices.append(Voice()) }
        let view = statement.view.number
        voices[statement.source].hear(view, holding: statement.held)
        voices[statement.source].hear(Promise(view: view, promise: statement.promise), tellsViewsApart)
        if let ballot = statement.ballot { voices[statement.source].hear(view, ballot, statement) }
        if let vote = statement.accepted { voices[statement.source].hear(Cast(view: view, vote: vote)) }
    }

    mutating func hear(record: CompanyView) {
        guard record.number > 0, !records.contains(record) else { return }
        records.append(record)
        records.sort { $1.supersedes($0) }
    }

    /// Forgets what nobody can use any more: no member is in a view below this one, and none will be.
    mutating func forget(below view: Int) {
        for source in voices.indices { voices[source].forget(below: view, tellsViewsApart) }
        records.removeAll { $0.number < view }
    }

    /// Forgets the answers to a ballot that nobody will propose under.
    mutating func forgetAnswers(where isDead: (_ view: Int, Ballot) -> Bool) {
        for source in voices.indices { voices[source].forgetAnswers(of: source, where: isDead) }
    }

    func mix(into fingerprint: inout Fingerprint) {
        for (source, voice) in voices.enumerated() {
            fingerprint.mix(source)
            voice.mix(into: &fingerprint)
        }
        for record in records { record.mix(into: &fingerprint) }
        fingerprint.mix(waiting.bits)
    }
}

extension CompanyFacts.Voice {
    fileprivate mutating func hear(_ view: Int, holding held: Counts) {
        guard let index = holdings.firstIndex(where: { $0.view == view }) else {
            return holdings.append(CompanyFacts.Holding(view: view, held: held))
        }
        holdings[index].held.formMaximum(held)
    }

    fileprivate mutating func hear(_ promise: CompanyFacts.Promise, _ tellsViewsApart: Bool) {
        if promises.contains(where: { $0.implies(promise, tellsViewsApart) }) { return }
        promises.removeAll { promise.implies($0, tellsViewsApart) }
        promises.append(promise)
    }

    fileprivate mutating func hear(_ view: Int, _ ballot: Ballot, _ statement: CompanyStatement) {
        var held = Counts()
        for source in ballot.closing { held[source] = statement.held[source] }
        guard let index = answers.firstIndex(where: { $0.view == view && $0.ballot == ballot }) else {
            return answers.append(
                CompanyFacts.Answer(
                    view: view, ballot: ballot, accepted: statement.accepted, heldFirst: held, heldLast: held,
                    frozenStamp: statement.promise.stamp))
        }
        // A vote under this very ballot follows the proposal, which these answers were for.
        answers[index].heldFirst.formMinimum(held)
        answers[index].heldLast.formMaximum(held)
    }

    fileprivate mutating func hear(_ cast: CompanyFacts.Cast) {
        if !votes.contains(cast) { votes.append(cast) }
    }

    fileprivate mutating func forget(below view: Int, _ tellsViewsApart: Bool) {
        answers.removeAll { $0.view < view }
        votes.removeAll { $0.view < view }
        // What was held then may still be told to others, so it stays.
        guard !tellsViewsApart else { return }
        let (oldHoldings, oldPromises) = (holdings, promises)
        guard oldHoldings.contains(where: { $0.view < view }) || oldPromises.contains(where: { $0.view < view }) else {
            return
        }
        (holdings, promises) = ([], [])
        for holding in oldHoldings { hear(max(view, holding.view), holding: holding.held) }
        for promise in oldPromises {
            hear(CompanyFacts.Promise(view: max(view, promise.view), promise: promise.promise), false)
        }
    }

    fileprivate mutating func forgetAnswers(of source: Int, where isDead: (_ view: Int, Ballot) -> Bool) {
        guard answers.contains(where: { isDead($0.view, $0.ballot) }) else { return }
        answers.removeAll { $0.ballot.proposer != source && isDead($0.view, $0.ballot) }
        for index in answers.indices where isDead(answers[index].view, answers[index].ballot) {
            // That there is such a ballot is still heard.
            answers[index].accepted = nil
            answers[index].heldFirst = Counts()
            answers[index].heldLast = Counts()
            answers[index].frozenStamp = 0
        }
    }

    fileprivate func mix(into fingerprint: inout Fingerprint) {
        for holding in holdings {
            fingerprint.mix(1 << 32 | holding.view)
            holding.held.mix(into: &fingerprint)
        }
        for promise in promises {
            fingerprint.mix(2 << 32 | promise.view)
            fingerprint.mix(promise.promise.sequence << 32 | promise.promise.stamp)
        }
        for answer in answers {
            fingerprint.mix(3 << 32 | answer.view)
            answer.ballot.mix(into: &fingerprint)
            answer.accepted?.mix(into: &fingerprint)
            answer.heldFirst.mix(into: &fingerprint)
            answer.heldLast.mix(into: &fingerprint)
            fingerprint.mix(answer.frozenStamp)
        }
        for cast in votes {
            fingerprint.mix(4 << 32 | cast.view)
            cast.vote.mix(into: &fingerprint)
        }
    }
}

// MARK: - Asking

extension CompanyFacts {
    func isHeld(_ source: Int, _ sequence: Int, by member: Int, in views: ClosedRange<Int>) -> Bool {
        voice(member)?.holdings.contains { views.contains($0.view) && $0.held[source] >= sequence } ?? false
    }

    /// How much of the source the member has ever held.
    func heldEver(_ source: Int, by member: Int) -> Int {
        voice(member)?.holdings.reduce(0) { Swift.max($0, $1.held[source]) } ?? 0
    }

    /// The highest stamp that the member has promised to one who holds that many of its events.
    func promisedStamp(of member: Int, holding sequence: Int, in views: ClosedRange<Int>) -> Int {
        guard let voice = voice(member) else { return 0 }
        var stamp = 0
        for said in voice.promises where views.contains(said.view) && said.promise.sequence <= sequence {
            stamp = Swift.max(stamp, said.promise.stamp)
        }
        return stamp
    }

    func answer(of member: Int, in view: Int, to ballot: Ballot) -> Answer? {
        voice(member)?.answers.first { $0.view == view && $0.ballot == ballot }
    }

    func hasVoted(_ member: Int, in view: Int, for vote: Vote) -> Bool {
        voice(member)?.votes.contains { $0.view == view && $0.vote == vote } ?? false
    }

    /// What their proposers, who promise first, have said of ballots in this view.
    func ballots(in view: Int) -> [Ballot] {
        var ballots: [Ballot] = []
        for (source, voice) in voices.enumerated() {
            for answer in voice.answers where answer.view == view && answer.ballot.proposer == source {
                ballots.append(answer.ballot)
            }
        }
        return ballots
    }

    /// Of all ballots that anybody has said to have promised in this view.
    func highestBallot(in view: Int) -> Ballot? {
        var highest: Ballot?
        for voice in voices {
            for answer in voice.answers where answer.view == view {
                highest = Swift.max(highest ?? answer.ballot, answer.ballot)
            }
        }
        return highest
    }
}
