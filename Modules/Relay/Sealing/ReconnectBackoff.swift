#if MQTT || WebSocket
    package import MeshBase

    /// The pauses between a client's connections to a relay, and detection of a second device with the same identity.
    ///
    /// A relay keeps only the newest connection with an identity: the older one is *replaced*. Two devices with one
    /// identity, for example after a backup was restored on a second device, would replace each other endlessly. So
    /// the pause doubles with each replacement. It starts over only after a connection that outlasts the other
    /// device's longest pause.
    ///
    /// Some brokers, such as Mosquitto 2.0, give no reason when they replace a client. They close connections in the
    /// same way when they shut down. So the first such close counts as a failure, and each later one as a replacement.
    package struct ReconnectBackoff: Sendable {
        /// The way in which a connection ended or failed.
        package enum End: Sendable {
            case failed
            case replaced
            /// The relay closed the connection without a reason.
            case closed
        }

        /// The number of consecutive replacements that indicates a second device. A single one can be an earlier
        /// process of this device.
        package static let clonedAfter = 2
        /// A connection of this length resets the backoff after failures.
        private static let steady = Duration.seconds(5)
        private static let longestAfterReplacement = Duration.seconds(300)

        private var failures: Backoff
        private var replacements = Backoff(from: .seconds(2), to: Self.longestAfterReplacement)
        private var replacedCount = 0
        private var closedCount = 0

        /// - Parameters:
        ///   - shortest: The pause after the first failure, shortened at random by up to half.
        ///   - longest: The longest pause, at which doubling ends.
        package init(from shortest: Duration, to longest: Duration) { failures = Backoff(from: shortest, to: longest) }

        /// The problem to report if another device has this one's identity; nil otherwise.
        package var problem: String? {
            guard replacedCount >= Self.clonedAfter else { return nil }
            let what =
                closedCount == 0
                ? "another device has this one's identity, so only one of them is connected at a time"
                : "the connection was closed without a reason \(closedCount) times, so another device may have this one's "
                    + "identity"
            return "clonedIdentity: \(what); call PeerIdentity.reset on one of the two, and pair it again"
        }

        /// Notes the end of a connection.
        ///
        /// - Parameter lifetime: nil if there was no connection.
        /// - Returns: The pause before the next attempt.
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
