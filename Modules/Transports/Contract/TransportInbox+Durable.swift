public import MeshIdentity

extension TransportInbox {
    public var durableRoom: Int { .max }
    public var durableTakenCount: UInt64 { 0 }
    public func deliver(_ envelopes: [AnySessionSyncEnvelope], isDurable: Bool) { for e in envelopes { deliver(e) } }
}
