#if MQTT || WebSocket
    package import MeshBase

    /// The pauses between a client's connections to a relay, and whether another device has its identity.
    ///
    /// A relay gives a client's place to the newest connection with its identity: the older one is *replaced*. Two devices with
    /// one identity, such as a backup that was restored on a second device, take the place from each other without end. So the
    /// pause doubles with each replacement, and begins anew only once a connection has outlasted the longest pause of another
    /// device.
    package struct RelayPauses: Sendable {
        /// After so many replacements one after another, another device has this one's identity. One alone can be a process of
        /// this device that was just launched.
        package static let clonedAfter = 2
        /// A connection of this length ends a series of failures.
        private static let steady = Duration.seconds(5)
        private static let longestAfterReplacement = Duration.seconds(300)

        private var failures: Backoff
        private var replacements = Backoff(from: .seconds(2), to: Self.longestAfterReplacement)
        private var replacedCount = 0

        /// - Parameters:
        ///   - shortest: the pause after the first failure, which is shortened at random by up to half.
        ///   - longest: where doubling ends.
        package init(from shortest: Duration, to longest: Duration) { failures = Backoff(from: shortest, to: longest) }

        /// Whether another device has this one's identity.
        package var isCloned: Bool { replacedCount >= Self.clonedAfter }

        /// Notes how a connection has ended.
        ///
        /// - Parameter lifetime: nil if there was none.
        /// - Returns: the pause before the next one.
        package mutating func next(
            after lifetime: Duration?, isReplaced: Bool, _ random: inout SplitMix64
        ) -> Duration {
            if let lifetime, lifetime > Self.longestAfterReplacement * 2 {
                replacedCount = 0
                replacements.reset()
            }
            if let lifetime, lifetime > Self.steady { failures.reset() }
            guard isReplaced else { return failures.next(&random) }
            replacedCount += 1
            return replacements.next(&random)
        }

        /// What the app is told of another device with its identity.
        package static let clonedText = """
            clonedIdentity: another device has this one's identity, so only one of them is connected at a time; \
            call PeerIdentity.reset on one of the two, and pair it again
            """
    }
#endif
