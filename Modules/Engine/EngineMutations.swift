/// Deliberate mistakes, each at one line of one rule. A simulation that does not find one of them proves nothing.
package struct EngineMutations: OptionSet, Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

extension EngineMutations {
    /// Name, switch and meaning of each.
    package static let all: [(name: String, mutation: EngineMutations, meaning: String)] = [
        ("confirmAtCut", .confirmAtCut, "confirm below the cut without acknowledgements"),
        ("eagerCut", .eagerCut, "the cut is the own clock"),
        ("promiseUnheld", .promiseUnheld, "a promise counts before 1…n are held"),
        ("sealOnSight", .sealOnSight, "any first message seals"),
        ("foldAtCut", .foldAtCut, "the base passes the confirmed position up to the cut"),
        ("sendBeforePersist", .sendBeforePersist, "directives ask to send but not to persist"),
        ("clockForgotten", .clockForgotten, "a relaunch restores the log but not the clock"),
        ("promiseUnpersisted", .promiseUnpersisted, "a promise above the persisted lease is sent"),
        ("adoptLoses", .adoptLoses, "adopting drops own provisional events"),
        ("reissueNewIDs", .reissueNewIDs, "re-issue draws new event ids"),
        ("keepStamps", .keepStamps, "a newcomer keeps the stamps from before it joined"),
        ("copyVector", .copyVector, "a remote vector is taken over"),
        ("snapshotAsBase", .snapshotAsBase, "a state-only snapshot becomes the base"),
        ("policyRemoteOnly", .policyRemoteOnly, "the policy skips local events"),
        ("policyFrozen", .policyFrozen, "the policy's first decision is kept"),
        ("noReplay", .noReplay, "a late event applies at the end"),
        ("tokensKept", .tokensKept, "founding keeps the tokens of other sources"),
        ("floorlessReplace", .floorlessReplace, "an unsealed founder replaces without a join floor"),
        ("noToken", .noToken, "replace on sight of an unknown incarnation"),
        ("lateOld", .lateOld, "events of a closed source still enter"),
        ("bothFound", .bothFound, "the higher peer id founds too"),
        ("silentDrop", .silentDrop, "at the bound the oldest own event is dropped"),
        ("reissueCovered", .reissueCovered, "re-issue without looking at ids"),
        ("gapHeld", .gapHeld, "a buffered event counts as held"),
        ("rangeIgnored", .rangeIgnored, "range requests are not answered"),
        ("confirmUnordered", .confirmUnordered, "confirmation skips over an event that waits"),
        ("orderByArrival", .orderByArrival, "equal milliseconds keep the order of arrival"),
        ("clockDeaf", .clockDeaf, "the clock does not observe remote stamps"),
    ]

    package static let confirmAtCut = EngineMutations(rawValue: 1 << 0)
    package static let eagerCut = EngineMutations(rawValue: 1 << 1)
    package static let promiseUnheld = EngineMutations(rawValue: 1 << 2)
    package static let sealOnSight = EngineMutations(rawValue: 1 << 3)
    package static let foldAtCut = EngineMutations(rawValue: 1 << 4)
    package static let sendBeforePersist = EngineMutations(rawValue: 1 << 5)
    package static let clockForgotten = EngineMutations(rawValue: 1 << 6)
    package static let promiseUnpersisted = EngineMutations(rawValue: 1 << 7)
    package static let adoptLoses = EngineMutations(rawValue: 1 << 8)
    package static let reissueNewIDs = EngineMutations(rawValue: 1 << 9)
    package static let keepStamps = EngineMutations(rawValue: 1 << 10)
    package static let copyVector = EngineMutations(rawValue: 1 << 11)
    package static let snapshotAsBase = EngineMutations(rawValue: 1 << 12)
    package static let policyRemoteOnly = EngineMutations(rawValue: 1 << 13)
    package static let policyFrozen = EngineMutations(rawValue: 1 << 14)
    package static let noReplay = EngineMutations(rawValue: 1 << 15)
    package static let tokensKept = EngineMutations(rawValue: 1 << 16)
    package static let floorlessReplace = EngineMutations(rawValue: 1 << 17)
    package static let noToken = EngineMutations(rawValue: 1 << 18)
    package static let lateOld = EngineMutations(rawValue: 1 << 19)
    package static let bothFound = EngineMutations(rawValue: 1 << 20)
    package static let silentDrop = EngineMutations(rawValue: 1 << 21)
    package static let reissueCovered = EngineMutations(rawValue: 1 << 22)
    package static let gapHeld = EngineMutations(rawValue: 1 << 23)
    package static let rangeIgnored = EngineMutations(rawValue: 1 << 24)
    package static let confirmUnordered = EngineMutations(rawValue: 1 << 25)
    package static let orderByArrival = EngineMutations(rawValue: 1 << 26)
    package static let clockDeaf = EngineMutations(rawValue: 1 << 27)
}
