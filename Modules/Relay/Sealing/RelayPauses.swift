#if MQTT || WebSocket
    package import MeshBase

    /// The pauses between a client's connections to a relay, and whether another device has its identity.
    ///
    /// A relay gives a client's place to the newest connection with its identity: the older one is *replaced*. Two devices with
    /// one identity, such as a backup that was restored on a second device, take the place from each other without end. So the
    /// pause doubles with each replacement, and begins anew only once a connection has outlasted the longest pause of another
    /// device.
    ///
    /// Some brokers replace a client without a word (Mosquitto 2.0 does). They close a connection in the same way when they end.
    /// So one such close counts as a failure, and each one that follows it counts as a replacement.
    package struct RelayPauses: Sendable {
        /// How a connection ended, or why there was none.
        package enum End: Sendable {
            case failed
            case replaced
            /// The relay has closed it and said nothing.
            case closed
        }

        /// After so many replacements one after another, another device has this one's identity. One alone can be a process of
        /// this device that was just launched.
        package static let clonedAfter = 2
        /// A connection of this length ends a series of failures.
        private static let steady = Duration.seconds(5)
        private static let longestAfterReplacement = Duration.seconds(300)

        private var failures: Backoff
        private var replacements = Backoff(from: .seconds(2), to: Self.longestAfterReplacement)
        private var replacedCount = 0
        private var closedCount = 0

        /// - Parameters:
        ///   - shortest: the pause after the first failure, which is shortened at random by up to half.
        ///   - longest: where doubling ends.
        package init(from shortest: Duration, to longest: Duration) { failures = Backoff(from: shortest, to: longest) }

        /// What the app is told of another device that has this one's identity; nil if there is none.
        package var problem: String? {
            guard replacedCount >= Self.clonedAfter else { return nil }
            let what =
                closedCount == 0
                ? "another device has this one's identity, so only one of them is connected at a time"
                : "the connection was closed without a reason \(closedCount) times, so another device may have this one's "
                    + "identity"
            return "clonedIdentity: \(what); call PeerIdentity.reset on one of the two, and pair it again"
        }

        /// Notes how a connection has ended.
        ///
        /// - Parameter lifetime: nil if there was none.
        /// - Returns: the pause before the next one.
        package mutating func next(after lifetime: Duration?, _ end: End, _ random: inout SplitMix64) -> Duration {
            if let lifetime, lifetime > Self.longestAfterReplacement * 2 {
                (replacedCount, closedCount) = (0, 0)
                replacements.reset()
            }
            if let lifetime, lifetime > Self.steady { failures.reset() }
            if end == .closed { closedCount += 1 }
            guard end == .replaced || end == .closed && closedCount > 1 else { return failures.next(&random) }
            replacedCount += 1
            return replacements.next(&random)
        }
    }
#endif
