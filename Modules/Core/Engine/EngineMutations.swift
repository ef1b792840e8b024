/// Deliberate mistakes, each at one line of one rule. A simulation that does not find one of them proves nothing.
@usableFromInline
package struct EngineMutations: OptionSet, Sendable, Hashable {
    @usableFromInline package let rawValue: UInt64

    @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }
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
        ("confirmByAny", .confirmByAny, "one acknowledgement is enough to confirm"),
        ("orderByArrival", .orderByArrival, "equal milliseconds keep the order of arrival"),
        ("clockDeaf", .clockDeaf, "the clock does not observe remote stamps"),
        ("unboundedNumbers", .unboundedNumbers, "a peer's numbers are taken as they come"),
        ("strangersHeard", .strangersHeard, "who is no member has a say"),
        ("anyStamp", .anyStamp, "the clock follows every stamp that is not refused"),
        ("duplicateWhenShown", .duplicateWhenShown, "an event that ends a peer's shown state is a duplicate"),
        ("relaunchForgets", .relaunchForgets, "a shown state goes although its events are not held"),
        ("foldsReference", .foldsReference, "a group folds what is unconfirmed when nothing ticks"),
        ("sourcesKept", .sourcesKept, "earlier lives of a peer are never forgotten"),
        ("deadGapKept", .deadGapKept, "a gap of who is no member stays missing"),
    ]

    @inlinable package static var confirmAtCut: EngineMutations { EngineMutations(rawValue: 1 << 0) }
    @inlinable package static var eagerCut: EngineMutations { EngineMutations(rawValue: 1 << 1) }
    @inlinable package static var promiseUnheld: EngineMutations { EngineMutations(rawValue: 1 << 2) }
    @inlinable package static var sealOnSight: EngineMutations { EngineMutations(rawValue: 1 << 3) }
    @inlinable package static var foldAtCut: EngineMutations { EngineMutations(rawValue: 1 << 4) }
    @inlinable package static var sendBeforePersist: EngineMutations { EngineMutations(rawValue: 1 << 5) }
    @inlinable package static var clockForgotten: EngineMutations { EngineMutations(rawValue: 1 << 6) }
    @inlinable package static var promiseUnpersisted: EngineMutations { EngineMutations(rawValue: 1 << 7) }
    @inlinable package static var adoptLoses: EngineMutations { EngineMutations(rawValue: 1 << 8) }
    @inlinable package static var reissueNewIDs: EngineMutations { EngineMutations(rawValue: 1 << 9) }
    @inlinable package static var keepStamps: EngineMutations { EngineMutations(rawValue: 1 << 10) }
    @inlinable package static var copyVector: EngineMutations { EngineMutations(rawValue: 1 << 11) }
    @inlinable package static var snapshotAsBase: EngineMutations { EngineMutations(rawValue: 1 << 12) }
    @inlinable package static var policyRemoteOnly: EngineMutations { EngineMutations(rawValue: 1 << 13) }
    @inlinable package static var policyFrozen: EngineMutations { EngineMutations(rawValue: 1 << 14) }
    @inlinable package static var noReplay: EngineMutations { EngineMutations(rawValue: 1 << 15) }
    @inlinable package static var tokensKept: EngineMutations { EngineMutations(rawValue: 1 << 16) }
    @inlinable package static var floorlessReplace: EngineMutations { EngineMutations(rawValue: 1 << 17) }
    @inlinable package static var noToken: EngineMutations { EngineMutations(rawValue: 1 << 18) }
    @inlinable package static var lateOld: EngineMutations { EngineMutations(rawValue: 1 << 19) }
    @inlinable package static var bothFound: EngineMutations { EngineMutations(rawValue: 1 << 20) }
    @inlinable package static var silentDrop: EngineMutations { EngineMutations(rawValue: 1 << 21) }
    @inlinable package static var reissueCovered: EngineMutations { EngineMutations(rawValue: 1 << 22) }
    @inlinable package static var gapHeld: EngineMutations { EngineMutations(rawValue: 1 << 23) }
    @inlinable package static var rangeIgnored: EngineMutations { EngineMutations(rawValue: 1 << 24) }
    @inlinable package static var confirmByAny: EngineMutations { EngineMutations(rawValue: 1 << 25) }
    @inlinable package static var orderByArrival: EngineMutations { EngineMutations(rawValue: 1 << 26) }
    @inlinable package static var clockDeaf: EngineMutations { EngineMutations(rawValue: 1 << 27) }
    @inlinable package static var unboundedNumbers: EngineMutations { EngineMutations(rawValue: 1 << 28) }
    @inlinable package static var strangersHeard: EngineMutations { EngineMutations(rawValue: 1 << 29) }
    @inlinable package static var anyStamp: EngineMutations { EngineMutations(rawValue: 1 << 30) }
    @inlinable package static var duplicateWhenShown: EngineMutations { EngineMutations(rawValue: 1 << 31) }
    @inlinable package static var relaunchForgets: EngineMutations { EngineMutations(rawValue: 1 << 32) }
    @inlinable package static var foldsReference: EngineMutations { EngineMutations(rawValue: 1 << 33) }
    @inlinable package static var sourcesKept: EngineMutations { EngineMutations(rawValue: 1 << 34) }
    @inlinable package static var deadGapKept: EngineMutations { EngineMutations(rawValue: 1 << 35) }
}
