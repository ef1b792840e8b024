#if UDP
    import NIOCore

    extension TimeAmount {
        init(_ duration: Duration) {
            let (seconds, attoseconds) = duration.components
            self = .seconds(seconds) + .nanoseconds(attoseconds / 1_000_000_000)
        }
    }
#endif
