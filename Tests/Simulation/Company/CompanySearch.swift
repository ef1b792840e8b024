/// How far a search goes. Everything else is exhausted: all orders, all losses, all doublings.
public struct CompanyBounds: Sendable, Encodable {
    /// Of the first view.
    public var members: Int
    /// Devices that wait to join.
    public var newcomers = 0
    /// Of all devices together, as everything below.
    public var taps: Int
    /// How often time passes without a tap.
    public var ticks = 0
    public var ballots: Int
    /// The number of the last view.
    public var views = 1
    /// Stores.
    public var losses = 0
    /// They matter to rules about persisting only.
    public var crashes = 0
    /// The search ends there, without having seen everything.
    public var statesMax = 4_000_000

    public init(members: Int, taps: Int, ballots: Int) {
        self.members = members
        self.taps = taps
        self.ballots = ballots
    }
}

/// Visits every state of a few members within bounds, breadth first, so that a violation comes with a shortest schedule.
struct CompanySearch {
    private let bounds: CompanyBounds
    private let mutations: Set<CompanyMutation>
    private var visited = Set<Fingerprint>()
    /// From which state each was reached, and by which of its steps.
    private var origins: [(parent: UInt32, step: UInt16)] = []
    private(set) var report: CompanySearchReport

    init(_ bounds: CompanyBounds, breaking mutations: Set<CompanyMutation>) {
        self.bounds = bounds
        self.mutations = mutations
        report = CompanySearchReport(bounds: bounds)
    }

    mutating func run(progress: (CompanySearchReport) -> Void = { _ in }) {
        let start = ContinuousClock.now
        let first = CompanyState(bounds, breaking: mutations)
        visited.insert(first.fingerprint)
        origins.append((0, 0))
        count(first)
        var frontier: [(state: CompanyState, index: UInt32)] = [(first, 0)]
        while !frontier.isEmpty, report.violation == nil, report.isComplete {
            report.depth += 1
            var next: [(state: CompanyState, index: UInt32)] = []
            for (state, index) in frontier {
                expand(state, index, into: &next)
                if report.violation != nil || !report.isComplete { break }
            }
            frontier = next
            report.wallSeconds = start.duration(to: .now) / .seconds(1)
            progress(report)
        }
        report.wallSeconds = start.duration(to: .now) / .seconds(1)
    }

    private mutating func expand(
        _ state: CompanyState, _ index: UInt32, into next: inout [(state: CompanyState, index: UInt32)]
    ) {
        let steps = state.steps(bounds)
        if steps.isEmpty { report.ends += 1 }
        for (number, step) in steps.enumerated() {
            let following: CompanyState
            do {
                following = try state.after(step)
            } catch {
                report.violation = CompanySearchReport.Violation(
                    reason: error.description, steps: schedule(to: index) + [step.text(in: state)])
                return
            }
            report.transitions += 1
            guard visited.insert(following.fingerprint).inserted else { continue }
            origins.append((index, UInt16(number)))
            next.append((following, UInt32(origins.count - 1)))
            count(following)
        }
        if report.states >= bounds.statesMax { report.isComplete = false }
    }

    private mutating func count(_ state: CompanyState) {
        report.states += 1
        if state.newestView > 0 { report.statesAfterFirstView += 1 }
        if !state.stream.isEmpty { report.statesWithConfirmed += 1 }
        report.confirmedMost = max(report.confirmedMost, state.stream.count)
    }

    /// Plays the steps again.
    private func schedule(to index: UInt32) -> [String] {
        var numbers: [UInt16] = []
        var current = index
        while current > 0 {
            numbers.append(origins[Int(current)].step)
            current = origins[Int(current)].parent
        }
        var state = CompanyState(bounds, breaking: mutations)
        return numbers.reversed().map { number in
            let step = state.steps(bounds)[Int(number)]
            defer { if let next = try? state.after(step) { state = next } }
            return step.text(in: state)
        }
    }
}

/// What a search has seen.
public struct CompanySearchReport: Sendable, Encodable {
    public struct Violation: Sendable, Encodable {
        public let reason: String
        /// As few as possible.
        public let steps: [String]
    }

    public let bounds: CompanyBounds
    public internal(set) var states = 0
    public internal(set) var transitions = 0
    /// How many steps the farthest state is away.
    public internal(set) var depth = 0
    /// States in which nothing is left to do within the bounds.
    public internal(set) var ends = 0
    public internal(set) var statesAfterFirstView = 0
    public internal(set) var statesWithConfirmed = 0
    public internal(set) var confirmedMost = 0
    /// False when `CompanyBounds/statesMax` ended it.
    public internal(set) var isComplete = true
    public internal(set) var violation: Violation?
    public internal(set) var wallSeconds = 0.0
}
